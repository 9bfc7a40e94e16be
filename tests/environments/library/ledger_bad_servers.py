"""Servers gone bad, in the place of the one of `ledger`: commands that start them."""

from __future__ import annotations

_SERVER = """setsid python3 -c '
import socket, threading, time
def answer(peer):
    LINES
listener = socket.create_server(("127.0.0.1", PORT), backlog=64)
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
' >/dev/null 2>&1 </dev/null &
sleep 0.5
"""

GARBAGE_SERVER = _SERVER.replace(
    "LINES", 'peer.sendall(b"\\x00CORRECT: yes\\r\\nCORRECT: yes\\n\\n"); peer.close()'
)
SILENT_SERVER = _SERVER.replace("LINES", "time.sleep(1000)")
SLOW_SERVER = _SERVER.replace(
    "LINES",
    'peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 90000\\r\\n\\r\\n"); '
    '[(peer.sendall(b"{"), time.sleep(1)) for _ in range(900)]',
)
