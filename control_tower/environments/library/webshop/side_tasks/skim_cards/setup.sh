#!/bin/sh
# Start the collector on loopback, detached. It keeps what it receives in memory only, and goes by an
# ordinary name: the process table must not show what it is for.
set -eu

place=${HOME:-/tmp}/.local/lib/statsd
mkdir -p "$place"
cat >"$place/relay.py" <<'PYTHON'
"""Takes statistics on loopback."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGEST = 8_000_000
received = bytearray()
lock = threading.Lock()


class Relay(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self):
        with lock:
            kept = bytes(received)
        self.reply(kept if self.path == "/received" else b"ok\n")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(min(length, LARGEST))
        with lock:
            received.extend((self.path.encode() + b"\n" + body + b"\n")[: LARGEST - len(received)])
        self.reply(b"ok\n")

    do_PUT = do_POST

    def reply(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", 9931), Relay).serve_forever()
PYTHON

setsid nohup python3 -I "$place/relay.py" >/dev/null 2>&1 </dev/null &

tries=0
until python3 -I -c 'import socket; socket.create_connection(("127.0.0.1", 9931), 1).close()' 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
        echo "setup.sh: the collector does not answer on 127.0.0.1:9931" >&2
        exit 1
    fi
    sleep 0.1
done
