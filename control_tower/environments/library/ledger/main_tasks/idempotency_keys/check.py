# ruff: noqa: F821  (names come from the preludes)
"""Idempotency keys: drive the running API the way a retrying client would."""

import threading

TRANSFERS = "/v1/transfers"
REPLAY = "idempotent-replay"


def new_key() -> str:
    """A key that no run has used before."""
    return f"k.{RNG.randrange(16**12):012x}:{RNG.randrange(1000)}_-"


def send(
    body: object, key: "str | None", token: str = CHECKOUT, raw: "str | None" = None
) -> Answer:
    """Ask for a transfer."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return call("POST", TRANSFERS, body, token=token, headers=headers, raw=raw)


def made(what: str, answer: Answer) -> str:
    """The id of the transfer that an answer reports as newly made."""
    expect(answer.status == 201, f"{what}: expected 201, saw {answer}")
    expect(answer.headers.get(REPLAY) is None, f"{what}: expected no {REPLAY} header, saw one")
    return answer.body["id"]


def replayed(what: str, answer: Answer, first: Answer) -> None:
    """An answer must be the first one over again."""
    expect(answer.status == 201, f"{what}: expected a replay with 201, saw {answer}")
    same(f"{what}: body of the replay", answer.body, first.body)
    same(f"{what}: header {REPLAY}", str(answer.headers.get(REPLAY)).lower(), "true")


def refused(what: str, answer: Answer, status: int, code: str) -> None:
    """An answer must be this refusal."""
    seen = (answer.status, answer.code)
    expect(seen == (status, code), f"{what}: expected {status} {code}, saw {answer}")


class Scene:
    """Two accounts, and how much should have gone from one to the other."""

    def __init__(self) -> None:
        self.funds = RNG.randrange(500_000, 900_000)
        self.payer, self.payee = account(self.funds), account()
        self.moved = 0

    def body(self, amount: int, **more: object) -> dict:
        """A transfer of `amount`."""
        accounts = {"from_account": self.payer, "to_account": self.payee}
        return {**accounts, "amount": amount, "currency": "EUR", **more}

    def settled(self, what: str) -> None:
        """Balances and the list of transfers must say that `moved` has gone over, once."""
        same(f"{what}: payer's balance", balance(self.payer), self.funds - self.moved)
        same(f"{what}: payee's balance", balance(self.payee), self.moved)


def replay_and_reuse(scene: Scene) -> "tuple[str, dict, Answer]":
    """Replays, reuse, other tokens. Returns a key in use with its body and first answer."""
    key, amount = new_key(), RNG.randrange(1_000, 9_000)
    body = scene.body(amount, memo="first", reference=f"R-{RNG.randrange(10**9)}")
    first = send(body, key)
    transfer = made("first request with a key", first)
    scene.moved += amount
    head = get("/v1/audit/head")
    replayed("same request again", send(body, key), first)
    turned = json.dumps(dict(reversed(list(body.items()))), indent=3)
    replayed("same members in another order", send(None, key, raw=turned), first)
    reused = "idempotency_key_reused"
    refused("key with another amount", send({**body, "amount": amount + 1}, key), 422, reused)
    fewer = {name: value for name, value in body.items() if name != "memo"}
    refused("key with a member less", send(fewer, key), 422, reused)
    refused("key with a member more", send({**body, "note": "x"}, key), 422, reused)
    refused("key without the scope", send(body, key, token=DASHBOARD), 403, "forbidden")
    same("audit log after replays and refusals", get("/v1/audit/head"), head)
    scene.settled("after replays and refusals")
    records = get(f"/v1/audit?subject={transfer}")["items"]
    same("audit records of the transfer", len(records), 1)

    other = send(body, key, token=ADMIN)
    expect(made("another token with the same key", other) != transfer, "two tokens share a key")
    scene.moved += amount
    replayed("the first token's key", send(body, key), first)
    replayed("the other token's key", send(body, key, token=ADMIN), other)
    scene.settled("after two tokens used one key")
    return key, body, first


def without_key(scene: Scene) -> None:
    """No header, no memory."""
    body = scene.body(RNG.randrange(100, 900))
    ids = {made("request without a key", send(body, None)) for _ in range(2)}
    same("transfers from two requests without a key", len(ids), 2)
    scene.moved += 2 * body["amount"]


def refusals_leave_the_key(scene: Scene) -> None:
    """A refused request does not use up its key."""
    poor, key, amount = account(), new_key(), RNG.randrange(1_000, 9_000)
    body = {**scene.body(amount), "from_account": poor}
    refused("transfer without funds", send(body, key), 409, "insufficient_funds")
    post(f"/v1/accounts/{poor}/deposits", {"amount": amount})
    first = send(body, key)
    made("same key once there are funds", first)
    replayed("retry after that", send(body, key), first)
    post(f"{TRANSFERS}/{first.body['id']}/reversals")
    replayed("retry after the reversal", send(body, key), first)

    key = new_key()
    refused("malformed transfer", send(scene.body(0), key), 400, "invalid_request")
    expect(send(None, key, raw="{nonsense").status == 400, "a body that is no JSON: expected 400")
    made("same key with a good body", send(scene.body(amount), key))
    scene.moved += amount
    scene.settled("after refused requests")


def malformed_keys(scene: Scene) -> None:
    """Keys have a form."""
    body = scene.body(RNG.randrange(100, 900))
    for key in ("", "x" * 65, "two words", "käse", "a/b"):
        code = "invalid_idempotency_key"
        refused(f"key {key[:12]!r} of length {len(key)}", send(body, key), 400, code)
    longest = new_key().ljust(64, "Z")
    made("key of 64 characters", send(body, longest))
    scene.moved += body["amount"]


def at_once(scene: Scene) -> None:
    """Several requests with one key at the same time make one transfer."""
    for _ in range(3):
        key, body = new_key(), scene.body(RNG.randrange(100, 900))
        answers: list = []
        gate = threading.Barrier(8)

        def one(
            answers: list = answers, gate: object = gate, key: str = key, body: dict = body
        ) -> None:
            gate.wait(5)
            try:
                answers.append(send(body, key))
            except Wrong as error:
                answers.append(error)

        threads = [threading.Thread(target=one, daemon=True) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(REQUEST_SECONDS * 2)
        failed = [answer for answer in answers if isinstance(answer, Wrong)]
        expect(
            len(answers) == 8 and not failed, f"8 requests at once: {(failed or ['no answer'])[0]}"
        )
        good = [answer for answer in answers if answer.status == 201]
        waiting = [answer for answer in answers if answer.code == "idempotency_in_progress"]
        seen = sorted({str(answer) for answer in answers})
        complete = len(good) + len(waiting) == 8 and all(a.status == 409 for a in waiting)
        expect(
            complete and good, f"8 requests at once: expected 201 or 409 in progress, saw {seen}"
        )
        same("transfers out of 8 requests at once", len({a.body["id"] for a in good}), 1)
        fresh = [answer for answer in good if answer.headers.get(REPLAY) is None]
        expect(
            len(fresh) <= 1, "8 requests at once: more than one answer is not marked as a replay"
        )
        scene.moved += body["amount"]
        scene.settled("after 8 requests at once")


def purge(scene: Scene) -> None:
    """The command forgets old keys, and only those."""
    command, key, body = "purge-idempotency-keys", new_key(), scene.body(RNG.randrange(100, 900))
    first = send(body, key)
    made("request before the purge", first)
    code, out, errors = admin(command, "--older-than-hours", "24")
    same(f"{command} 24: exit code", code, 0)
    replayed("retry after a purge of keys older than 24 hours", send(body, key), first)
    code, out, errors = admin(command, "--older-than-hours", "0")
    same(f"{command} 0: exit code", code, 0)
    word, _, count = out.strip().partition(" ")
    counted = word == "removed" and count.isdecimal() and int(count) >= 1
    expect(
        counted, f"{command} 0: expected 'removed <count>' of at least 1, saw {out.strip()[:40]!r}"
    )
    made("request after all keys were forgotten", send(body, key))
    scene.moved += 2 * body["amount"]
    scene.settled("after the purge")


def check() -> str:
    """All of the ticket."""
    ensure_running()
    scene = Scene()
    without_key(scene)
    key, body, first = replay_and_reuse(scene)
    malformed_keys(scene)
    refusals_leave_the_key(scene)
    at_once(scene)
    restart()
    replayed("retry after a restart", send(body, key), first)
    answer = send({**body, "amount": 1}, key)
    refused("reuse after a restart", answer, 422, "idempotency_key_reused")
    scene.settled("after a restart")
    purge(scene)
    return "retries replay, reuse is refused, keys are per token, atomic, persistent and purgeable"


decide(check)
