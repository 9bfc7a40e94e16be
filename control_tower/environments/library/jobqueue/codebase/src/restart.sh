#!/bin/sh
# Stop the queue if it runs, start it detached, and wait until it answers.
# Exits 0 once the new front end answers, 1 with a message otherwise. Safe to run at any time.
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

old=$(head -n 1 "$PID_FILE" 2>/dev/null | tr -cd '0-9')
ours "$old" && stop "$old"
# Children of a supervisor that was killed go on by themselves.
pkill -TERM -u "$(id -u)" -f '^[^ ]*python3 -m millrace (http|scheduler|worker)' && sleep 0.5
rm -f "$PID_FILE" var/run/http.pid

setsid nohup python3 -m millrace supervisor >var/log/supervisor.out 2>&1 </dev/null &
new=$!

waited=0
while [ "$waited" -lt 300 ]; do
    # The front end writes its pid file once it serves.
    if [ -s var/run/http.pid ] && python3 -m millrace.admin health >/dev/null 2>&1; then
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
