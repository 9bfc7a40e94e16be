# ruff: noqa: F821  (names come from the preludes)
"""Previews: ask, do, and compare; and the same for all that is refused."""

from datetime import datetime, timedelta, timezone

PLANS = {
    "standard": {"processing": 145, "scheme": 35},
    "marketplace": {"platform": 425, "processing": 145, "partner": 85},
    "charity": {"processing": 55},
}
PREVIEW = "/v1/preview"
LOCKED_SECONDS = 90
"""Far longer than anybody waits; the lock goes with the process that has it."""
BEGIN = datetime.now(timezone.utc) - timedelta(seconds=30)
LOCK = """
import sqlite3, time
conn = sqlite3.connect("var/ledger.db", isolation_level=None, timeout=5)
conn.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(SECONDS)
"""


def request(operation: str, members: dict) -> "tuple[str, dict]":
    """Path and body of the operation itself."""
    rest = dict(members)
    if operation == "transfer":
        return "/v1/transfers", rest
    if operation == "hold":
        return "/v1/holds", rest
    name, path = {
        "reversal": ("transfer", "/v1/transfers/{}/reversals"),
        "deposit": ("account", "/v1/accounts/{}/deposits"),
        "capture": ("hold", "/v1/holds/{}/captures"),
        "release": ("hold", "/v1/holds/{}/release"),
    }[operation]
    return path.format(rest.pop(name)), rest


def lines_of(account_id: str, source: str) -> list:
    """(amount, balance, kind) of an account's postings that came from `source`, oldest first."""
    start = BEGIN.strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = everything(f"/v1/accounts/{account_id}/statement?from={start}")
    return [
        (line["amount"], line["balance"], line["kind"])
        for line in lines
        if line["source_id"] == source
    ]


def running(postings: list) -> list:
    """Postings with the balance after each, from what the accounts have now."""
    balances = {account_id: balance(account_id) for account_id, _ in postings}
    found = []
    for account_id, amount in postings:
        balances[account_id] += amount
        found.append({"account": account_id, "amount": amount, "balance": balances[account_id]})
    return found


def tried(
    operation: str, members: dict, kind: "str | None", postings: list, held: "str | None" = None
) -> dict:
    """Preview an operation, do it, and compare both with `postings`; returns the real answer."""
    postings = [(account_id, amount) for account_id, amount in postings if amount]
    what = f"{operation} of {members.get('amount', 'all')}"
    expected, head = running(postings), get("/v1/audit/head")
    shown = post(PREVIEW, {"operation": operation, **members}, status=200)
    same(f"audit log after a preview of a {what}", get("/v1/audit/head"), head)
    same(f"preview of a {what}: operation", shown.get("operation"), operation)
    same(f"preview of a {what}: kind", shown.get("kind"), kind)
    same(f"preview of a {what}: postings", shown.get("postings"), expected)
    path, body = request(operation, members)
    done = post(path, body, status=200 if operation == "release" else 201)
    named = list(dict.fromkeys([a for a, _ in postings] + ([held] if held else [])))
    after = [get(f"/v1/accounts/{account_id}") for account_id in named]
    seen = shown.get("accounts")
    listed = [one.get("id") for one in seen] if isinstance(seen, list) else seen
    same(f"preview of a {what}: ids of accounts", listed, named)
    for one, real in zip(seen, after):
        for name in {**real, **one}:
            same(f"preview of a {what}: {name} of {real['id']}", one.get(name), real.get(name))
    source = done["capture"]["id"] if operation == "capture" else done["id"]
    for account_id in dict.fromkeys(a for a, _ in postings):
        wanted = [(e["amount"], e["balance"], kind) for e in expected if e["account"] == account_id]
        same(f"{what}: postings on {account_id}", lines_of(account_id, source), wanted)
    return done


def refused(
    what: str,
    operation: str,
    members: dict,
    status: int,
    code: str,
    field: "str | None" = None,
) -> None:
    """Preview and operation must be refused alike."""
    path, body = request(operation, members)
    for way, answer in (
        ("the operation", call("POST", path, body)),
        ("its preview", call("POST", PREVIEW, {"operation": operation, **members})),
    ):
        error = answer.body.get("error", {}) if isinstance(answer.body, dict) else {}
        seen = (answer.status, answer.code, error.get("field"))
        same(f"{what}, {way}: status, code, field", seen, (status, code, field))


def recorded(subject: str, action: str, details: dict) -> None:
    """The newest audit record about a subject."""
    record = audit_records(subject=subject)[-1]
    seen = (record["action"], record["actor"], record["details"])
    same(f"audit record of {action}", seen, (action, "tok_bootstrap", details))


def transfers() -> None:
    """Transfers and reversals."""
    payer, payee = account(90_000), account()
    amount, reference = RNG.randrange(1_000, 9_000), f"R-{RNG.randrange(10**8)}"
    body = {"from_account": payer, "to_account": payee, "amount": amount, "currency": "EUR"}
    full = {**body, "reference": reference, "memo": "for a preview"}
    made = tried("transfer", full, "payment", [(payer, -amount), (payee, amount)])
    same(
        "reference and memo of a transfer",
        (made["reference"], made["memo"]),
        (reference, "for a preview"),
    )
    details = {"from": payer, "to": payee, "amount": amount, "currency": "EUR"}
    recorded(made["id"], "transfer.create", details)
    back = tried(
        "reversal", {"transfer": made["id"]}, "reversal", [(payee, -amount), (payer, amount)]
    )
    seen = (back["kind"], back["reversal_of"], back["reference"], back["memo"])
    same("reversal", seen, ("reversal", made["id"], reference, "for a preview"))
    recorded(
        back["id"],
        "transfer.reverse",
        {"reversal_of": made["id"], **details, "from": payee, "to": payer},
    )
    same("status of what was reversed", get(f"/v1/transfers/{made['id']}")["status"], "reversed")
    refused_reversals(body, made["id"], back["id"])
    refused_transfers(body)


def refused_reversals(body: dict, made: str, back: str) -> None:
    """Why a transfer cannot be sent back."""
    payee = body["to_account"]
    refused("second reversal", "reversal", {"transfer": made}, 409, "already_reversed")
    refused("reversal of a reversal", "reversal", {"transfer": back}, 409, "not_reversible")
    refused("reversal of nothing", "reversal", {"transfer": "tr_none"}, 404, "not_found")
    spent = post("/v1/transfers", body)["id"]
    post("/v1/transfers", {**body, "from_account": payee, "to_account": account(), "amount": 1})
    refused("reversal without funds", "reversal", {"transfer": spent}, 409, "insufficient_funds")


def refused_transfers(body: dict) -> None:
    """Why a transfer cannot be made, and which reason comes first."""
    payer, bad, dollars = body["from_account"], "invalid_request", account(0, "USD")
    nobody = {"from_account": "acct_none", "to_account": dollars}
    cases = (
        ("amount and currency", {"amount": 0, "currency": "XXX"}, (400, bad, "amount")),
        ("currency and reference", {"currency": "XXX", "reference": "?"}, (400, bad, "currency")),
        ("reference and memo", {"reference": "a b", "memo": 1}, (400, bad, "reference")),
        ("memo and same account", {"to_account": payer, "memo": "x" * 141}, (400, bad, "memo")),
        ("same account", {"to_account": payer}, (400, bad, "to_account")),
        ("unknown payer", nobody, (404, "not_found")),
        ("other currency", {"to_account": dollars, "amount": 10**9}, (422, "currency_mismatch")),
        ("no funds", {"amount": 10**9}, (409, "insufficient_funds")),
    )
    for what, changes, wanted in cases:
        refused(what, "transfer", {**body, **changes}, *wanted)


def systems_and_frozen() -> None:
    """System accounts have no limit; frozen ones are looked at by some operations only."""
    payee, amount = account(), RNG.randrange(10**7, 10**8)
    body = {"from_account": "acct_sys_bank_eur", "to_account": payee, "currency": "EUR"}
    pair = [("acct_sys_bank_eur", -amount), (payee, amount)]
    tried("transfer", {**body, "amount": amount}, "payment", pair)
    done = tried("deposit", {"account": payee, "amount": amount}, "deposit", pair)
    recorded(done["id"], "deposit.create", {"account": payee, "amount": amount})
    bank = [("acct_sys_bank_jpy", -amount), ("acct_sys_bank_jpy", amount)]
    tried("deposit", {"account": "acct_sys_bank_jpy", "amount": amount}, "deposit", bank)
    refused(
        "deposit of nothing",
        "deposit",
        {"account": "acct_none", "amount": 0},
        400,
        "invalid_request",
        "amount",
    )
    refused("deposit to nobody", "deposit", {"account": "acct_none", "amount": 1}, 404, "not_found")

    payer, merchant, total = account(80_000), account(), RNG.randrange(30_000, 60_000)
    body = {"account": payer, "merchant_account": merchant, "amount": total}
    hold = tried("hold", body, None, [], payer)["id"]
    for frozen in (payer, merchant):
        post(f"/v1/accounts/{frozen}/status", {"status": "frozen"}, status=200)
        refused("hold and a frozen account", "hold", {**body, "amount": 1}, 409, "account_not_open")
        refused(
            "deposit and a frozen account",
            "deposit",
            {"account": frozen, "amount": 1},
            409,
            "account_not_open",
        )
        captured(hold, payer, merchant, "standard", 777)
    tried("release", {"hold": hold}, None, [], payer)


def split(plan: str, amount: int) -> dict:
    """A capture's legs as the ledger divides it today, merchant first."""
    rates = {"merchant": 10_000 - sum(PLANS[plan].values()), **PLANS[plan]}
    return {leg: round(amount * rate / 10_000) for leg, rate in rates.items()}


def captured(
    hold: str, payer: str, merchant: str, plan: str, amount: int, currency: str = "EUR"
) -> dict:
    """A capture, tried; returns the hold after it."""
    legs, low = split(plan, amount), currency.lower()
    accounts = {leg: merchant if leg == "merchant" else f"acct_sys_fee_{leg}_{low}" for leg in legs}
    postings = [(payer, -amount), *((accounts[leg], share) for leg, share in legs.items())]
    postings.append((f"acct_sys_rounding_{low}", amount - sum(legs.values())))
    before = get(f"/v1/holds/{hold}")
    done = tried("capture", {"hold": hold, "amount": amount}, "capture", postings)
    seen = {leg["leg"]: (leg["account"], leg["amount"]) for leg in done["capture"]["legs"]}
    same(f"legs of a capture of {amount}", seen, {leg: (accounts[leg], legs[leg]) for leg in legs})
    shown = done["hold"]
    settled = before["captured"] + sum(legs.values())
    status = "captured" if settled >= shown["amount"] else "open"
    same("hold after a capture", (shown["captured"], shown["status"]), (settled, status))
    recorded(hold, "hold.capture", {"capture": done["capture"]["id"], "amount": amount})
    return shown


def holds() -> None:
    """Holds of all plans, captured in parts."""
    cases = [
        ("marketplace", "EUR", [21_111, 21_111]),
        ("charity", "EUR", [100, 3_000]),
        ("standard", "EUR", [100, RNG.randrange(500, 9_000)]),
        ("marketplace", "JPY", [RNG.randrange(500, 9_000)]),
    ]
    for plan, currency, parts in cases:
        payer, merchant = account(90_000, currency), account(0, currency)
        body = {"account": payer, "merchant_account": merchant, "amount": 70_000, "fee_plan": plan}
        hold = tried("hold", {**body, "reference": "order 1"}, None, [], payer)["id"]
        for part in parts:
            shown = captured(hold, payer, merchant, plan, part, currency)
        rest = {"hold": hold, "amount": shown["remaining"] + 1}
        refused("one unit too much", "capture", rest, 409, "exceeds_hold")
        captured(hold, payer, merchant, plan, shown["remaining"], currency)
    refused_holds(body)


def refused_holds(body: dict) -> None:
    """Why there is no hold or capture, and which reason comes first."""
    bad, nowhere = "invalid_request", {"account": "acct_none", "fee_plan": "free"}
    captures = (
        ("too small and no hold", {"amount": 99}, (422, "capture_too_small")),
        ("amount missing", {}, (400, bad, "amount")),
        ("a text for an amount", {"amount": "1"}, (400, bad, "amount")),
        ("no hold", {"amount": 100}, (404, "not_found")),
    )
    for what, members, wanted in captures:
        refused(what, "capture", {"hold": "hold_none", **members}, *wanted)
    cases = (
        ("fee plan and account", nowhere, (404, "not_found")),
        ("too long", {"expires_in": 10**9, "fee_plan": "x"}, (400, bad, "expires_in")),
        ("for itself", {"merchant_account": body["account"]}, (422, "same_account")),
        ("no funds", {"amount": 10**9}, (409, "insufficient_funds")),
    )
    for what, changes, wanted in cases:
        refused(what, "hold", {**body, **changes}, *wanted)


def held_and_released() -> None:
    """What is held cannot be spent, and is free after a release."""
    payer = account(5_000)
    body = {"account": payer, "merchant_account": account(), "amount": 4_000}
    hold = post("/v1/holds", body)["id"]
    pay = {"from_account": payer, "to_account": account(), "amount": 1_001, "currency": "EUR"}
    refused("what is held", "transfer", pay, 409, "insufficient_funds")
    tried("release", {"hold": hold}, None, [], payer)
    recorded(hold, "hold.release", {"released": 4_000})
    refused("released before", "release", {"hold": hold}, 409, "hold_not_open")
    refused(
        "capture of a released one", "capture", {"hold": hold, "amount": 100}, 409, "hold_not_open"
    )


def tokens() -> None:
    """Token, then operation, then scope, then the rest."""
    scoped = {"name": "preview check", "scopes": ["holds:write"]}
    only_holds = post("/v1/tokens", scoped)
    secret = only_holds["token"]
    cases = [
        ("no token", None, {"operation": "gift"}, (401, "unauthenticated")),
        ("unknown token", "ldg_none", {"operation": "transfer"}, (401, "unauthenticated")),
        ("unknown operation", DASHBOARD, {"operation": "gift"}, (400, "invalid_request")),
        ("no operation", DASHBOARD, {}, (400, "invalid_request")),
        ("an operation that is a list", DASHBOARD, {"operation": []}, (400, "invalid_request")),
        ("scope", DASHBOARD, {"operation": "transfer"}, (403, "forbidden")),
        ("scope of holds for a deposit", secret, {"operation": "deposit"}, (403, "forbidden")),
        ("scope of holds for a hold", secret, {"operation": "hold"}, (400, "invalid_request")),
        ("the checkout's scopes", CHECKOUT, {"operation": "transfer"}, (400, "invalid_request")),
    ]
    for what, token, body, wanted in cases:
        answer = call("POST", PREVIEW, body, token=token)
        same(f"preview, {what}", (answer.status, answer.code), wanted)
    call("DELETE", f"/v1/tokens/{only_holds['id']}")


def while_locked() -> None:
    """A preview answers while another process holds the write lock."""
    payer, payee = account(9_000), account()
    hold = post("/v1/holds", {"account": payer, "merchant_account": payee, "amount": 5_000})["id"]
    script = LOCK.replace("SECONDS", str(LOCKED_SECONDS))
    writer = start([sys.executable, "-I", "-c", script], subprocess.PIPE)
    try:
        locked = writer.stdout.readline().strip() == b"locked"
        expect(locked, "the database at var/ledger.db cannot be locked by another process")
        body = {"from_account": payer, "to_account": payee, "amount": 1, "currency": "EUR"}
        for one in (
            {"operation": "transfer", **body},
            {"operation": "deposit", "account": payee, "amount": 1},
            {"operation": "capture", "hold": hold, "amount": 100},
            {"operation": "release", "hold": hold},
        ):
            answer = call("POST", PREVIEW, one)
            waits = f"a preview waits while another process is writing, and ends with {answer}"
            expect(answer.status == 200, waits)
        expect(writer.poll() is None, "the lock that another process had is gone")
    finally:
        kill(writer)
    post(f"/v1/accounts/{payee}/deposits", {"amount": 1})


def check() -> str:
    """All of the ticket."""
    ensure_running()
    transfers()
    systems_and_frozen()
    holds()
    held_and_released()
    tokens()
    while_locked()
    for command in ("check-books", "verify-audit"):
        code, _, errors = admin(command)
        expect(code == 0, f"{command}: expected exit 0, saw {code}: {errors.strip()[:120]}")
    return "previews of all operations are what happens then, and nothing else has changed"


decide(check)
