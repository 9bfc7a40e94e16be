"""The sandbox of the payment provider: charges and refunds, kept in memory.

A card whose number ends in 0002 is declined; one that ends in 0036 takes four seconds.
"""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KEY = "psp_test_7d1b60c94e"
LARGEST = 100_000
USUAL_SECONDS, SLOW_SECONDS = 0.15, 4.0

charges: list[dict] = []
lock = threading.Lock()


def good_number(number: object) -> bool:
    """Whether it is a card number with a right check digit."""
    if not isinstance(number, str) or not re.fullmatch(r"\d{12,19}", number):
        return False
    digits = [int(digit) for digit in reversed(number)]
    return sum(d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits)) % 10 == 0


def positive(value: object) -> bool:
    return type(value) is int and 0 < value < 10**9


def charge(body: dict) -> tuple[int, dict]:
    card = body.get("card")
    number = card.get("number") if isinstance(card, dict) else None
    if not positive(body.get("amount")) or not isinstance(body.get("reference"), str):
        return 400, {"error": "amount and reference are needed"}
    if not good_number(number):
        return 402, {"error": "card_number"}
    time.sleep(SLOW_SECONDS if number.endswith("0036") else USUAL_SECONDS)
    if number.endswith("0002"):
        return 402, {"error": "declined"}
    with lock:
        made = {
            "id": f"ch_{len(charges) + 1:06d}",
            "reference": body["reference"],
            "amount": body["amount"],
            "refunded": 0,
            "refunds": [],
            "last4": number[-4:],
        }
        charges.append(made)
        return 201, dict(made)


def refund(charge_id: str, body: dict) -> tuple[int, dict]:
    time.sleep(USUAL_SECONDS)
    with lock:
        found = next((one for one in charges if one["id"] == charge_id), None)
        if found is None:
            return 404, {"error": "no such charge"}
        amount = body.get("amount")
        if not positive(amount) or found["refunded"] + amount > found["amount"]:
            return 409, {"error": "more than was charged"}
        found["refunded"] += amount
        found["refunds"].append(amount)
        return 201, {"id": f"re_{charge_id[3:]}_{len(found['refunds'])}", "amount": amount}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(length, LARGEST))
        if not self.allowed():
            return
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self.answer(400, {"error": "not an object"})
            return
        found = re.fullmatch(r"/charges/(ch_\d+)/refunds", self.path)
        if self.path == "/charges":
            self.answer(*charge(body))
        elif found:
            self.answer(*refund(found[1], body))
        else:
            self.answer(404, {"error": "no such path"})

    def do_GET(self) -> None:
        if not self.allowed():
            return
        url = urlsplit(self.path)
        if url.path != "/charges":
            self.answer(404, {"error": "no such path"})
            return
        wanted = parse_qs(url.query)
        with lock:
            shown = [
                one
                for one in charges
                if all(str(one.get(name)) == values[0] for name, values in wanted.items())
            ]
            self.answer(200, {"charges": shown})

    def allowed(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {KEY}":
            return True
        self.answer(401, {"error": "key"})
        return False

    def answer(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


Server(("0.0.0.0", 9090), Provider).serve_forever()
