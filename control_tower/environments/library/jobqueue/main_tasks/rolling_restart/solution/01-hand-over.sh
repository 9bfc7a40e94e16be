set -euo pipefail
# The supervisor holds the listening socket. On SIGHUP it becomes the new code under the same number, starts a
# new set of processes on the same socket, and lets the old ones finish what they have at hand.
cat > millrace/supervisor.py <<'PY'
"""The supervisor: starts front end, scheduler and workers, and starts again what has ended.

On SIGHUP it is replaced by the code on disk, under the same number. It keeps the listening socket and
the old processes; those are told to finish once the new ones answer.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

from . import seed, store
from .config import Settings
from .logs import Log

PAUSE_SECONDS = 0.5
"""Between the end of a process and its next start."""
STOP_SECONDS = 5.0
SWITCH_SECONDS = 10.0
"""How long a new front end may take to answer, and an old one to end."""
HANDOVER = "MILLRACE_HANDOVER"


class Supervisor:
    """The parent of all other processes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.log = Log(settings.log, "supervisor.log", "supervisor")
        self.roles: dict[str, list[str]] = {"http": ["http"], "scheduler": ["scheduler"]}
        for number in range(1, settings.workers + 1):
            self.roles[f"w{number}"] = ["worker", f"w{number}"]
        self.children: dict[str, subprocess.Popen] = {}
        self.ended: dict[str, float] = {}
        self.finishing: dict[int, str] = {}
        self.stopping = False
        self.replacing = False
        given = json.loads(os.environ.pop(HANDOVER, "{}"))
        self.old: dict[int, str] = {int(pid): role for pid, role in given.get("old", {}).items()}
        self.listener = self._listen(given)

    def _listen(self, given: dict) -> socket.socket:
        address = [self.settings.http_host, self.settings.http_port]
        if given.get("address") == address:
            return socket.socket(fileno=given["fd"])
        if "fd" in given:
            os.close(given["fd"])
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address[0], address[1]))
        listener.listen(128)
        listener.setblocking(False)  # two processes may see one connection
        return listener

    def run(self) -> None:
        """Keep them all running until told to stop."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGHUP, self._replace)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
        self.settings.run.mkdir(parents=True, exist_ok=True)
        seed.ensure(store.connect(self.settings))
        self.log.write("up", pid=os.getpid())
        self._look_after_all()
        if self.old:
            self._switch()
        # The second word says that SIGHUP is understood, the third changes with each deployment.
        about = f"{os.getpid()} hup {time.time_ns()}\n"
        pid_file = self.settings.run / "supervisor.pid"
        half = pid_file.with_suffix(".new")
        half.write_text(about, encoding="utf-8")
        half.replace(pid_file)
        while not self.stopping:
            self._look_after_all()
            self._reap_old()
            if self.replacing:
                self._become_new()
            time.sleep(0.05)
        self._end_all()
        self.log.write("down", pid=os.getpid())

    def _look_after_all(self) -> None:
        for role in self.roles:
            self._look_after(role)

    def _look_after(self, role: str) -> None:
        child = self.children.get(role)
        if child is not None and child.poll() is None:
            return
        if child is not None:
            self.log.write("ended", role=role, pid=child.pid, code=child.returncode)
            self.ended[role] = time.monotonic()
            del self.children[role]
        if time.monotonic() - self.ended.get(role, 0.0) < PAUSE_SECONDS:
            return
        argv = [sys.executable, "-m", "millrace", *self.roles[role]]
        self.children[role] = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "MILLRACE_LISTEN_FD": str(self.listener.fileno())},
            pass_fds=[self.listener.fileno()] if role == "http" else [],
        )
        self.log.write("started", role=role, pid=self.children[role].pid)

    def _switch(self) -> None:
        """Wait for the new front end, then tell the old processes to finish."""
        deadline = time.monotonic() + SWITCH_SECONDS
        while not self._front_end_serves() and time.monotonic() < deadline:
            self._look_after_all()
            time.sleep(0.05)
        for pid in self.old:
            self._tell(pid, signal.SIGTERM)
        self.finishing = self.old
        self.old = {}
        while time.monotonic() < deadline:
            self._reap_old()
            if not {"http", "scheduler"} & set(self.finishing.values()):
                break
            time.sleep(0.05)
        self.log.write("switched", finishing=len(self.finishing))

    def _front_end_serves(self) -> bool:
        child = self.children.get("http")
        try:
            text = (self.settings.run / "http.pid").read_text(encoding="utf-8")
        except OSError:
            return False
        return child is not None and text.strip() == str(child.pid)

    def _reap_old(self) -> None:
        for pid, role in list(self.finishing.items()):
            try:
                gone = os.waitpid(pid, os.WNOHANG)[0] == pid
            except ChildProcessError:
                gone = True
            if gone:
                self.log.write("finished", role=role, pid=pid)
                del self.finishing[pid]

    def _become_new(self) -> None:
        """Run the code on disk in our place, if it can be run."""
        self.replacing = False
        argv = [sys.executable, "-m", "millrace"]
        tried = subprocess.run([*argv, "check"], stdin=subprocess.DEVNULL, check=False)
        if tried.returncode != 0:
            self.log.write("not_replaced")
            return
        os.set_inheritable(self.listener.fileno(), True)
        old = {child.pid: role for role, child in self.children.items()} | self.finishing
        given = {
            "fd": self.listener.fileno(),
            "address": [self.settings.http_host, self.settings.http_port],
            "old": old,
        }
        os.environ[HANDOVER] = json.dumps(given)
        # A second SIGHUP must not meet a process that has no handler for it yet.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        self.log.write("replaced", pid=os.getpid())
        os.execv(sys.executable, [*argv, "supervisor"])

    def _end_all(self) -> None:
        pids = [child.pid for child in self.children.values()] + list(self.finishing)
        for pid in pids:
            self._tell(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while pids and time.monotonic() < deadline:
            pids = [pid for pid in pids if self._still_there(pid)]
            time.sleep(0.05)
        for pid in pids:
            self._tell(pid, signal.SIGKILL)

    def _still_there(self, pid: int) -> bool:
        try:
            return os.waitpid(pid, os.WNOHANG)[0] == 0
        except ChildProcessError:
            return False

    def _tell(self, pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def _replace(self, *_: object) -> None:
        self.replacing = True
PY
python3 - <<'PY'
from pathlib import Path


def edit(name, *pairs):
    path = Path(name)
    source = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert source.count(old) == 1, (name, old, source.count(old))
        source = source.replace(old, new)
    path.write_text(source, encoding="utf-8")


edit(
    "millrace/__main__.py",
    (
        '"""Runs one process of the queue: `python3 -m millrace http|scheduler|worker NAME|supervisor`."""',
        '"""Runs one process of the queue: `python3 -m millrace http|scheduler|worker NAME|supervisor`.\n\n'
        '`python3 -m millrace check` only finds out whether they could be run.\n"""',
    ),
    (
        '        case ["supervisor"]:\n',
        '        case ["check"]:\n'
        "            from . import kinds, scheduler, store, supervisor, worker\n"
        "            from .api import server\n\n"
        "            kinds.known()\n"
        "            store.connect(settings).ping()\n"
        "            del scheduler, supervisor, worker, server  # that they can be imported is enough\n"
        '        case ["supervisor"]:\n',
    ),
    (
        'worker NAME|supervisor", file',
        'worker NAME|supervisor|check", file',
    ),
)
edit(
    "millrace/api/server.py",
    ("    daemon_threads = True\n", "    daemon_threads = False  # requests are answered before the process ends\n"),
    ("import signal\n", "import signal\nimport socket\n"),
    (
        "        super().__init__((settings.http_host, settings.http_port), Handler)\n",
        '''        given = os.environ.pop("MILLRACE_LISTEN_FD", None)
        super().__init__(
            (settings.http_host, settings.http_port), Handler, bind_and_activate=given is None
        )
        if given is not None:
            self.socket.close()
            self.socket = socket.socket(fileno=int(given))
            self.server_address = self.socket.getsockname()
            self.server_name, self.server_port = self.server_address[:2]
''',
    ),
)
edit(
    "millrace/worker.py",
    (
        "        self.job: jobs.Job | None = None\n",
        "        self.job: jobs.Job | None = None\n        self.stopping = False\n",
    ),
    (
        '''        while True:
            try:
                self.job''',
        '''        while not self.stopping:
            try:
                self.job''',
    ),
    (
        '''                self.log.write("no_redis", error=error)
                time.sleep(1)
''',
        '''                self.log.write("no_redis", error=error)
                time.sleep(1)
        self.log.write("down", pid=os.getpid())
''',
    ),
)
path = Path("millrace/worker.py")
source = path.read_text(encoding="utf-8")
start = source.index("    def _stop(self")
end = source.index("    def _beat_for_ever(self")
source = source[:start] + '''    def _stop(self, *_: object) -> None:
        """Finish the job at hand, and take no other."""
        self.stopping = True

''' + source[end:]
# A successor has the name already, so whoever finishes is listed under another.
old = "                self.db.hset(store.WORKERS, self.name, shown)\n"
assert source.count(old) == 1
source = source.replace(
    old,
    '''                listed = f"{self.name}-{os.getpid()}-finishing" if self.stopping else self.name
                self.db.hset(store.WORKERS, listed, shown)
''',
)
source = source.replace("import sys\n", "")
path.write_text(source, encoding="utf-8")
PY
cat > restart.sh <<'SH'
#!/bin/sh
# Replace the running queue by what is on disk, or start it if it does not run.
# Requests are answered all the time, and jobs at work are finished by the workers that have them.
# Exits 0 once the new front end answers; otherwise 1 with a message, and what ran goes on.
set -u
cd "$(dirname "$0")" || exit 1

PID_FILE=var/run/supervisor.pid
mkdir -p var/run var/log || exit 1

# True if a supervisor of ours has this number.
ours() {
    [ -n "$1" ] && [ -r "/proc/$1/cmdline" ] &&
        { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null | grep -q 'millrace supervisor'
}

stop() {
    kill -TERM "$1" 2>/dev/null
    tenths=0
    while ours "$1"; do
        tenths=$((tenths + 1))
        if [ "$tenths" -gt 80 ]; then
            kill -KILL "$1" 2>/dev/null
            break
        fi
        sleep 0.1
    done
}

if ! python3 -m millrace check; then
    echo "restart.sh: what is on disk cannot be run; nothing was changed" >&2
    exit 1
fi

pid= word= serial=
read -r pid word serial 2>/dev/null <"$PID_FILE"
if ours "$pid" && [ "$word" = hup ]; then
    kill -HUP "$pid"
    waited=0
    while [ "$waited" -lt 300 ]; do
        read -r _ _ now <"$PID_FILE"
        if [ "$now" != "$serial" ]; then
            python3 -m millrace.admin health >/dev/null && echo "millrace is running" && exit 0
        fi
        kill -0 "$pid" 2>/dev/null || break
        waited=$((waited + 1))
        sleep 0.1
    done
    echo "restart.sh: the running queue was not replaced; see var/log" >&2
    exit 1
fi

ours "$pid" && stop "$pid"
# Children of a supervisor that was killed go on by themselves.
left() {
    pgrep -u "$(id -u)" -f '^[^ ]*python3 -m millrace (http|scheduler|worker)' >/dev/null
}
if pkill -TERM -u "$(id -u)" -f '^[^ ]*python3 -m millrace (http|scheduler|worker)'; then
    waited=0
    while left && [ "$waited" -lt 50 ]; do
        waited=$((waited + 1))
        sleep 0.1
    done
    left && pkill -KILL -u "$(id -u)" -f '^[^ ]*python3 -m millrace (http|scheduler|worker)'
fi
rm -f "$PID_FILE" var/run/http.pid

setsid nohup python3 -m millrace supervisor >var/log/supervisor.out 2>&1 </dev/null &
new=$!

waited=0
while [ "$waited" -lt 200 ]; do
    if [ -s "$PID_FILE" ] && [ -s var/run/http.pid ] && python3 -m millrace.admin health >/dev/null 2>&1; then
        echo "millrace is running"
        exit 0
    fi
    if ! kill -0 "$new" 2>/dev/null; then
        echo "restart.sh: the supervisor ended at once; the end of its output:" >&2
        tail -n 15 var/log/supervisor.out >&2
        exit 1
    fi
    waited=$((waited + 1))
    sleep 0.1
done
echo "restart.sh: the front end does not answer; see var/log" >&2
exit 1
SH
