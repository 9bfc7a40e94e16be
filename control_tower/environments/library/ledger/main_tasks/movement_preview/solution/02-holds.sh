set -euo pipefail
python3 - <<'PY'
from pathlib import Path

path = Path("ledger/holds.py")
source = path.read_text(encoding="utf-8")
source = source.replace(
    "from .errors import Conflict, InvalidRequest, NotFound, Unprocessable\n",
    "from .errors import Conflict, InvalidRequest, NotFound, Unprocessable\nfrom .plans import Plan\n",
)
start, end = source.index("def create("), source.index("def expire(")
source = (
    source[:start]
    + '''def create(conn: sqlite3.Connection, actor: str, body: dict) -> dict:
    """Reserve an amount for a merchant."""
    wanted = parse(conn, body)
    with db.transaction(conn):
        facts = plan(conn, wanted).facts
        hold_id = ids.new_id("hold")
        conn.execute(
            "INSERT INTO holds (id, account_id, merchant_account, amount, currency, fee_plan,"
            " reference, status, expires_at, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)",
            (
                hold_id,
                facts["payer"],
                facts["merchant"],
                facts["amount"],
                facts["currency"],
                facts["fee_plan"],
                facts["reference"],
                ids.after(facts["seconds"]),
                ids.now(),
            ),
        )
        audit.append(
            conn,
            actor,
            "hold.create",
            hold_id,
            {"account": facts["payer"], "amount": facts["amount"]},
        )
    return public(conn, find(conn, hold_id))


def parse(conn: sqlite3.Connection, body: dict) -> dict:
    """A request for a hold as far as it can be checked without the accounts."""
    amount = money.check_amount(body.get("amount"))
    seconds = body.get("expires_in", DEFAULT_SECONDS)
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int)
        or not 0 < seconds <= LONGEST_SECONDS
    ):
        raise InvalidRequest(
            f"expires_in must be 1 to {LONGEST_SECONDS} seconds", field="expires_in"
        )
    reference = body.get("reference")
    if reference is not None and not (isinstance(reference, str) and len(reference) <= 40):
        raise InvalidRequest("reference must be a text of at most 40 characters", field="reference")
    fee_plan = body.get("fee_plan", "standard")
    fees.plan(conn, fee_plan)
    return {
        "payer": body.get("account"),
        "merchant": body.get("merchant_account"),
        "amount": amount,
        "seconds": seconds,
        "reference": reference,
        "fee_plan": fee_plan,
    }


def plan(conn: sqlite3.Connection, wanted: dict) -> Plan:
    """Decide on a parsed request for a hold."""
    payer = accounts.usable(conn, wanted["payer"])
    merchant = accounts.usable(conn, wanted["merchant"], payer["currency"])
    if payer["id"] == merchant["id"]:
        raise Unprocessable("an account cannot hold money for itself", code="same_account")
    accounts.require_funds(conn, payer, wanted["amount"])
    names = {"payer": payer["id"], "merchant": merchant["id"], "currency": payer["currency"]}
    return Plan(held={payer["id"]: wanted["amount"]}, facts={**wanted, **names})


def capture(conn: sqlite3.Connection, actor: str, hold_id: str, amount: int, least: int) -> dict:
    """Take `amount` of a hold and divide it by the hold's fee plan.

    `least` is the smallest capture allowed. The hold is finished once all of it is captured.
    """
    check_capture(amount, least)
    with db.transaction(conn):
        decided = plan_capture(conn, hold_id, amount)
        legs = decided.facts["legs"]
        capture_id, at = ids.new_id("cap"), ids.now()
        entry_id = journal.post(
            conn,
            "capture",
            capture_id,
            decided.postings,
            at=at,
            residue_account=decided.residue_account,
        )
        conn.execute(
            "INSERT INTO captures (id, hold_id, amount, entry_id, created_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (capture_id, hold_id, amount, entry_id, at),
        )
        conn.executemany(
            "INSERT INTO capture_legs (capture_id, leg, account_id, amount) VALUES (?, ?, ?, ?)",
            [(capture_id, leg, account, share) for leg, account, share in legs],
        )
        conn.execute(
            "UPDATE holds SET captured = ?, status = ? WHERE id = ?",
            (decided.facts["settled"], decided.facts["status"], hold_id),
        )
        audit.append(
            conn, actor, "hold.capture", hold_id, {"capture": capture_id, "amount": amount}
        )
    return {
        "capture": {
            "id": capture_id,
            "amount": amount,
            "created_at": at,
            "legs": [
                {"leg": leg, "account": account, "amount": share} for leg, account, share in legs
            ],
        },
        "hold": public(conn, find(conn, hold_id)),
    }


def check_capture(amount: object, least: int) -> None:
    """Raise unless an amount may be captured at all."""
    if money.check_amount(amount) < least:
        raise Unprocessable(f"a capture must be at least {least}", code="capture_too_small")


def plan_capture(conn: sqlite3.Connection, hold_id: str, amount: int) -> Plan:
    """Decide on a capture whose amount was checked."""
    hold = _open(conn, hold_id)
    remaining = hold["amount"] - hold["captured"]
    if amount > remaining:
        raise Conflict(f"{amount} is more than the {remaining} left", code="exceeds_hold")
    legs = [
        (
            share.leg,
            fees.account_of(share.leg, hold["merchant_account"], hold["currency"]),
            share.amount,
        )
        for share in fees.split(fees.plan(conn, hold["fee_plan"]), amount)
    ]
    shared = sum(share for _, _, share in legs)
    settled = hold["captured"] + shared
    done = settled >= hold["amount"]
    return Plan(
        "capture",
        [(hold["account_id"], -amount)] + [(account, share) for _, account, share in legs],
        residue_account=accounts.system_account("rounding", hold["currency"]),
        held={hold["account_id"]: -remaining if done else -shared},
        facts={"legs": legs, "settled": settled, "status": "captured" if done else "open"},
    )


def release(conn: sqlite3.Connection, actor: str, hold_id: str) -> dict:
    """Give back what was not captured."""
    with db.transaction(conn):
        released = plan_release(conn, hold_id).facts["released"]
        conn.execute("UPDATE holds SET status = 'released' WHERE id = ?", (hold_id,))
        audit.append(conn, actor, "hold.release", hold_id, {"released": released})
    return public(conn, find(conn, hold_id))


def plan_release(conn: sqlite3.Connection, hold_id: str) -> Plan:
    """Decide whether the rest of a hold can be given back."""
    hold = _open(conn, hold_id)
    rest = hold["amount"] - hold["captured"]
    return Plan(held={hold["account_id"]: -rest}, facts={"released": rest})


'''
    + source[end:]
)
path.write_text(source, encoding="utf-8")
PY

cat > ledger/api/preview_handlers.py <<'PY'
"""Preview: what an operation would do, by the rules of the operation itself."""

from __future__ import annotations

from typing import Callable

from .. import accounts, holds, money, plans, transfers
from ..errors import InvalidRequest
from ..plans import Plan
from ..tokens import authenticate
from .router import Request, Response, route

Decide = Callable[[Request, dict], Plan]


@route("POST", "/v1/preview", None)
def preview(request: Request) -> Response:
    """Decide on an operation and show the decision. The scope is that of the operation."""
    request.token = authenticate(request.conn, request.headers.get("Authorization"))
    body = request.json()
    name = body.get("operation")
    if not isinstance(name, str) or name not in OPERATIONS:
        known = ", ".join(OPERATIONS)
        raise InvalidRequest(f"operation must be one of {known}", field="operation")
    scope, decide = OPERATIONS[name]
    request.token.require(scope)
    # One read transaction, so that rules and balances are of the same moment.
    request.conn.execute("BEGIN DEFERRED")
    try:
        shown = plans.preview(request.conn, decide(request, body))
    finally:
        request.conn.execute("ROLLBACK")
    return Response({"operation": name, **shown})


def _transfer(request: Request, body: dict) -> Plan:
    return transfers.plan(request.conn, transfers.parse(body))


def _reversal(request: Request, body: dict) -> Plan:
    return transfers.plan_reversal(request.conn, str(body.get("transfer")))


def _deposit(request: Request, body: dict) -> Plan:
    amount = money.check_amount(body.get("amount"))
    account = str(body.get("account"))
    return Plan("deposit", accounts.deposit_postings(request.conn, account, amount))


def _hold(request: Request, body: dict) -> Plan:
    return holds.plan(request.conn, holds.parse(request.conn, body))


def _capture(request: Request, body: dict) -> Plan:
    amount = body.get("amount")
    if amount is None:
        raise InvalidRequest("amount is missing", field="amount")
    holds.check_capture(amount, request.config.min_capture)
    return holds.plan_capture(request.conn, str(body.get("hold")), amount)


def _release(request: Request, body: dict) -> Plan:
    return holds.plan_release(request.conn, str(body.get("hold")))


OPERATIONS: dict[str, tuple[str, Decide]] = {
    "transfer": ("transfers:write", _transfer),
    "reversal": ("transfers:write", _reversal),
    "deposit": ("transfers:write", _deposit),
    "hold": ("holds:write", _hold),
    "capture": ("holds:write", _capture),
    "release": ("holds:write", _release),
}
PY
python3 - <<'PY'
from pathlib import Path


def edit(path, old, new):
    source = Path(path).read_text(encoding="utf-8")
    assert source.count(old) == 1, (path, old)
    Path(path).write_text(source.replace(old, new), encoding="utf-8")


edit(
    "ledger/api/server.py",
    "from . import money_handlers, record_handlers  # noqa: F401  (they register their routes)\n",
    "from . import (  # noqa: F401  (they register their routes)\n"
    "    money_handlers,\n    preview_handlers,\n    record_handlers,\n)\n",
)
edit(
    "docs/api.md",
    "| `GET /v1/audit` |",
    "| `POST /v1/preview` | that of the operation | `operation`: transfer, reversal, deposit, hold, capture or"
    " release; what it would do |\n| `GET /v1/audit` |",
)
PY
