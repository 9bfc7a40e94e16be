"""`digest`: sums up a tenant's invoices that were rendered, as a CSV file."""

from __future__ import annotations

import csv
import hashlib
import io

from .. import jobs
from . import Context, require, text

PAGE = 200


def check(payload: dict) -> None:
    """`name` of the file; `month` (YYYY-MM) leaves out other months."""
    require(set(payload) <= {"name", "month"}, "name and month, nothing else")
    name = payload.get("name")
    require(text(name, 40) and str(name).replace("-", "").isalnum(), "name: letters, digits, '-'")
    require("month" not in payload or text(payload["month"], 7), "month: YYYY-MM")


def run(context: Context) -> dict:
    """Write number, date, receiver and total of each invoice, and the sum."""
    month = context.job.payload.get("month", "")
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(["number", "date", "to", "total_cents"])
    rows, total = [], 0
    cursor: int | None = 0
    while cursor is not None:
        page, cursor = jobs.listed(context.db, context.tenant.id, "done", cursor, PAGE)
        rows += [job for job in page if job.kind == "invoice"]
    for job in rows:
        if not job.payload["date"].startswith(month):
            continue
        cents = (job.result or {}).get("total_cents", 0)
        out.writerow([job.payload["number"], job.payload["date"], job.payload["to"], cents])
        total += cents
    out.writerow(["", "", "sum", total])
    folder = context.settings.out / context.tenant.id
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{context.job.payload['name']}.csv"
    data = stream.getvalue().encode()
    file.write_bytes(data)
    return {"file": str(file), "total_cents": total, "sha256": hashlib.sha256(data).hexdigest()}
