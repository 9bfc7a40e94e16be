"""Money is an integer number of minor units and a currency. There are no floats in the books."""

from __future__ import annotations

from .errors import InvalidRequest

EXPONENTS = {"EUR": 2, "USD": 2, "GBP": 2, "JPY": 0, "KWD": 3}
"""Decimal places of each currency we carry (ISO 4217)."""

MAX_AMOUNT = 10**12


def exponent(currency: str) -> int:
    """Decimal places of `currency`; InvalidRequest when we do not carry it."""
    try:
        return EXPONENTS[currency]
    except (KeyError, TypeError):
        raise InvalidRequest(f"unknown currency {currency!r}", field="currency") from None


def check_amount(value: object, field: str = "amount") -> int:
    """`value` if it is a usable amount in minor units: an integer from 1 to MAX_AMOUNT."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidRequest(f"{field} must be an integer number of minor units", field=field)
    if not 0 < value <= MAX_AMOUNT:
        raise InvalidRequest(f"{field} must be between 1 and {MAX_AMOUNT}", field=field)
    return value


def display(amount: int, currency: str) -> str:
    """An amount for people: `display(-123456, "EUR")` is `-1,234.56 EUR`."""
    places = exponent(currency)
    sign = "-" if amount < 0 else ""
    whole, fraction = divmod(abs(amount), 10**places)
    digits = f".{fraction:0{places}d}" if places else ""
    return f"{sign}{whole:,}{digits} {currency}"
