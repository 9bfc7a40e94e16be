"""The fee plans as agreed with Finance (docs/fees.md). New plans come as new migrations."""

from __future__ import annotations

import sqlite3

_PLANS = {
    "standard": [("processing", 145), ("scheme", 35)],
    "marketplace": [("platform", 425), ("processing", 145), ("partner", 85)],
    "charity": [("processing", 55)],
}


def upgrade(conn: sqlite3.Connection) -> None:
    """Insert the plans, legs in the order in which they are listed on statements."""
    for plan, legs in _PLANS.items():
        for position, (leg, basis_points) in enumerate(legs):
            conn.execute(
                "INSERT INTO fee_legs (plan, position, leg, basis_points) VALUES (?, ?, ?, ?)",
                (plan, position, leg, basis_points),
            )
