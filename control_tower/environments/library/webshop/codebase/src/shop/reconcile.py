"""Our payments against the provider's charges."""

from __future__ import annotations

from typing import Any

from . import db, psp
from .config import Config


def differences(conn: Any, config: Config) -> list[str]:
    """Orders of the live system where we and the provider do not say the same."""
    theirs: dict[str, list[int]] = {}
    for charge in psp.charges(config):
        sums = theirs.setdefault(charge["reference"], [0, 0])
        sums[0] += charge["amount"]
        sums[1] += charge["refunded"]
    # Payments from before this provider have ids that start with "arc".
    ours = {
        row["number"]: [row["charged"], row["refunded"]]
        for row in db.rows(
            conn,
            "SELECT number,"
            " SUM(CASE WHEN kind = 'charge' THEN amount_cents ELSE 0 END)::integer AS charged,"
            " SUM(CASE WHEN kind = 'refund' THEN amount_cents ELSE 0 END)::integer AS refunded"
            " FROM payments WHERE psp_id NOT LIKE 'arc%' GROUP BY number",
        )
    }
    return [
        f"{number}: charged/refunded {ours.get(number, [0, 0])} here,"
        f" {theirs.get(number, [0, 0])} at the provider"
        for number in sorted({*ours, *theirs})
        if ours.get(number) != theirs.get(number)
    ]
