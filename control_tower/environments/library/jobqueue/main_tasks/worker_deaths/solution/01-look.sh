set -euo pipefail
# Which jobs say that they are running, and which of them has somebody?
python3 -m millrace.admin workers
python3 - <<'PY'
from millrace import config, jobs, store

db = store.connect(config.load())
for key in db.scan_iter("mr:job:*", count=500):
    if db.hget(key, "state") == "running":
        job = jobs.load(db, key.removeprefix("mr:job:"))
        print(job.id, job.tenant, job.kind, "lease:", db.zscore(store.RUNNING, job.id))
PY
cat millrace/queue.py millrace/worker.py millrace/scheduler.py | grep -n "release\|zrem\|attempts" || true
