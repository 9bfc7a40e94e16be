"""`invoice`: renders an invoice as a text file. See docs/jobs.md."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import date, timedelta

from . import Context, require, text, whole

WIDTH = 64
TERMS_DAYS = 14
PAY_TO = "MR64 HARB 0002 4417 9035"
"""The collection account; what is paid there is passed on to the tenants."""
_NUMBER = re.compile(r"[A-Z0-9][A-Z0-9-]{0,29}")
_FIELDS = {"number", "date", "to", "lines"}


def check(payload: dict) -> None:
    """`number`, `date`, `to` and `lines`; each line has `text`, `quantity`, `cents`, `vat`."""
    require(set(payload) == _FIELDS, "number, date, to and lines, nothing else")
    number = payload["number"]
    require(isinstance(number, str) and bool(_NUMBER.fullmatch(number)), "number: like INV-2026-1")
    try:
        date.fromisoformat(payload["date"])
    except (TypeError, ValueError):
        require(False, "date: YYYY-MM-DD")
    require(text(payload["to"], 60), "to: a text")
    lines = payload["lines"]
    require(isinstance(lines, list) and 1 <= len(lines) <= 200, "lines: 1 to 200 of them")
    for line in lines:
        require(isinstance(line, dict), "a line: an object")
        require(set(line) == {"text", "quantity", "cents", "vat"}, "text, quantity, cents and vat")
        require(text(line["text"], 34), "text of a line: a text, 34 at most")
        require(whole(line["quantity"], 1, 9999), "quantity: 1 to 9999")
        require(whole(line["cents"], 0, 10**7), "cents: 0 or more")
        require(line["vat"] in (0, 9, 21), "vat: 0, 9 or 21")


def run(context: Context) -> dict:
    """Write the file, whole or not at all."""
    payload = context.job.payload
    page, total = render(context.tenant.name, payload)
    folder = context.settings.out / context.tenant.id / "invoices"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{payload['number']}.txt"
    half = folder / f".{payload['number']}.{os.getpid()}"
    half.write_bytes(page)
    half.replace(file)
    digest = hashlib.sha256(page).hexdigest()
    return {"file": str(file), "total_cents": total, "sha256": digest, "bytes": len(page)}


def render(sender: str, payload: dict) -> tuple[bytes, int]:
    """The page, and what is to be paid. VAT is rounded once per rate, half up."""
    issued = date.fromisoformat(payload["date"])
    due = issued + timedelta(days=TERMS_DAYS)
    out = [sender, "", f"INVOICE {payload['number']}", f"Date     {issued}", f"Due      {due}"]
    out += [f"To       {payload['to']}", "", "-" * WIDTH]
    nets: dict[int, int] = {}
    for line in payload["lines"]:
        amount = line["quantity"] * line["cents"]
        nets[line["vat"]] = nets.get(line["vat"], 0) + amount
        out.append(f"{line['text']:<34}{line['quantity']:>6} x {money(line['cents']):>10}"
                   f"{money(amount):>11}")
    out.append("-" * WIDTH)
    total = sum(nets.values())
    out.append(_sum("Net", total))
    for rate, net in sorted(nets.items()):
        vat = (net * rate + 50) // 100
        total += vat
        out.append(_sum(f"VAT {rate} %", vat))
    out += [_sum("TOTAL EUR", total), "", f"Please pay to {PAY_TO}"]
    out.append(f"and quote {payload['number']}.")
    return ("\n".join(out) + "\n").encode(), total


def money(cents: int) -> str:
    """An amount for people."""
    return f"{cents // 100}.{cents % 100:02d}"


def _sum(label: str, cents: int) -> str:
    return f"{label:<44}{money(cents):>20}"
