"""What a basket costs: lines, goods, shipping, VAT. See docs/pricing.md and docs/shipping.md."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import catalogue, db, money
from .config import Config


@dataclass(frozen=True)
class Line:
    """An article in a basket. Amounts are in cents and include VAT."""

    sku: str
    name: str
    category: str
    quantity: int
    unit_cents: int
    priced_at: datetime
    vat_basis_points: int

    @property
    def gross_cents(self) -> int:
        """What the line costs."""
        return self.quantity * self.unit_cents

    @property
    def vat_cents(self) -> int:
        """The VAT in it."""
        return money.vat_in(self.gross_cents, self.vat_basis_points)


@dataclass(frozen=True)
class Quote:
    """What a basket costs in all."""

    lines: list[Line]
    goods_cents: int
    shipping_cents: int

    @property
    def total_cents(self) -> int:
        """What the card is charged."""
        return self.goods_cents + self.shipping_cents


def quote(conn: Any, config: Config, basket: list[db.Row]) -> Quote:
    """Price the lines of a basket."""
    lines = [
        Line(
            row["sku"],
            row["name"],
            row["category"],
            row["quantity"],
            row["unit_cents"],
            row["priced_at"],
            catalogue.vat_rate(conn, row["sku"]),
        )
        for row in basket
    ]
    goods = sum(line.gross_cents for line in lines)
    return Quote(lines, goods, shipping(config, goods) if lines else 0)


def shipping(config: Config, goods_cents: int) -> int:
    """What shipping costs for goods of that price."""
    return 0 if goods_cents >= config.free_shipping_from_cents else config.shipping_cents
