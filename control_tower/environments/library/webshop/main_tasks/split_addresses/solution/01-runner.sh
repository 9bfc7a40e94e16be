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
    "shop/migrate.py",
    (
        '''line that remembers it. Never edit an applied one: write the next. docs/deploy.md has the rules.
"""
''',
        '''line that remembers it. Never edit an applied one: write the next. docs/deploy.md has the rules.

A statement waits for a lock for a second, then the migration is tried again. A file that begins with
`-- batch, until none of: QUERY` has one statement that changes some rows at a time. It is run again and
again, each time in a transaction of its own, until the query has no rows any more.
"""
''',
    ),
    ('''import re
''', '''import re
import time
'''),
    ('''from . import db
''', '''import psycopg2.errors

from . import db
'''),
    (
        '''_NAME = re''',
        '''_BATCH = re.compile(r"-- batch, until none of: (.+)\\n")
LOCK_SECONDS, PAUSE_SECONDS, PATIENCE_SECONDS = 1, 0.5, 300
_NAME = re''',
    ),
    (
        '''        with db.transaction(conn):
            db.run(conn, path.read_text(encoding="utf-8"))
            db.run(
                conn,
                "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)",
                (number, path.name),
            )
        done.append(path.name)
    return done
''',
        '''        script = path.read_text(encoding="utf-8")
        batch = _BATCH.match(script)
        if batch:
            _in_batches(conn, script, batch[1])
            script = ""
        _patiently(conn, script, number, path.name)
        done.append(path.name)
    return done


def _patiently(conn: Any, script: str, number: int, name: str) -> None:
    """Run a migration and remember it; if a lock is not to be had, let others pass and try again."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with db.transaction(conn):
                db.run(conn, f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                # Two servers that start at the same time must not both apply it.
                db.run(conn, "LOCK TABLE schema_migrations IN SHARE ROW EXCLUSIVE MODE")
                known = "SELECT 1 FROM schema_migrations WHERE number = %s"
                if db.one(conn, known, (number,)):
                    return
                if script:
                    db.run(conn, script)
                db.run(
                    conn,
                    "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)",
                    (number, name),
                )
            return
        except (psycopg2.errors.LockNotAvailable, psycopg2.errors.DeadlockDetected):
            if time.monotonic() > end:
                raise
            time.sleep(PAUSE_SECONDS)


def _in_batches(conn: Any, statement: str, left: str) -> None:
    """Run a statement until nothing is left; rows that others hold are left for later."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with db.transaction(conn):
                db.run(conn, f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                changed = db.run(conn, statement)
        except psycopg2.errors.LockNotAvailable:
            changed = 0
        if changed:
            end = time.monotonic() + PATIENCE_SECONDS
            continue
        if not db.one(conn, left):
            return
        if time.monotonic() > end:
            raise TimeoutError(f"rows are left of: {left}")
        time.sleep(PAUSE_SECONDS)
''',
    ),
)
PY
