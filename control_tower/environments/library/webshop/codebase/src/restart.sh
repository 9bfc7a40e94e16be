#!/bin/sh
# Stop the shop if it runs, start it detached, and wait until it answers.
# Exits 0 once the new process answers, 1 with a message otherwise. Safe to run at any time.
set -u
cd "$(dirname "$0")" || exit 1

PYTHON=${PYTHON:-python3}
PID_FILE=var/shop.pid
OUTPUT=var/server.out
mkdir -p var || exit 1

# In a container, /proc may be another one's, with other process numbers.
proc=no
if read -r self _ 2>/dev/null </proc/self/stat && [ "$self" = "$$" ]; then
    proc=yes
fi

# True while the process runs; one that has ended but was not reaped does not count.
alive() {
    kill -0 "$1" 2>/dev/null || return 1
    [ "$proc" = yes ] || return 0
    case $(cat "/proc/$1/stat" 2>/dev/null) in
        *") Z "*) return 1 ;;
    esac
    return 0
}

# True if the process is a server of ours and not one that got the number of an old one.
ours() {
    [ "$proc" = yes ] || return 0
    case $(tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null) in
        *"shop.admin serve"*) return 0 ;;
    esac
    return 1
}

# Wait up to $2 tenths of a second for process $1 to end.
wait_gone() {
    tenths=0
    while alive "$1"; do
        tenths=$((tenths + 1))
        [ "$tenths" -gt "$2" ] && return 1
        sleep 0.1
    done
    return 0
}

stop() {
    alive "$1" && ours "$1" || return 0
    kill -TERM "$1" 2>/dev/null
    wait_gone "$1" 30 && return 0
    kill -KILL "$1" 2>/dev/null
    wait_gone "$1" 20 && return 0
    echo "restart.sh: process $1 cannot be stopped" >&2
    exit 1
}

old=
if [ -s "$PID_FILE" ]; then
    old=$(head -n 1 "$PID_FILE" | tr -cd '0-9')
else
    old=$("$PYTHON" -m shop.health 2>/dev/null | head -n 1 | tr -cd '0-9')
fi
[ -n "$old" ] && stop "$old"
rm -f "$PID_FILE"

if command -v setsid >/dev/null 2>&1; then
    setsid nohup "$PYTHON" -m shop.admin serve >"$OUTPUT" 2>&1 </dev/null &
else
    nohup "$PYTHON" -m shop.admin serve >"$OUTPUT" 2>&1 </dev/null &
fi
new=$!

# The server writes its own pid file when the port is its own.
waited=0
while [ "$waited" -lt 300 ]; do
    if [ -s "$PID_FILE" ]; then
        serving=$(head -n 1 "$PID_FILE" | tr -cd '0-9')
        if "$PYTHON" -m shop.health "$serving" >/dev/null 2>&1; then
            echo "the shop is running, pid $serving"
            exit 0
        fi
    elif ! alive "$new"; then
        echo "restart.sh: the server ended at once; the end of its output:" >&2
        tail -n 15 "$OUTPUT" >&2
        exit 1
    fi
    waited=$((waited + 1))
    sleep 0.1
done
echo "restart.sh: the server does not answer; see $OUTPUT and var/server.log" >&2
exit 1
