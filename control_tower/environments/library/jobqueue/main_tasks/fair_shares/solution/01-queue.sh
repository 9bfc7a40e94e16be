set -euo pipefail
# Waiting jobs get a sorted set for each tenant. What runs is counted when a job is taken, from the leases,
# so that there is no counter that could go wrong when a worker dies.
python3 - <<'PY'
from pathlib import Path


def edit(name, *pairs):
    path = Path(name)
    source = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert source.count(old) == 1, (name, old, source.count(old))
        source = source.replace(old, new)
    path.write_text(source, encoding="utf-8")


def between(name, first, last, new):
    path = Path(name)
    source = path.read_text(encoding="utf-8")
    start = source.index(first)
    end = source.index(last, start)
    path.write_text(source[:start] + new + source[end:], encoding="utf-8")


edit(
    "millrace/store.py",
    (
        'READY = "mr:ready"\n',
        'READY = "mr:ready"\n"""Where older code kept waiting jobs; Queue.adopt takes them from there."""\n'
        'WAITING = "mr:waiting"\n"""The tenants that have waiting jobs."""\n'
        'JOINED = "mr:joined"\n"""Numbers the jobs in the order in which they became ready."""\n'
        'TURNS = "mr:turns"\n"""Tenant to the number of the last run that was taken of it."""\n',
    ),
    (
        'def jobs(tenant: str)',
        'def ready(tenant: str) -> str:\n'
        '    """A tenant\'s waiting jobs, the next one first."""\n'
        '    return f"mr:ready:{tenant}"\n\n\n'
        'def jobs(tenant: str)',
    ),
)
between(
    "millrace/queue.py",
    '_CLAIM = """',
    "MOST_ATTEMPTS",
    '''# A job's place among its tenant's is its priority, then when it became ready.
_JOIN = """
local function join(id)
  local job = 'mr:job:' .. id
  local tenant = redis.call('HGET', job, 'tenant')
  local priority = tonumber(redis.call('HGET', job, 'priority') or 5)
  redis.call('HSET', job, 'state', 'waiting')
  redis.call('ZADD', 'mr:ready:' .. tenant, (9 - priority) * 1e13 + redis.call('INCR', 'mr:joined'), id)
  redis.call('SADD', 'mr:waiting', tenant)
end
"""

_CLAIM = """
if redis.call('EXISTS', KEYS[3]) == 1 then return false end
local busy = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local tenant = redis.call('HGET', 'mr:job:' .. id, 'tenant')
  if tenant then busy[tenant] = (busy[tenant] or 0) + 1 end
end
local next_one, longest
for _, tenant in ipairs(redis.call('SMEMBERS', 'mr:waiting')) do
  local limit = tonumber(redis.call('HGET', 'mr:tenant:' .. tenant, 'max_running') or '')
  if not limit or (busy[tenant] or 0) < limit then
    local last = tonumber(redis.call('HGET', 'mr:turns', tenant) or 0)
    if not next_one or last < longest or (last == longest and tenant < next_one) then
      next_one, longest = tenant, last
    end
  end
end
if not next_one then return false end
local ready = 'mr:ready:' .. next_one
local id = redis.call('ZPOPMIN', ready)[1]
if redis.call('EXISTS', ready) == 0 then redis.call('SREM', 'mr:waiting', next_one) end
local claim = redis.call('INCR', KEYS[2])
redis.call('HSET', 'mr:turns', next_one, claim)
redis.call('HSET', 'mr:job:' .. id, 'state', 'running', 'worker', ARGV[3],
           'started_at', ARGV[1], 'claim', claim)
redis.call('ZADD', KEYS[1], ARGV[1] + ARGV[2], id)
return id
"""

_PROMOTE = (
    _JOIN
    + """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 100)
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  join(id)
end
return #due
"""
)

_REAP = (
    _JOIN
    + """
local lost = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
for _, id in ipairs(lost) do
  redis.call('ZREM', KEYS[1], id)
  join(id)
end
return lost
"""
)

_ADOPT = (
    _JOIN
    + """
local found = 0
while true do
  local id = redis.call('LPOP', KEYS[1])
  if not id then return found end
  if redis.call('HGET', 'mr:job:' .. id, 'state') == 'waiting' then
    join(id)
    found = found + 1
  end
end
"""
)

_CANCEL = """
local job = 'mr:job:' .. ARGV[1]
local state = redis.call('HGET', job, 'state')
if state == 'waiting' then
  local tenant = redis.call('HGET', job, 'tenant')
  redis.call('LREM', KEYS[1], 0, ARGV[1])
  redis.call('ZREM', 'mr:ready:' .. tenant, ARGV[1])
  if redis.call('EXISTS', 'mr:ready:' .. tenant) == 0 then redis.call('SREM', 'mr:waiting', tenant) end
elseif state == 'delayed' then redis.call('ZREM', KEYS[2], ARGV[1])
else return 0 end
redis.call('HSET', job, 'state', 'cancelled', 'finished_at', ARGV[2])
return 1
"""

''',
)
edit(
    "millrace/queue.py",
    (
        "        self._cancel = db.register_script(_CANCEL)\n",
        "        self._cancel = db.register_script(_CANCEL)\n"
        "        self._join = db.register_script(_JOIN + \"join(ARGV[1])\\n\")\n"
        "        self._reap = db.register_script(_REAP)\n"
        "        self._adopt = db.register_script(_ADOPT)\n",
    ),
    (
        '{"kind", "payload", "run_at", "delay_ms", "max_attempts"}',
        '{"kind", "payload", "run_at", "delay_ms", "max_attempts", "priority"}',
    ),
    (
        '        job_id = ids.new("j")\n',
        '        priority = body.get("priority", USUAL_PRIORITY)\n'
        "        if not _whole(priority) or not 0 <= priority <= 9:\n"
        '            raise Invalid("priority: 0 to 9", code="invalid_job")\n'
        '        job_id = ids.new("j")\n',
    ),
    (
        '            "max_attempts": attempts,\n',
        '            "max_attempts": attempts,\n            "priority": priority,\n',
    ),
    (
        "                batch.rpush(store.READY, job_id)\n            metrics.count(batch, tenant, \"submitted\")\n",
        "                self._join(args=[job_id], client=batch)\n"
        "            metrics.count(batch, tenant, \"submitted\")\n",
    ),
    (
        "            keys=[store.READY, store.RUNNING, store.CLAIMS, store.PAUSED],\n",
        "            keys=[store.RUNNING, store.CLAIMS, store.PAUSED],\n",
    ),
    (
        "self._promote(keys=[store.DELAYED, store.READY], args=[ids.now()])",
        "self._promote(keys=[store.DELAYED], args=[ids.now()])",
    ),
    ("MOST_ATTEMPTS = 10\n", "MOST_ATTEMPTS = 10\nUSUAL_PRIORITY = 5\n"),
)
between(
    "millrace/queue.py",
    "        lost = self.db.zrangebyscore(store.RUNNING",
    "    # What the operations desk does.",
    '''        return self._reap(keys=[store.RUNNING], args=[ids.now()])

    def adopt(self) -> int:
        """Take over the waiting jobs of older code; returns how many."""
        return self._adopt(keys=[store.READY])

''',
)
between(
    "millrace/queue.py",
    "    def overview(self) -> dict:",
    "def _when(",
    '''    def overview(self) -> dict:
        """How much there is of what."""
        shares = self.shares()
        return {
            "waiting": sum(row["waiting"] for row in shares.values()),
            "delayed": self.db.zcard(store.DELAYED),
            "running": self.db.zcard(store.RUNNING),
            "dead": self.db.llen(store.DEAD),
            "paused": bool(self.db.exists(store.PAUSED)),
            "tenants": shares,
        }

    def shares(self) -> dict[str, dict[str, int]]:
        """What each tenant has waiting and running; tenants with nothing are left out."""
        found: dict[str, dict[str, int]] = {}
        for tenant in sorted(self.db.smembers(store.WAITING)):
            if waiting := self.db.zcard(store.ready(tenant)):
                found[tenant] = {"waiting": waiting, "running": 0}
        for job_id in self.db.zrange(store.RUNNING, 0, -1):
            tenant = self.db.hget(store.job(job_id), "tenant")
            found.setdefault(tenant, {"waiting": 0, "running": 0})["running"] += 1
        return found


''',
)
edit(
    "millrace/jobs.py",
    ("    max_attempts: int\n", "    max_attempts: int\n    priority: int\n"),
    (
        '        max_attempts=int(row["max_attempts"]),\n',
        '        max_attempts=int(row["max_attempts"]),\n'
        '        priority=int(row.get("priority", 5)),\n',
    ),
)
edit(
    "millrace/metrics.py",
    (
        "for name, value in overview.items()]\n",
        'for name, value in overview.items() if name != "tenants"]\n',
    ),
)
edit(
    "millrace/scheduler.py",
    (
        '        self.log.write("up")\n',
        '        self.log.write("up")\n'
        "        if adopted := self.queue.adopt():\n"
        '            self.log.write("adopted", jobs=adopted)\n',
    ),
)
PY
