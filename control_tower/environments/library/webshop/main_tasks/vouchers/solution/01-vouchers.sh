set -euo pipefail
cat > migrations/0009_discounts.sql <<'SQL'
-- Discounts by vouchers: docs/vouchers.md.
ALTER TABLE sessions ADD COLUMN voucher_code text;
ALTER TABLE orders
    ADD COLUMN discount_cents integer NOT NULL DEFAULT 0,
    ADD COLUMN voucher_code text REFERENCES vouchers;
ALTER TABLE order_lines ADD COLUMN discount_cents integer NOT NULL DEFAULT 0;
CREATE INDEX voucher_uses_by_code ON voucher_uses (code);
SQL
cat > shop/vouchers.py <<'PY'
"""Vouchers: whether one is good for a basket, and what it takes off. docs/vouchers.md has the rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from . import db, pricing
from .config import Config


class Refused(Exception):
    """A voucher that is not good; `code` is for programs, the text for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Priced:
    """A basket's quote with its voucher, or without, and then why."""

    quote: pricing.Quote
    refused: Refused | None = None


def on_basket(conn: Any, session_id: str) -> str:
    """The code on a basket, or an empty text."""
    row = db.one(conn, "SELECT voucher_code FROM sessions WHERE id = %s", (session_id,))
    return (row and row["voucher_code"]) or ""


def put(conn: Any, session_id: str, code: str) -> None:
    """Put a code on a basket; an empty one takes it off."""
    db.run(
        conn, "UPDATE sessions SET voucher_code = %s WHERE id = %s", (code or None, session_id)
    )


def normal(code: str) -> str:
    """A code as it is stored."""
    return code.strip().upper()


def priced(
    conn: Any, config: Config, basket: list[db.Row], code: str, customer_id: int | None
) -> Priced:
    """What a basket costs with a voucher. One that is not good takes nothing off."""
    quote = pricing.quote(conn, config, basket)
    if not code:
        return Priced(quote)
    try:
        return Priced(reduced(config, quote, check(conn, quote, code, customer_id)))
    except Refused as error:
        return Priced(quote, error)


def check(
    conn: Any, quote: pricing.Quote, code: str, customer_id: int | None, *, lock: bool = False
) -> db.Row:
    """The voucher, if it is good for these goods. Raises Refused.

    With `lock`, nobody else can use it until the transaction ends, so that limits hold.
    """
    if lock:
        db.run(conn, "SELECT 1 FROM vouchers WHERE code = %s FOR UPDATE", (code,))
    voucher = db.one(
        conn,
        "SELECT v.*, current_date BETWEEN valid_from AND valid_until AS today,"
        " (SELECT count(*) FROM voucher_uses u WHERE u.code = v.code) AS uses,"
        " (SELECT count(*) FROM voucher_uses u WHERE u.code = v.code AND u.customer_id = %s) AS own"
        " FROM vouchers v WHERE v.code = %s AND v.active",
        (customer_id, code),
    )
    if voucher is None:
        raise Refused("voucher_unknown", "we do not know this voucher")
    if not voucher["today"]:
        raise Refused("voucher_expired", "this voucher is not valid today")
    if quote.goods_cents < voucher["min_goods_cents"]:
        raise Refused("voucher_minimum", "your basket is too small for this voucher")
    if voucher["category"] and not eligible(quote, voucher):
        raise Refused("voucher_category", "nothing in your basket is for this voucher")
    if voucher["max_uses"] is not None and voucher["uses"] >= voucher["max_uses"]:
        raise Refused("voucher_used_up", "this voucher is used up")
    own_limit = voucher["max_uses_per_customer"]
    if customer_id is not None and own_limit is not None and voucher["own"] >= own_limit:
        raise Refused("voucher_used", "you have used this voucher")
    return voucher


def eligible(quote: pricing.Quote, voucher: db.Row) -> list[int]:
    """The places of the lines that a voucher is for."""
    wanted = voucher["category"]
    return [n for n, line in enumerate(quote.lines) if wanted in (None, line.category)]


def reduced(config: Config, quote: pricing.Quote, voucher: db.Row) -> pricing.Quote:
    """The quote with the discount."""
    if voucher["kind"] == "shipping":
        return replace(quote, discount_cents=quote.shipping_cents, voucher_code=voucher["code"])
    places = eligible(quote, voucher)
    weights = [quote.lines[n].gross_cents for n in places]
    goods = sum(weights)
    if voucher["kind"] == "percent":
        discount = (goods * voucher["value"] + 5_000) // 10_000
    else:
        discount = voucher["value"]
    discount = min(discount, goods)
    lines = list(quote.lines)
    for place, share in zip(places, spread(discount, weights)):
        lines[place] = replace(lines[place], discount_cents=share)
    return replace(
        quote,
        lines=lines,
        discount_cents=discount,
        shipping_cents=pricing.shipping(config, quote.goods_cents - discount) if lines else 0,
        voucher_code=voucher["code"],
    )


def spread(amount: int, weights: list[int]) -> list[int]:
    """Divide an amount in proportion: rounded down, the rest by the largest remainders."""
    total = sum(weights)
    if total == 0:
        return [0 for _ in weights]
    shares = [amount * weight // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda n: -(amount * weights[n] % total))
    for place in order[: amount - sum(shares)]:
        shares[place] += 1
    return shares
PY
