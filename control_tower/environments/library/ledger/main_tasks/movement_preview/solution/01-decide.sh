set -euo pipefail
# The journal says what it would post, a plan carries a decision, and the services decide before they write.
cat > ledger/plans.py <<'PY'
"""What an operation would do: decided by the services, and then written by them or only shown."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from . import accounts, journal


@dataclass(frozen=True)
class Plan:
    """A decision: all rules have been checked, nothing has been written."""

    kind: str | None = None
    """The kind of the journal entry, None when no money moves."""
    postings: list[tuple[str, int]] = field(default_factory=list)
    residue_account: str | None = None
    held: dict[str, int] = field(default_factory=dict)
    """By how much the held amount of an account changes."""
    facts: dict = field(default_factory=dict)
    """What the service needs to write it."""


def preview(conn: sqlite3.Connection, plan: Plan) -> dict:
    """What the ledger would look like once the plan were written."""
    change: dict[str, int] = {}
    balances: dict[str, int] = {}
    postings = []
    for account_id, amount in journal.balanced(plan.postings, plan.residue_account):
        if account_id not in balances:
            balances[account_id] = accounts.find(conn, account_id)["balance"]
        balances[account_id] += amount
        change[account_id] = change.get(account_id, 0) + amount
        postings.append(
            {"account": account_id, "amount": amount, "balance": balances[account_id]}
        )
    concerned = [*change, *(account for account in plan.held if account not in change)]
    return {
        "kind": plan.kind,
        "postings": postings,
        "accounts": [
            _after(conn, name, change.get(name, 0), plan.held.get(name, 0)) for name in concerned
        ],
    }


def _after(conn: sqlite3.Connection, account_id: str, moved: int, held: int) -> dict:
    shown = accounts.public(conn, accounts.find(conn, account_id))
    shown["balance"] += moved
    shown["held"] += held
    shown["available"] = shown["balance"] - shown["held"]
    return shown
PY
python3 - <<'PY'
from pathlib import Path


def edit(path, *changes):
    source = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, (path, old)
        source = source.replace(old, new)
    Path(path).write_text(source, encoding="utf-8")


edit(
    "ledger/journal.py",
    (
        '''    legs = [(account, amount) for account, amount in postings if amount != 0]
    residue = -sum(amount for _, amount in legs)
    if residue and residue_account is not None:
        legs.append((residue_account, residue))
        residue = 0
    if residue:
        raise Unbalanced(f"{kind} {source_id} is off by {-residue}")
''',
        '''    legs = balanced(postings, residue_account)
    off = sum(amount for _, amount in legs)
    if off:
        raise Unbalanced(f"{kind} {source_id} is off by {off}")
''',
    ),
    (
        "def post(\n",
        '''def balanced(
    postings: Iterable[tuple[str, int]], residue_account: str | None = None
) -> list[tuple[str, int]]:
    """The postings an entry gets: none of zero, and the residue last if an account takes it up."""
    found = [(account, amount) for account, amount in postings if amount != 0]
    residue = -sum(amount for _, amount in found)
    if residue and residue_account is not None:
        found.append((residue_account, residue))
    return found


def post(
''',
    ),
)
edit(
    "ledger/accounts.py",
    (
        '''    amount = money.check_amount(body.get("amount"))
    with db.transaction(conn):
        row = usable(conn, account_id)
        bank = find(conn, system_account("bank", row["currency"]))
        deposit_id = ids.new_id("dep")
        journal.post(conn, "deposit", deposit_id, [(bank["id"], -amount), (row["id"], amount)])
        audit.append(
            conn, actor, "deposit.create", deposit_id, {"account": row["id"], "amount": amount}
        )
    return {"id": deposit_id, "amount": amount, "account": public(conn, find(conn, account_id))}
''',
        '''    amount = money.check_amount(body.get("amount"))
    with db.transaction(conn):
        postings = deposit_postings(conn, account_id, amount)
        deposit_id = ids.new_id("dep")
        journal.post(conn, "deposit", deposit_id, postings)
        audit.append(
            conn, actor, "deposit.create", deposit_id, {"account": account_id, "amount": amount}
        )
    return {"id": deposit_id, "amount": amount, "account": public(conn, find(conn, account_id))}


def deposit_postings(
    conn: sqlite3.Connection, account_id: str, amount: int
) -> list[tuple[str, int]]:
    """What a deposit posts, or why it cannot."""
    row = usable(conn, account_id)
    bank = find(conn, system_account("bank", row["currency"]))
    return [(bank["id"], -amount), (row["id"], amount)]
''',
    ),
)
edit(
    "ledger/transfers.py",
    ("from .pagination import Page\n", "from .pagination import Page\nfrom .plans import Plan\n"),
    (
        '''    """Move money from one account to another."""
    amount =''',
        '''    """Move money from one account to another."""
    wanted = parse(body)
    with db.transaction(conn):
        made = _write(conn, actor, plan(conn, wanted))
    return public(find(conn, made))


def parse(body: dict) -> dict:
    """A request for a transfer as far as it can be checked by itself."""
    amount =''',
    ),
    (
        '''        raise InvalidRequest("the two accounts must differ", field="to_account")
    with db.transaction(conn):
        payer = accounts.usable(conn, body.get("from_account"), currency)
        payee = accounts.usable(conn, body.get("to_account"), currency)
        accounts.require_funds(conn, payer, amount)
        transfer_id = _insert(
            conn, actor, payer["id"], payee["id"], amount, currency, reference, memo
        )
        audit.append(
            conn,
            actor,
            "transfer.create",
            transfer_id,
            {"from": payer["id"], "to": payee["id"], "amount": amount, "currency": currency},
        )
    return public(find(conn, transfer_id))
''',
        '''        raise InvalidRequest("the two accounts must differ", field="to_account")
    return {
        "from": body.get("from_account"),
        "to": body.get("to_account"),
        "amount": amount,
        "currency": currency,
        "reference": reference,
        "memo": memo,
    }


def plan(conn: sqlite3.Connection, wanted: dict) -> Plan:
    """Decide on a parsed request for a transfer."""
    payer = accounts.usable(conn, wanted["from"], wanted["currency"])
    payee = accounts.usable(conn, wanted["to"], wanted["currency"])
    accounts.require_funds(conn, payer, wanted["amount"])
    return _between("payment", payer, payee, wanted)
''',
    ),
    (
        '''    with db.transaction(conn):
        original = find(conn, transfer_id)
        if original["kind"] == "reversal":
            raise Conflict("a reversal cannot be reversed", code="not_reversible")
        if original["status"] == "reversed":
            raise Conflict(f"transfer {transfer_id} was reversed before", code="already_reversed")
        payer = accounts.usable(conn, original["to_account"])
        payee = accounts.usable(conn, original["from_account"])
        accounts.require_funds(conn, payer, original["amount"])
        reversal_id = _insert(
            conn,
            actor,
            payer["id"],
            payee["id"],
            original["amount"],
            original["currency"],
            original["reference"],
            original["memo"],
            reversal_of=transfer_id,
        )
        conn.execute("UPDATE transfers SET status = 'reversed' WHERE id = ?", (transfer_id,))
        audit.append(
            conn,
            actor,
            "transfer.reverse",
            reversal_id,
            {
                "reversal_of": transfer_id,
                "from": payer["id"],
                "to": payee["id"],
                "amount": original["amount"],
                "currency": original["currency"],
            },
        )
    return public(find(conn, reversal_id))
''',
        '''    with db.transaction(conn):
        reversal_id = _write(conn, actor, plan_reversal(conn, transfer_id))
        conn.execute("UPDATE transfers SET status = 'reversed' WHERE id = ?", (transfer_id,))
    return public(find(conn, reversal_id))


def plan_reversal(conn: sqlite3.Connection, transfer_id: str) -> Plan:
    """Decide whether a transfer can be sent back."""
    original = find(conn, transfer_id)
    if original["kind"] == "reversal":
        raise Conflict("a reversal cannot be reversed", code="not_reversible")
    if original["status"] == "reversed":
        raise Conflict(f"transfer {transfer_id} was reversed before", code="already_reversed")
    payer = accounts.usable(conn, original["to_account"])
    payee = accounts.usable(conn, original["from_account"])
    accounts.require_funds(conn, payer, original["amount"])
    kept = {name: original[name] for name in ("amount", "currency", "reference", "memo")}
    return _between("reversal", payer, payee, {**kept, "reversal_of": transfer_id})
''',
    ),
)
path = Path("ledger/transfers.py")
source = path.read_text(encoding="utf-8")
start, end = source.index("def _insert("), source.index("def _reference(")
source = (
    source[:start]
    + '''def _between(kind: str, payer: sqlite3.Row, payee: sqlite3.Row, facts: dict) -> Plan:
    facts = {**facts, "from": payer["id"], "to": payee["id"]}
    amount = facts["amount"]
    return Plan(kind, [(payer["id"], -amount), (payee["id"], amount)], facts=facts)


def _write(conn: sqlite3.Connection, actor: str, decided: Plan) -> str:
    facts, transfer_id, at = decided.facts, ids.new_id("tr"), ids.now()
    origin = facts.get("reversal_of")
    row = {
        "id": transfer_id,
        "from_account": facts["from"],
        "to_account": facts["to"],
        "amount": facts["amount"],
        "currency": facts["currency"],
        "reference": facts["reference"],
        "memo": facts["memo"],
        "kind": decided.kind,
        "reversal_of": origin,
        "status": "posted",
        "created_by": actor,
        "created_at": at,
    }
    columns, marks = ", ".join(row), ", ".join("?" for _ in row)
    conn.execute(f"INSERT INTO transfers ({columns}) VALUES ({marks})", tuple(row.values()))
    journal.post(
        conn, str(decided.kind), transfer_id, decided.postings, memo=facts["memo"], at=at
    )
    details = {name: facts[name] for name in ("from", "to", "amount", "currency")}
    if origin:
        details["reversal_of"] = origin
    action = "transfer.reverse" if origin else "transfer.create"
    audit.append(conn, actor, action, transfer_id, details)
    return transfer_id


'''
    + source[end:]
)
path.write_text(source, encoding="utf-8")
PY
