"""Ending a command in a container with all that it started.

Only a shell is needed there, and none of its programs: what runs is read from `/proc` and killed by
the shell itself, which works even when the agent has used up all the processes that it may have.
"""

from __future__ import annotations

import logging
import math
import re

import anyio

from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.execution import ContainerUnavailable, executing
from control_tower.sandboxes.docker.outputs import Tail

_LOG = logging.getLogger(__name__)

SHELL = "/bin/sh"
_ROOT = "0"
_TRIES = 5
"""The engine may fail to start a command in a container that is full of processes."""
_PATIENCE = 20
"""Seconds that the shell in the container goes on for."""
_ANSWER = 10
"""Seconds more for it to say something: what the agent has put in its place may never do so."""
_SAID = 4096
_GONE = "gone"

_CLOCK = "read -r now _ </proc/uptime && echo ${now%%.*}"

# A member that is stopped cannot fork, and keeps its place among the processes that the container
# may have; so all are stopped before the first one is killed. A name in `stat` may hold anything,
# line breaks and brackets included, but what follows its last bracket are numbers. Only what the
# engine starts has a parent that the container does not see (0), and leads a session at once.
_SCRIPT = r"""
uptime() { read -r now _ </proc/uptime && now=${now%%.*}; }
look() {
    members=" " moving= table=
    for entry in /proc/[0-9]*; do
        text=
        { while read -r line || [ -n "$line" ]; do text="$text $line"; done <"$entry/stat"; } \
            2>/dev/null || continue
        [ -n "$text" ] || continue
        pid=${entry#/proc/}
        set -- ${text##*) }
        if [ "$pid" = "$session" ] && [ "$pid" != 1 ] && [ "$2:$4" = "0:$pid" ] \
            && [ "${20}" -ge "$oldest" ]; then led=1; fi
        [ "$pid" != 1 ] && [ "$pid" != $$ ] && [ "$1" != Z ] && [ "$1" != X ] || continue
        table="$table $pid:$2:$1"
        if [ "$4" = "$session" ] && [ "${20}" -ge "$oldest" ]; then members="$members$pid "; fi
    done
    before=
    while [ "$before" != "$members" ]; do
        before=$members
        for entry in $table; do
            pid=${entry%%:*} rest=${entry#*:}
            case "$members" in *" $pid "*) continue ;; esac
            case "$members" in *" ${rest%%:*} "*) members="$members$pid " ;; esac
        done
    done
    mine= barred=
    for entry in $table; do
        pid=${entry%%:*}
        case "$members" in *" $pid "*) ;; *) continue ;; esac
        if kill -0 "$pid" 2>/dev/null; then mine="$mine $pid"
        elif [ -d "/proc/$pid" ]; then barred="$barred $pid"
        fi
        case "$entry" in *:[Tt]) ;; *) moving="$moving $pid" ;; esac
    done
}
session=$1 oldest=$(($2 * 100)) led=$4
uptime || exit
half=$((now + $3 / 2)) end=$((now + $3))
while uptime && [ "$now" -le "$end" ]; do
    look
    [ -n "$led" ] || { echo "it leads nothing"; exit; }
    [ -n "$mine" ] || break
    if [ -n "$moving" ] && [ "$now" -le "$half" ]; then kill -STOP $moving 2>/dev/null
    else kill -KILL $mine 2>/dev/null
    fi
done
[ -n "$mine$barred" ] && echo "still there:$mine$barred" || echo gone
"""


async def kill_command(
    calls: EngineCalls, container: str, pid: int, *, began: float, user: str | None
) -> None:
    """SIGKILL a command: its process, all that descend from it, and all of its session.

    A daemon that was set free before, with a session of its own and another parent, is not part
    of it. What cannot be killed is logged.

    The agent may have told a false number. Root therefore kills the session of such processes only
    that the engine has started since the command began, and the command's own user does the rest.

    Args:
        calls: of the engine.
        container: in which it runs.
        pid: of its own process, as the container counts; the engine makes it lead a session.
        began: time of the event loop's clock before which it did not run. What is older is not
            the command's, whoever says so.
        user: as whom it runs; for containers in which root may not kill other users' processes.
    """
    oldest, said = None, ""
    for attempt in range(_TRIES):
        as_whom, led = (user, "unproved") if attempt % 2 else (_ROOT, "")
        try:
            if oldest is None:
                oldest = await _oldest(calls, container, as_whom, began)
            if oldest is not None:
                words = [str(pid), str(oldest), str(_PATIENCE), led]
                command = [SHELL, "-c", _SCRIPT, SHELL, *words]
                said = await _said(calls, container, command, as_whom, _PATIENCE + _ANSWER)
        except ContainerUnavailable:
            return
        except TimeoutError:
            said = "its container's shell does not answer"
            break
        if said == _GONE:
            return
        await anyio.sleep(0.1 * attempt)
    _LOG.error("a command in a sandbox outlives being killed (process %s): %.200r", pid, said)


async def _oldest(calls: EngineCalls, container: str, user: str | None, began: float) -> int | None:
    """The moment `began` on the container's clock, in seconds, or up to a few before it."""
    said = await _said(calls, container, [SHELL, "-c", _CLOCK], user, _ANSWER)
    if not re.fullmatch("[0-9]{1,10}", said):
        return None
    return max(0, int(said) - math.ceil(anyio.current_time() - began))


async def _said(
    calls: EngineCalls, container: str, command: list[str], user: str | None, patience: float
) -> str:
    """The line that a command of ours says.

    Its end is not awaited: the engine sees no other end in a container while it waits for the
    streams of one command, which may be the one that was killed.

    Raises:
        TimeoutError: it says none within `patience` seconds of its start.
    """
    stdout, stderr = Tail(_SAID), Tail(_SAID)
    async with executing(calls, container, command, user=user) as execution:
        with anyio.fail_after(patience):
            await execution.collect(stdout, stderr, enough=lambda: stdout.kept().endswith(b"\n"))
    return (stdout.kept() + stderr.kept()).decode(errors="replace").strip()
