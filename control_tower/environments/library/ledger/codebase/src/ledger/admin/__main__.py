"""Parse the command line and run the command."""

from __future__ import annotations

import argparse
import sys

from .. import config
from ..errors import LedgerError
from . import commands


def parser() -> argparse.ArgumentParser:
    """The whole command line, one sub-parser a command."""
    top = argparse.ArgumentParser(prog="python3 -m ledger.admin", description=__doc__)
    top.add_argument("--config", help="another configuration file than ledger.conf")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: object, text: str) -> argparse.ArgumentParser:
        one = sub.add_parser(name, help=text, description=text)
        one.set_defaults(run=run)
        return one

    command("serve", commands.serve, "run the API in the foreground")
    health = command("health", commands.health, "exit 0 when the API answers")
    health.add_argument("--pid", type=int, help="and only when it is this process that answers")
    command("pid", commands.pid, "print the process id of the API that answers")
    command("migrate", commands.migrate, "apply missing migrations, seed a new database")

    accounts = command("accounts", commands.accounts, "list accounts with their balances")
    accounts.add_argument("--customer", help="only those of this customer id")
    deposit = command("deposit", commands.deposit, "book money that came in at the bank")
    deposit.add_argument("account")
    deposit.add_argument("amount", type=int, help="minor units")
    customer = command("customer", commands.customer, "show one customer")
    customer.add_argument("id")
    customer.add_argument("--reveal", action="store_true", help="personal data in clear; audited")

    tokens = command("tokens", commands.tokens, "list API tokens")
    tokens.add_argument("--all", action="store_true", help="revoked ones too")
    issue = command("issue-token", commands.issue_token, "issue a token and print its secret once")
    issue.add_argument("name")
    issue.add_argument("scopes", nargs="+", metavar="scope")
    revoke = command("revoke-token", commands.revoke_token, "revoke a token for good")
    revoke.add_argument("id")

    command("expire-holds", commands.expire_holds, "close open holds that are past their time")
    command("check-books", commands.check_books, "exit 0 when every entry and balance adds up")
    command("verify-audit", commands.verify_audit, "exit 0 when the audit chain is whole")
    tail = command("audit", commands.audit_tail, "print the newest audit records")
    tail.add_argument("-n", type=int, default=20, help="how many (default 20)")
    tail.add_argument("--subject", help="only those about this id")
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 good, 1 the answer is no, 2 cannot be done."""
    args = parser().parse_args(argv)
    try:
        return args.run(config.load(args.config), args)
    except LedgerError as error:
        print(f"{args.command}: {error.message}", file=sys.stderr)
        return 2
    except FileNotFoundError as error:
        print(f"{args.command}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
