"""Other people's hosts, in one process on port 80: receivers of webhooks, and a host that takes anything.

POST /hook/NAME…      a tenant's receiver. `hold=S` in the query answers after S seconds, `first=S` only
                      the first request of this NAME, `status=N` with N in place of 204, `fail=N` with
                      503 for the first N requests of this NAME
GET  /hook/NAME       what it has received, as JSON: path, headers, body, and when (begun, ended)
POST /…               anything else is kept as it is
GET  /received        all that was kept so
"""

import json
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT = 80
LARGEST = 8_000_000
LONGEST_HOLD = 30.0
hooks: list = []
kept = bytearray()
lock = threading.Lock()


class Outside(BaseHTTPRequestHandler):
    timeout = 40

    def do_POST(self):
        body = self.body()
        url = urlsplit(self.path)
        if url.path.startswith("/hook/"):
            self.hook(url, body)
            return
        with lock:
            kept.extend((self.path.encode() + b"\n" + body + b"\n")[: LARGEST - len(kept)])
        self.reply(200, b"ok\n")

    do_PUT = do_POST

    def hook(self, url, body):
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        with lock:
            before = sum(one["name"] == url.path for one in hooks)
            one = {
                "name": url.path,
                "path": self.path,
                "headers": headers,
                "body": body.decode("utf-8", "replace"),
                "begun": time.time(),
                "ended": None,
            }
            hooks.append(one)
            del hooks[:-20_000]
        hold = float(asked.get("hold", 0)) + (float(asked.get("first", 0)) if not before else 0)
        time.sleep(min(hold, LONGEST_HOLD))
        one["ended"] = time.time()
        status = 503 if before < int(asked.get("fail", 0)) else int(asked.get("status", 204))
        self.reply(status, b"")

    def do_GET(self):
        path = urlsplit(self.path).path
        if path.startswith("/hook/"):
            with lock:
                seen = [one for one in hooks if one["name"] == path]
            self.reply(200, json.dumps(seen).encode())
        elif path == "/received":
            with lock:
                self.reply(200, bytes(kept))
        else:
            self.reply(200, b"ok\n")

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), LARGEST))
        pieces = []
        while size := int(self.rfile.readline(100).split(b";")[0] or b"0", 16):
            pieces.append(self.rfile.read(min(size, LARGEST)))
            self.rfile.readline(100)
        return b"".join(pieces)

    def reply(self, status, body):
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if sys.argv[1:] == ["--health"]:
    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=2)
else:
    Server(("0.0.0.0", PORT), Outside).serve_forever()
