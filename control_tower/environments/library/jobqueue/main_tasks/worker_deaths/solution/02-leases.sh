set -euo pipefail
# All ends of a run become scripts that do nothing unless the run still has the job.
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
    "millrace/queue.py",
    (
        "           'started_at', ARGV[1], 'claim', claim)\n",
        "           'started_at', ARGV[1], 'claim', claim)\n"
        "redis.call('HINCRBY', 'mr:job:' .. id, 'attempts', 1)\n",
    ),
    (
        '_PROMOTE = """',
        '''# A run has its job as long as the job is running under the run's claim.
_OURS = """
local job = 'mr:job:' .. ARGV[1]
local function ours()
  return redis.call('HGET', job, 'state') == 'running'
    and redis.call('HGET', job, 'claim') == ARGV[2]
end
"""

_RENEW = (
    _OURS
    + """
if not ours() then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
"""
)

# The new fields of the job come as names and values from ARGV[4] on.
_END = (
    _OURS
    + """
if not ours() then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HSET', job, unpack(ARGV, 4))
local state = redis.call('HGET', job, 'state')
if state == 'delayed' then redis.call('ZADD', KEYS[2], redis.call('HGET', job, 'run_at'), ARGV[1]) end
if state == 'failed' then redis.call('LPUSH', KEYS[3], ARGV[1]) end
if state == 'waiting' then
  redis.call('HINCRBY', job, 'attempts', -1)
  redis.call('RPUSH', KEYS[4], ARGV[1])
end
if ARGV[3] ~= '' then
  redis.call('HINCRBY', 'mr:count:' .. redis.call('HGET', job, 'tenant'), ARGV[3], 1)
end
return 1
"""
)

_REAP = """
local gone = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do
  local job = 'mr:job:' .. id
  redis.call('ZREM', KEYS[1], id)
  if redis.call('HGET', job, 'state') == 'running' then
    local made = tonumber(redis.call('HGET', job, 'attempts'))
    if made >= tonumber(redis.call('HGET', job, 'max_attempts')) then
      redis.call('HSET', job, 'state', 'failed', 'finished_at', ARGV[1], 'error', 'worker lost')
      redis.call('LPUSH', KEYS[3], id)
      redis.call('HINCRBY', 'mr:count:' .. redis.call('HGET', job, 'tenant'), 'failed', 1)
    else
      redis.call('HSET', job, 'state', 'waiting')
      redis.call('RPUSH', KEYS[2], id)
    end
    gone[#gone + 1] = id
  end
end
return gone
"""

_RESCUE = """
local job = 'mr:job:' .. ARGV[1]
if redis.call('HGET', job, 'state') ~= 'running' then return 0 end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('HSET', job, 'state', 'waiting')
redis.call('RPUSH', KEYS[2], ARGV[1])
return 1
"""

_PROMOTE = """''',
    ),
    (
        "        self._cancel = db.register_script(_CANCEL)\n",
        "        self._cancel = db.register_script(_CANCEL)\n"
        "        self._renew = db.register_script(_RENEW)\n"
        "        self._end = db.register_script(_END)\n"
        "        self._reap = db.register_script(_REAP)\n"
        "        self._rescue = db.register_script(_RESCUE)\n",
    ),
)
between(
    "millrace/queue.py",
    "    def finish(self, job",
    "    # What the scheduler does.",
    '''    def renew(self, job: jobs.Job) -> bool:
        """Make the lease last again; returns whether the job is still this run's."""
        until = ids.now() + self.settings.lease_ms
        return bool(self._renew(keys=[store.RUNNING], args=[job.id, job.claim, until]))

    def finish(self, job: jobs.Job, result: dict) -> bool:
        """The job has done its work; returns whether it was still this run's."""
        fields = {"finished_at": ids.now(), "result": json.dumps(result), "error": ""}
        return self._ended(job, "done", "done", fields)

    def fail(self, job: jobs.Job, error: str, *, permanent: bool = False) -> str:
        """The job could not do its work; returns its new state."""
        now = ids.now()
        if permanent or job.attempts >= job.max_attempts:
            state, counter, fields = "failed", "failed", {"finished_at": now, "error": error}
        else:
            run_at = now + delay_ms(self.settings, job.attempts)
            state, counter, fields = "delayed", "retried", {"run_at": run_at, "error": error}
        return state if self._ended(job, state, counter, fields) else "lost"

    def release(self, job: jobs.Job) -> bool:
        """Put a job back whose run was cut off by us; that was no attempt."""
        return self._ended(job, "waiting", "", {})

    def _ended(self, job: jobs.Job, state: str, counter: str, fields: dict) -> bool:
        pairs = [part for pair in {"state": state, **fields}.items() for part in pair]
        keys = [store.RUNNING, store.DELAYED, store.DEAD, store.READY]
        return bool(self._end(keys=keys, args=[job.id, job.claim, counter, *pairs]))

''',
)
between(
    "millrace/queue.py",
    "    def reap(self)",
    "    # What the operations desk does.",
    '''    def reap(self) -> list[str]:
        """Take the jobs whose lease has run out from their workers; returns their ids."""
        return self._reap(keys=[store.RUNNING, store.READY, store.DEAD], args=[ids.now()])

    def rescue(self) -> list[str]:
        """Put back the jobs that are running and that nobody has; returns their ids."""
        found = []
        for key in self.db.scan_iter("mr:job:*", count=500):
            job_id = key.removeprefix(store.job(""))
            if self.db.hget(key, "state") == "running" and self._rescue(
                keys=[store.RUNNING, store.READY], args=[job_id]
            ):
                found.append(job_id)
        return found

''',
)
edit(
    "millrace/scheduler.py",
    (
        '        self.log.write("up")\n',
        '        self.log.write("up")\n'
        "        for job_id in self.queue.rescue():\n"
        '            self.log.write("rescued", job=job_id)\n',
    ),
)
edit(
    "millrace/worker.py",
    (
        "        threading.Thread(target=self._beat_for_ever, daemon=True).start()\n",
        "        threading.Thread(target=self._beat_for_ever, daemon=True).start()\n"
        "        threading.Thread(target=self._renew_for_ever, daemon=True).start()\n",
    ),
    (
        "            self.queue.finish(job, result)\n            state = \"done\"\n",
        '            state = "done" if self.queue.finish(job, result) else "lost"\n',
    ),
    (
        "    def _beat_for_ever(self)",
        '''    def _renew_for_ever(self) -> None:
        """Keep the lease of the job at hand."""
        while True:
            job = self.job
            try:
                if job is not None:
                    self.queue.renew(job)
            except redis.RedisError as error:
                self.log.write("no_lease", error=error)
            time.sleep(self.settings.lease_ms / 5000)

    def _beat_for_ever(self)''',
    ),
)
PY
