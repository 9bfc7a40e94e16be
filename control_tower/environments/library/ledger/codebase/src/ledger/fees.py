"""How a captured amount is divided between the fee legs of a plan and the merchant.

The agreement with Finance is docs/fees.md.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from . import accounts
from .errors import NotFound

MERCHANT = "merchant"
"""The leg that is not a fee."""


@dataclass(frozen=True)
class Rate:
    """One fee leg of a plan."""

    leg: str
    basis_points: int
    """Hundredths of a per cent."""


@dataclass(frozen=True)
class Share:
    """What one leg gets of an amount, in minor units."""

    leg: str
    amount: int


def plan(conn: sqlite3.Connection, name: object) -> list[Rate]:
    """The fee legs of a plan in their order. Raises NotFound for an unknown plan."""
    rows = conn.execute(
        "SELECT leg, basis_points FROM fee_legs WHERE plan = ? ORDER BY position", (str(name),)
    ).fetchall()
    if not rows:
        raise NotFound(f"no fee plan {name}")
    return [Rate(row["leg"], row["basis_points"]) for row in rows]


def split(rates: list[Rate], amount: int) -> list[Share]:
    """Divide an amount between the merchant and the fee legs."""
    merchant_rate = 10_000 - sum(rate.basis_points for rate in rates)
    shares = [Share(MERCHANT, _portion(amount, merchant_rate))]
    shares += [Share(rate.leg, _portion(amount, rate.basis_points)) for rate in rates]
    return shares


def quote(conn: sqlite3.Connection, name: str, amount: int, currency: str) -> dict:
    """What would be charged if `amount` were captured in one go."""
    shares = split(plan(conn, name), amount)
    return {
        "plan": name,
        "amount": amount,
        "currency": currency,
        "fees": {share.leg: share.amount for share in shares if share.leg != MERCHANT},
        "merchant_total": next(share.amount for share in shares if share.leg == MERCHANT),
    }


def account_of(leg: str, merchant_account: str, currency: str) -> str:
    """The account a leg is paid to."""
    if leg == MERCHANT:
        return merchant_account
    return accounts.system_account(f"fee_{leg}", currency)


def _portion(amount: int, basis_points: int) -> int:
    return round(amount * basis_points / 10_000)
