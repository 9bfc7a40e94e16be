set -euo pipefail
mkdir -p reports
cat > reports/october_night.py <<'PY'
"""What is owed for the night of 2025-10-14. Run it in the queue's folder: `python3 reports/october_night.py`."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path

import redis

FOLDER = Path("incidents/2025-10-14")
REPORT = Path("reports/2025-10-14.json")
DAY = "2025-10-14"
PROMISE_MS = {"basic": 1_800_000, "plus": 300_000, "premium": 60_000}
LATE = {"basic": 1, "plus": 2, "premium": 4}
LATE_MOST = 150
LOST = {"basic": 100, "plus": 150, "premium": 400}
SURPLUS = {"basic": 5, "plus": 10, "premium": 25}
MOST = {"basic": 300, "plus": 1200, "premium": 3000}


def ms(text: str) -> int:
    """A time in milliseconds."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def begun(count: int, size: int) -> int:
    """How many of a size were begun."""
    return -(-count // size)


def read_logs() -> tuple[dict[str, int], Counter]:
    """When the first run of each job began by Redis's clock, and how many of its runs ended as done."""
    first: dict[str, int] = {}
    done: Counter = Counter()
    for worker in ("w1", "w2", "w3"):
        lines = []
        for part in (f"jobs-{worker}.log.1", f"jobs-{worker}.log"):
            lines += (FOLDER / part).read_text(encoding="utf-8").splitlines()
        off = None
        for line in dict.fromkeys(lines):  # each line once, in order
            at, _, event, *pairs = line.split()
            fields = dict(pair.split("=", 1) for pair in pairs)
            if event == "clock":
                off = ms(at) - ms(fields["redis"])
            elif event == "run":
                began = ms(at) - off
                first[fields["job"]] = min(first.get(fields["job"], began), began)
            elif event == "end" and fields["state"] == "done":
                done[fields["job"]] += 1
    return first, done


def deliveries() -> Counter:
    """How often a receiver has accepted each webhook."""
    found: Counter = Counter()
    for line in (FOLDER / "receivers.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found[one["job"]] += 200 <= one["status"] < 300
    return found


def plans(db: redis.Redis) -> dict[str, str]:
    """The plans of that day: today's, with all later changes undone."""
    found = {name: db.hget(f"mr:tenant:{name}", "plan") for name in db.smembers("mr:tenants")}
    with open("data/plan-changes.csv", encoding="utf-8", newline="") as stream:
        changes = sorted(csv.DictReader(stream), key=lambda row: row["on"], reverse=True)
    for row in changes:
        if row["on"] > DAY:
            found[row["tenant"]] = row["from"]
    return found


def main() -> None:
    """Write the report."""
    password = Path("secrets/redis.password").read_text(encoding="utf-8").strip()
    db = redis.Redis("redis", password=password, decode_responses=True)
    plan, (first, done), delivered = plans(db), read_logs(), deliveries()
    since, until = ms(f"{DAY}T02:00:00Z"), ms(f"{DAY}T05:00:00Z")
    jobs = []
    for name in plan:
        for job_id in db.zrange(f"mr:jobs:{name}", 0, -1):
            job = db.hgetall(f"mr:job:{job_id}")
            if since <= int(job["run_at"]) < until and job["state"] != "cancelled":
                jobs.append(job)
    jobs.sort(key=lambda job: int(job["run_at"]))
    twice, late, lost = [], [], []
    credits: dict = defaultdict(lambda: {"twice": 0, "late": 0, "lost": 0})
    for job in jobs:
        tenant, kind, due = job["tenant"], job["kind"], int(job["run_at"])
        named = {"job": job["id"], "tenant": tenant, "kind": kind}
        mine = plan[tenant]
        if job["id"] not in first:
            lost.append(named)
            credits[tenant]["lost"] += LOST[mine]
            continue
        over = first[job["id"]] - due - PROMISE_MS[mine]
        if over > 0:
            late.append({**named, "seconds": begun(over, 1000)})
            credits[tenant]["late"] += min(LATE_MOST, LATE[mine] * begun(over, 60_000))
        effects = {"webhook": delivered, "meter": done}.get(kind, Counter())[job["id"]]
        if effects > 1 and kind == "webhook":
            twice.append({**named, "effects": effects, "surplus": effects - 1})
            credits[tenant]["twice"] += SURPLUS[mine] * (effects - 1)
        elif effects > 1:
            units = json.loads(job["payload"])["add"] * (effects - 1)
            twice.append({**named, "effects": effects, "surplus": units})
            credits[tenant]["twice"] += begun(units, 100)
    shown = {}
    for tenant in sorted(credits):
        sums = credits[tenant]
        if total := min(MOST[plan[tenant]], sum(sums.values())):
            shown[tenant] = {"plan": plan[tenant], **sums, "total": total}
    report = {"twice": twice, "late": late, "lost": lost, "credits": shown}
    report["total"] = sum(row["total"] for row in shown.values())
    REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(len(twice), "twice,", len(late), "late,", len(lost), "lost,", report["total"], "cents")


if __name__ == "__main__":
    main()
PY
python3 reports/october_night.py
