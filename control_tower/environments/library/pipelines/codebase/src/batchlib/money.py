"""Amounts in cents, and what is computed of them. docs/amounts.md has the rules."""

from __future__ import annotations

import re

from batchlib import config

_AMOUNT = re.compile(r"(\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d{1,2}))?")


def parse(text: str) -> int:
    """Cents of an amount such as 1.204,50 or 7 or 7,5; ValueError if it is none."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no amount: {text!r}")
    whole, cents = match.groups()
    return int(whole.replace(".", "")) * 100 + int((cents or "0").ljust(2, "0"))


def show(cents: int) -> str:
    """An amount as all files have it: 1204,50."""
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}{cents // 100},{cents % 100:02d}"


def divide(dividend: int, divisor: int) -> int:
    """The nearest whole number, halves up."""
    return (2 * dividend + divisor) // (2 * divisor)


def net_of(gross: int, country: str) -> int:
    """What is left of a gross amount without the country's VAT."""
    rates = {row["country"]: int(row["rate"]) for row in config.table("vat.csv")}
    return divide(gross * 100, 100 + rates[country])


def commission_on(net: int, partner: str, day: str) -> int:
    """What a partner gets for an order of that net amount and business day."""
    rate = parse(config.partner_terms(partner, day)["rate"])  # hundredths of a per cent
    return divide(net * rate, 10_000)
