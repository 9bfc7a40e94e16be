"""What each admin command does.

A command takes the configuration and its arguments, and returns an exit code.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from contextlib import closing

from .. import accounts as account_service
from .. import audit, customers, db, holds, journal, money, pii, service
from .. import tokens as token_service
from ..config import Config
from ..pagination import Page

ACTOR = "admin-cli"
_ALL = Page(after=0, limit=1_000_000)


def serve(config: Config, args: argparse.Namespace) -> int:
    """Run the API in the foreground."""
    service.serve(config)
    return 0


def health(config: Config, args: argparse.Namespace) -> int:
    """Say whether the API answers (and whether it is the process meant)."""
    state = service.health(config)
    if state is None:
        print(f"no answer from {config.base_url}", file=sys.stderr)
        return 1
    if args.pid is not None and state.get("pid") != args.pid:
        print(f"process {state.get('pid')} answers, not {args.pid}", file=sys.stderr)
        return 1
    print(f"ok, version {state['version']}, schema {state['schema']}")
    return 0


def pid(config: Config, args: argparse.Namespace) -> int:
    """Print the process id of the API that answers."""
    state = service.health(config)
    if state is None:
        return 1
    print(state["pid"])
    return 0


def migrate(config: Config, args: argparse.Namespace) -> int:
    """Bring the database up to date."""
    for name in service.prepare(config):
        print(f"applied {name}")
    return 0


def accounts(config: Config, args: argparse.Namespace) -> int:
    """List accounts."""
    with _connected(config) as conn:
        for row in account_service.page(conn, _ALL, args.customer):
            shown = money.display(row["balance"], row["currency"])
            print(f"{row['id']:34} {shown:>22}  {row['status']:7} {row['name']}")
    return 0


def deposit(config: Config, args: argparse.Namespace) -> int:
    """Book money that came in."""
    with _connected(config) as conn:
        booked = account_service.deposit(conn, ACTOR, args.account, {"amount": args.amount})
    print(json.dumps(booked, indent=2))
    return 0


def customer(config: Config, args: argparse.Namespace) -> int:
    """Show one customer."""
    key = pii.load_key(config.pii_key_file)
    with _connected(config) as conn:
        if args.reveal:
            shown = customers.revealed(conn, key, ACTOR, args.id)
        else:
            shown = customers.public(customers.find(conn, args.id), key)
    print(json.dumps(shown, indent=2))
    return 0


def tokens(config: Config, args: argparse.Namespace) -> int:
    """List tokens."""
    with _connected(config) as conn:
        for token in token_service.every(conn):
            if args.all or token["revoked_at"] is None:
                state = "revoked" if token["revoked_at"] else "active"
                print(f"{token['id']:18} {state:8} {token['name']:28} {' '.join(token['scopes'])}")
    return 0


def issue_token(config: Config, args: argparse.Namespace) -> int:
    """Issue a token."""
    with _connected(config) as conn:
        record, secret = token_service.issue(conn, ACTOR, args.name, args.scopes)
    print(f"{record['id']}\n{secret}")
    return 0


def revoke_token(config: Config, args: argparse.Namespace) -> int:
    """Revoke a token."""
    with _connected(config) as conn:
        record = token_service.revoke(conn, ACTOR, args.id)
    print(f"{record['id']} revoked at {record['revoked_at']}")
    return 0


def expire_holds(config: Config, args: argparse.Namespace) -> int:
    """Close holds that are past their time."""
    with _connected(config) as conn:
        for hold_id in holds.expire(conn, ACTOR):
            print(hold_id)
    return 0


def check_books(config: Config, args: argparse.Namespace) -> int:
    """Check that the books add up."""
    with _connected(config) as conn:
        found = journal.faults(conn)
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print("the books add up")
    return 1 if found else 0


def verify_audit(config: Config, args: argparse.Namespace) -> int:
    """Check the audit chain."""
    with _connected(config) as conn:
        count, fault = audit.verify(conn)
    if fault is not None:
        print(f"{fault} ({count} records before it are good)", file=sys.stderr)
        return 1
    print(f"{count} records, the chain is whole")
    return 0


def audit_tail(config: Config, args: argparse.Namespace) -> int:
    """Print the newest audit records, oldest of them first, as JSON lines."""
    with _connected(config) as conn:
        after = 0 if args.subject else max(0, audit.head(conn)[0] - args.n)
        for record in audit.page(conn, after, 1_000_000, args.subject)[-args.n :]:
            print(json.dumps(record, sort_keys=True))
    return 0


def _connected(config: Config) -> closing[sqlite3.Connection]:
    if not config.database.exists():
        raise FileNotFoundError(f"no database at {config.database}; run: restart.sh")
    return closing(db.connect(config.database))
