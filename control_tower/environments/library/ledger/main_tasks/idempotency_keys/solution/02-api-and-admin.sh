set -euo pipefail
python3 - <<'PY'
from pathlib import Path


def edit(path, *changes):
    source = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, (path, old)
        source = source.replace(old, new)
    Path(path).write_text(source, encoding="utf-8")


edit(
    "ledger/api/money_handlers.py",
    (
        "from .. import accounts, fees, holds, money, transfers\n",
        "from .. import accounts, db, fees, holds, idempotency, money, transfers\n",
    ),
    (
        '''    """Move money between two accounts."""
    created = transfers.create(request.conn, request.actor, request.json())
    return Response(created, 201)
''',
        '''    """Move money between two accounts; a retry with the same idempotency key moves none."""
    key = idempotency.check_key(request.headers.get(idempotency.HEADER))
    body = request.json()
    if key is None:
        return Response(transfers.create(request.conn, request.actor, body), 201)
    with db.transaction(request.conn):
        answer = idempotency.recall(request.conn, request.actor, key, body)
        if answer is not None:
            return Response(answer, 201, {idempotency.REPLAY_HEADER: "true"})
        created = transfers.create(request.conn, request.actor, body)
        idempotency.remember(request.conn, request.actor, key, body, created)
    return Response(created, 201)
''',
    ),
)
edit(
    "ledger/admin/__main__.py",
    (
        '    command("check-books"',
        '''    purge = command(
        "purge-idempotency-keys", commands.purge_idempotency_keys, "forget old idempotency keys"
    )
    purge.add_argument("--older-than-hours", type=_hours, required=True, metavar="N")
    command("check-books"''',
    ),
    (
        "def main(argv",
        '''def _hours(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("must be a whole number, 0 or more")
    return int(text)


def main(argv''',
    ),
)
edit(
    "ledger/admin/commands.py",
    (
        "from .. import audit, customers, db, holds, journal, money, pii, service\n",
        "from .. import audit, customers, db, holds, idempotency, journal, money, pii, service\n",
    ),
    (
        "def check_books(",
        '''def purge_idempotency_keys(config: Config, args: argparse.Namespace) -> int:
    """Forget idempotency keys that are old enough."""
    with _connected(config) as conn:
        print(f"removed {idempotency.purge(conn, args.older_than_hours)}")
    return 0


def check_books(''',
    ),
)
edit(
    "docs/api.md",
    (
        "## Holds\n",
        """## Idempotency keys

`POST /v1/transfers` takes a header `Idempotency-Key` (1 to 64 letters, digits and `. _ : -`, otherwise
`invalid_idempotency_key`). A retry with the key of a transfer that was made, and the same JSON body,
repeats the first answer with `Idempotent-Replay: true` and does nothing else; with another body it is
refused (`idempotency_key_reused`). Keys belong to the token. A refused request does not use up its key.
`python3 -m ledger.admin purge-idempotency-keys --older-than-hours N` forgets old ones.

## Holds
""",
    ),
)
PY
