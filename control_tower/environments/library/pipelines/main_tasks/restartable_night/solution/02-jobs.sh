set -euo pipefail
# Each job: first what can be repeated, last what cannot be taken back; files are put in place whole.
python3 - <<'PY'
from pathlib import Path


def edit(name, *pairs):
    source = Path(name).read_text(encoding="utf-8")
    for old, new in pairs:
        assert source.count(old) == 1, (name, old)
        source = source.replace(old, new)
    Path(name).write_text(source, encoding="utf-8")


edit(
    "jobs/collect.sh",
    (
        '''    mv "$path" "$ROOT/rejected/$NIGHT-$name"
    log_line collect.log "night=$NIGHT rejected $name: $1"
''',
        '''    grep -qF "night=$NIGHT rejected $name: $1" "$ROOT/log/collect.log" 2>/dev/null ||
        log_line collect.log "night=$NIGHT rejected $name: $1"
''',
    ),
    ('"Rejected file $name"\n', '"Rejected file $name"\n    mv "$path" "$ROOT/rejected/$NIGHT-$name"\n'),
    (
        '        if [ -e "$ROOT/archive',
        '''        line=$(printf '%s\\t%s\\t%s\\t%s' "$NIGHT" "$kind" "$name" "$sum")
        if [ ! -e "$ROOT/archive/$kind/$name" ] && grep -qxF "$line" "$record"; then
            # Noted by a run that was killed before it could move it.
            mv "$path" "$ROOT/archive/$kind/$name"
        elif [ -e "$ROOT/archive''',
    ),
    (
        '''            mv "$path" "$ROOT/archive/$kind/$name"
            printf '%s\\t%s\\t%s\\t%s\\n' "$NIGHT" "$kind" "$name" "$sum" >>"$record"
''',
        '''            printf '%s\\n' "$line" >>"$record"
            mv "$path" "$ROOT/archive/$kind/$name"
''',
    ),
)
edit(
    "jobs/watch.sh",
    (
        '    log_line alerts.log "night=$NIGHT $1"\n',
        '''    grep -qF " night=$NIGHT $1" "$ROOT/log/alerts.log" 2>/dev/null || log_line alerts.log "night=$NIGHT $1"
''',
    ),
)
Path("batchlib/files.py").write_text('''"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from batchlib import config


def put(path: Path, text: str) -> None:
    """Write a file in one step; one that has this content already is not touched."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = config.root() / "state" / f".{path.name}.new"
    new.parent.mkdir(parents=True, exist_ok=True)
    with new.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(path)
''', encoding="utf-8")
Path("jobs/invoices.py").write_text('''"""Write invoices for what was shipped on the day. docs/invoices.md."""

from batchlib import config, files, mart, money


def assign(conn, night: str, number: int) -> None:
    """Give numbers to what is to be invoiced, all of it or nothing."""
    conn.execute("BEGIN IMMEDIATE")
    shipped = conn.execute(
        "SELECT DISTINCT o.* FROM orders o JOIN shipments s ON s.order_id = o.order_id"
        " WHERE s.kind = 'out' AND substr(s.at, 1, 10) <= ? AND o.status = 'new'"
        " AND o.order_id NOT IN (SELECT order_id FROM invoices) ORDER BY o.order_id",
        (night,),
    ).fetchall()
    for order in shipped:
        number += 1
        net = money.net_of(order["gross"], order["country"])
        conn.execute(
            "INSERT INTO invoices VALUES (?, ?, ?, ?, ?, ?)",
            (number, order["order_id"], night, net, order["gross"] - net, order["gross"]),
        )
    conn.execute("COMMIT")


def main() -> None:
    """Write out/invoices/invoices-DATE.csv from the mart, which has the numbers."""
    conn, night = mart.connect(), config.night()
    counter = config.root() / "state/invoice.seq"
    last = int(counter.read_text(encoding="utf-8")) if counter.exists() else 10_000
    known = conn.execute("SELECT max(number) FROM invoices").fetchone()[0]
    assign(conn, night, max(last, known or 0))
    known = conn.execute("SELECT max(number) FROM invoices").fetchone()[0]
    if known:
        files.put(counter, f"{max(last, known)}\\n")
    lines = ["number;order_id;net;vat;gross"]
    for row in conn.execute("SELECT * FROM invoices WHERE night = ? ORDER BY number", (night,)):
        amounts = ";".join(money.show(row[name]) for name in ("net", "vat", "gross"))
        lines.append(f"{row['number']};{row['order_id']};{amounts}")
    files.put(config.root() / f"out/invoices/invoices-{night}.csv", "\\n".join(lines) + "\\n")
    print(f"{night}: {len(lines) - 1} invoices")


main()
''', encoding="utf-8")
edit(
    "jobs/partner_export.py",
    ("import config, mart, money", "import config, files, mart, money"),
    (
        '''    with path.open("a", encoding="utf-8") as stream:
        stream.write("\\n".join(lines) + "\\n")
    content = path.read_bytes()
    with (folder / "MANIFEST").open("a", encoding="utf-8") as stream:
        stream.write(f"{path.name} {hashlib.sha256(content).hexdigest()} {len(content)}\\n")
''',
        '''    files.put(path, "\\n".join(lines) + "\\n")
    content = path.read_bytes()
    manifest = folder / "MANIFEST"
    known = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
    line = f"{path.name} {hashlib.sha256(content).hexdigest()} {len(content)}"
    if line not in known:
        known = [*(one for one in known if one.split(" ")[0] != path.name), line]
        files.put(manifest, "\\n".join(known) + "\\n")
''',
    ),
    (
        '''    (out / "payments").mkdir(parents=True, exist_ok=True)
    path = out / f"payments/payments-{night}.csv"
    path.write_text("\\n".join(lines) + "\\n", encoding="utf-8")
''',
        '''    # The bank pays again what is written again.
    files.put(out / f"payments/payments-{night}.csv", "\\n".join(lines) + "\\n")
''',
    ),
)
edit(
    "docs/night.md",
    (
        '''A night that was interrupted is started again by whoever is on call, after a look at what it had done. That is a
nuisance: the lock has to be removed by hand, and some jobs must not run twice for a night.
''',
        '''A night that was interrupted is just started again: what has ended well (`state/nights/DATE/`) is not run again, and all
jobs may be repeated. `bin/night --status DATE` tells how far it is, `bin/night --again DATE [JOB]` runs it again from a job on. The
lock, `state/night.lock`, ends with those who hold it. Mails of a night are sent once (`state/mails/`).
''',
    ),
)
PY
cat > tests/test_restart.py <<'PY'
"""Nights that are started again."""

from tests.support import RootTest, row


class RestartTest(RootTest):
    def test_checkpoints(self) -> None:
        jobs = self.root / "jobs"
        jobs.write_text('one  must  echo 1 >>"$BATCH_ROOT/ran"\ntwo  must  echo 2 >>"$BATCH_ROOT/ran"; [ -e "$BATCH_ROOT/ok" ]\n')
        self.env["BATCH_JOBS"] = str(jobs)
        self.assertEqual(self.run_it("bash", "bin/night", "2024-03-09").returncode, 1)
        self.assertEqual(self.run_it("bash", "bin/night", "--status", "2024-03-09").stdout, "one done\ntwo failed\n")
        (self.root / "ok").touch()
        for _ in range(2):
            self.assertEqual(self.run_it("bash", "bin/night", "2024-03-09").returncode, 0)
        self.assertEqual((self.root / "ran").read_text(), "1\n2\n2\n")
        self.run_it("bash", "bin/night", "--again", "2024-03-09", "two")
        self.assertEqual((self.root / "ran").read_text(), "1\n2\n2\n2\n")

    def test_again_leaves_the_same(self) -> None:
        self.orders("north-20240309-1.csv", row(1, "2024-03-09T10:00:00Z", partner="harbour"))
        self.put("shipments", "wh-20240309.csv", "order_id,at,carrier,parcels,kind\nT0001,2024-03-09 15:00,GLP,1,out\n")
        seen = []
        for _ in range(2):
            self.assertEqual(self.run_it("bash", "bin/night", "--again", "2024-03-09").returncode, 0)
            files = {str(path): path.read_bytes() for path in self.root.glob("out/**/*.*")}
            seen.append((files, self.mails()))
        self.assertEqual(*seen)
PY
python3 -m unittest 2>&1 | tail -n 4
