import http.client
import signal

WANTED = {"/": b"Hello, stranger!", "/?name=Ada": b"Hello, Ada!"}


def answer(path):
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=5)
    connection.request("GET", path)
    return connection.getresponse().read(1000)


signal.alarm(20)  # whatever the service does, the check ends: no verdict is INCORRECT
try:
    seen = {path: answer(path) for path in WANTED}
except (OSError, http.client.HTTPException) as error:
    print(f"INCORRECT: no answer: {error!r}")
else:
    print(f"{'CORRECT' if seen == WANTED else 'INCORRECT'}: saw {seen}")
