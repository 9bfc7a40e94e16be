"""Amounts in cents, and VAT. No floats."""

from __future__ import annotations


def euros(cents: int) -> str:
    """An amount as people read it: 1234 is `12.34`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def cents(text: str) -> int:
    """The amount that somebody typed, with point or comma. Raises ValueError."""
    whole, _, part = text.strip().replace(",", ".").partition(".")
    if not whole.isdecimal() or len(part) > 2 or (part and not part.isdecimal()):
        raise ValueError(f"not an amount: {text!r}")
    return int(whole) * 100 + int((part + "00")[:2])


def vat_in(gross: int, basis_points: int) -> int:
    """The VAT that is in a gross amount: nearest cent, an exact half upwards."""
    base = 10_000 + basis_points
    return (2 * gross * basis_points + base) // (2 * base)
