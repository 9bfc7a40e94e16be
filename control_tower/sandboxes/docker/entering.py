"""How an isolated command begins: the two shells that bubblewrap runs between.

The first gives bubblewrap the namespaces to join and its filter; it stays as a parent that
bubblewrap can die with, for the one that a command of the engine has ends at once.

To enter a pid namespace, bubblewrap goes through a process in between, which ends. A command that
asked to die with its parent before that would die with this process, sooner or later: bubblewrap's
`--die-with-parent` does ask, and on a busy machine one command in a thousand was killed for no
reason. So the second shell waits, and asks when the first one says that this process is gone.

Bubblewrap and the second shell are seen by the agent's daemons from their first moment, with what
they have open: for an instant, the container's `/proc`, and by it the first bubblewrap, which has
the container's files. So they have a capability to the end, which keeps those who have none from
looking into them. The second shell drops it.
"""

from __future__ import annotations

from control_tower.sandboxes.docker.bubblewrap_files import BINARY, FILTER
from control_tower.sandboxes.system_path import SYSTEM_PATH

NAME = "sandbox"
"""How the shell that becomes a command calls itself in complaints; `commands` knows it by that."""

OUT_OF_REACH = ("--cap-drop", "ALL", "--cap-add", "CAP_SETPCAP")
"""Options of bubblewrap with which the agent, who has no capabilities, can neither trace what it
runs nor look into what that has open. The capability counts in the user namespace only."""

_ENTER = """
exec 4<<end 5<<end
end
end
exec 3>/proc/self/fd/4 6>/proc/self/fd/5
(
    exec 3>&- 5<&-
    parent() {{
        pid=
        {{ while read -r key value; do [ "$key" != PPid: ] || pid=$value; done \\
            <"/proc/$1/status"; }} 2>/dev/null
    }}
    child=
    while [ -z "$child" ] && read -r key value; do
        [ "$key" != '"child-pid":' ] || child=${{value%%[!0-9]*}}
    done <&4
    while parent "$child"; [ -n "$pid" ]; do
        parent "$pid"
        [ "$pid" != $$ ] || {{ echo >&6; exit; }}
        [ -z "$pid" ] || {{ parent "$pid"; [ "$pid" = $$ ]; }} || exit
    done
) >/dev/null 2>&1 &
exec 6>&-
PATH={path} setpriv --pdeathsig KILL \\
    "$0" --info-fd 3 --setenv PATH "$PATH" "$@" \\
    4<&- 7</proc/{holder}/ns/user 8</proc/{holder}/ns/pid 9<{filter}
exit $?
"""
"""What runs here is not confined yet, so it is not looked for where the agent can write; bubblewrap
hands on the path that the command is to have. Of two pipes, one brings the second shell's number,
and the other tells it to go on. This shell is its parent's parent (then it is time), that one's
parent (then the process in between is still there), or neither: bubblewrap has died meanwhile."""
_BECOME = """
exec 3>&- 7<&- 8<&-
read -r _ <&5 || exit 1
exec 5<&-
path=$PATH
PATH={path}
exec setpriv --pdeathsig KILL --inh-caps -all --ambient-caps -all --bounding-set -all \\
    /bin/sh -c 'PATH=$1; shift; exec "$@"' "$0" "$path" "$@"
"""


def entering(holder: int) -> list[str]:
    """What runs bubblewrap; its options follow.

    `OUT_OF_REACH` belongs to them. They may use the descriptors 7, the holder's user namespace; 8,
    its pid namespace; and 9, the seccomp filter.

    Args:
        holder: number, in the container, of a process in the namespaces to join.
    """
    script = _ENTER.format(path=SYSTEM_PATH, holder=holder, filter=FILTER)
    return ["/bin/sh", "-c", script, BINARY]


def becoming() -> list[str]:
    """What bubblewrap runs; the command follows, which dies when bubblewrap does."""
    return ["/bin/sh", "-c", _BECOME.format(path=SYSTEM_PATH), NAME]
