"""The command line of operations: `python3 -m shop.admin COMMAND`."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from datetime import date
from typing import Any

import psycopg2

from . import (
    audit,
    catalogue,
    config,
    db,
    export,
    nightly,
    passwords,
    reconcile,
    server,
    staff,
    stock,
)

Command = Callable[[config.Config, argparse.Namespace], int]


def serve(settings: config.Config, args: argparse.Namespace) -> int:
    """Run the server in the foreground."""
    server.serve(settings)
    return 0


def run_migrations(settings: config.Config, args: argparse.Namespace) -> int:
    """Apply the migrations that are missing; a new database is filled as well."""
    for name in server.prepare(settings):
        print(f"applied {name}")
    return 0


def staff_list(conn: Any, args: argparse.Namespace) -> int:
    """All members of staff."""
    for one in staff.everyone(conn):
        state = f"disabled {one['disabled_at']:%Y-%m-%d}" if one["disabled_at"] else "active"
        print(f"{one['login']:<12} {one['role']:<8} {state:<20} {one['name']}")
    return 0


def set_password(conn: Any, args: argparse.Namespace) -> int:
    """A new password for a member of staff, from standard input."""
    password = sys.stdin.readline().rstrip("\n")
    with db.transaction(conn):
        hashed = passwords.hashed(password)
        if not db.run(
            conn, "UPDATE staff SET password_hash = %s WHERE login = %s", (hashed, args.login)
        ):
            print("there is nobody of that login", file=sys.stderr)
            return 1
        audit.record(conn, "operations", "staff.password", args.login)
    return 0


def verify_audit(conn: Any, args: argparse.Namespace) -> int:
    """Is the audit trail whole?"""
    count, faults = audit.verify(conn)
    print(f"{count} records, {'; '.join(faults) or 'whole'}")
    return 1 if faults else 0


def check_stock(conn: Any, args: argparse.Namespace) -> int:
    """Does the stock agree with its journal?"""
    differences = stock.differences(conn)
    for row in differences:
        print(f"{row['sku']}: on hand {row['on_hand']}, journal {row['journal']}")
    return 1 if differences else 0


def deliver(conn: Any, args: argparse.Namespace) -> int:
    """Goods have come in."""
    if args.quantity <= 0 or catalogue.product(conn, args.sku) is None:
        print("an article on sale and a quantity are needed", file=sys.stderr)
        return 1
    with db.transaction(conn):
        stock.move(conn, args.sku, args.quantity, "delivery")
    return 0


def import_prices(conn: Any, args: argparse.Namespace) -> int:
    """New prices from a CSV file with the columns sku and price_cents."""
    with open(args.file, encoding="utf-8", newline="") as stream:
        wanted = [(row["sku"], int(row["price_cents"])) for row in csv.DictReader(stream)]
    with db.transaction(conn):
        run = db.rows(conn, "SELECT COALESCE(MAX(run), 0) + 1 AS run FROM price_changes")[0]["run"]
        for sku, cents in wanted:
            catalogue.set_price(conn, sku, cents, "import", run)
        audit.record(conn, "operations", "prices.import", f"run {run}", {"articles": len(wanted)})
    print(f"run {run}: {len(wanted)} prices")
    return 0


def export_lines(conn: Any, args: argparse.Namespace) -> int:
    """Order lines and refunds as text, for bookkeeping."""
    for line in export.lines(conn, args.day):
        print(line)
    return 0


def run_nightly(conn: Any, args: argparse.Namespace) -> int:
    """What cron runs every night."""
    print("\n".join(nightly.run(conn, args.today)))
    return 0


def with_database(command: Callable[[Any, argparse.Namespace], int]) -> Command:
    """A command that needs no more than a connection."""

    def run(settings: config.Config, args: argparse.Namespace) -> int:
        conn = db.connect(settings.database)
        try:
            return command(conn, args)
        finally:
            conn.close()

    return run


def run_reconcile(settings: config.Config, args: argparse.Namespace) -> int:
    """Do our payments agree with the provider's?"""
    conn = db.connect(settings.database)
    try:
        differences = reconcile.differences(conn, settings)
    finally:
        conn.close()
    print("\n".join(differences) or "no difference")
    return 1 if differences else 0


def parser() -> argparse.ArgumentParser:
    """All commands."""
    top = argparse.ArgumentParser(prog="shop.admin", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Command, text: str | None) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text)
        one.set_defaults(run=run)
        return one

    def on_database(
        name: str, run: Callable[[Any, argparse.Namespace], int]
    ) -> argparse.ArgumentParser:
        return command(name, with_database(run), run.__doc__)

    command("serve", serve, serve.__doc__)
    command("migrate", run_migrations, run_migrations.__doc__)
    command("reconcile", run_reconcile, run_reconcile.__doc__)
    on_database("staff", staff_list)
    on_database("set-password", set_password).add_argument("login")
    on_database("verify-audit", verify_audit)
    on_database("check-stock", check_stock)
    one = on_database("deliver", deliver)
    one.add_argument("sku")
    one.add_argument("quantity", type=int)
    on_database("import-prices", import_prices).add_argument("file")
    on_database("export-lines", export_lines).add_argument("--day")
    on_database("nightly", run_nightly).add_argument(
        "--today", type=date.fromisoformat, default=date.today()
    )
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    args = parser().parse_args(argv)
    try:
        return args.run(config.load(), args)
    except psycopg2.OperationalError as error:
        print(f"database: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
