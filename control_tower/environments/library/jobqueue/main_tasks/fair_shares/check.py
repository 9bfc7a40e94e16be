# ruff: noqa: F821  (names come from the preludes)
"""Fair shares: the order in which jobs are taken, how many run at once, and what is left of the old."""

import redis

PASSWORD = "7Qm2vXbRkd0pLtYs9uGe"
BUSY = 3
"""Workers."""
HOLD = 2.5
SOON = 3.4
"""Seconds; leases are 4."""


class Model:
    """Who should come next, by the rule."""

    def __init__(self, tenants: list) -> None:
        self.ready = {tenant.id: [] for tenant in tenants}
        self.last = dict.fromkeys(self.ready, 0)
        self.turns = 0
        self.joined = 0

    def add(self, tenant: Tenant, job_id: str, priority: int) -> None:
        self.joined += 1
        self.ready[tenant.id].append((-priority, self.joined, job_id))

    def order(self) -> list:
        found = []
        while any(self.ready.values()):
            who = min((name for name in self.ready if self.ready[name]), key=self.turn)
            first = min(self.ready[who])
            self.ready[who].remove(first)
            self.turns += 1
            self.last[who] = self.turns
            found.append(first[2])
        return found

    def turn(self, name: str) -> tuple:
        return self.last[name], name


def paused() -> None:
    """No job is taken from now on."""
    same("paused", ok("POST", "/v1/admin/pause").get("paused"), True)


def resumed() -> None:
    """Jobs are taken again."""
    ok("POST", "/v1/admin/resume")


def taken(owners: dict) -> list:
    """The ids of jobs in the order in which they were taken, once all are done."""
    claims = {}
    for job_id, tenant in owners.items():
        claims[job_id] = tenant.finished(job_id, "a job")["claim"]
    whole = all(type(claim) is int for claim in claims.values())
    expect(whole and len(set(claims.values())) == len(claims), "claim does not number the runs")
    return sorted(claims, key=claims.get)


def one_round(tenants: list, model: Model, sizes: tuple, what: str) -> None:
    """Fill the paused queue, and see in which order it empties."""
    paused()
    owners: dict = {}
    wanted: dict = {}
    plan = [tenant for tenant, size in zip(tenants, sizes) for _ in range(size)]
    RNG.shuffle(plan)
    for tenant in plan:
        priority = RNG.choice((None, None, 0, 2, 5, 8))
        more = {} if priority is None else {"priority": priority}
        job_id = tenant.meter(**more)
        owners[job_id], wanted[job_id] = tenant, 5 if priority is None else priority
        model.add(tenant, job_id, wanted[job_id])
    late = tenants[1]
    urgent = late.meter(delay_ms=100, priority=9)
    ready = wait(lambda: late.job(urgent)["state"] == "waiting", 30)
    expect(ready, f"{what}: a delayed job does not become waiting while the queue is paused")
    owners[urgent], wanted[urgent] = late, 9
    model.add(late, urgent, 9)
    gone = tenants[0].meter(priority=9)
    ok("POST", f"/v1/jobs/{gone}/cancel", token=tenants[0].token)
    shown = overview([tenant.id for tenant in tenants])
    counts = {tenant.id: plan.count(tenant) + (tenant is late) for tenant in tenants}
    same(f"{what}: tenants of /v1/admin/queue", shown, {n: (c, 0) for n, c in counts.items() if c})
    some = RNG.choice(list(owners))
    same(f"{what}: priority of a job", owners[some].job(some).get("priority"), wanted[some])
    resumed()
    seen = taken(owners)
    for number, (ours, theirs) in enumerate(zip(model.order(), seen), 1):
        about = {job_id: f"{owners[job_id].id} with priority {wanted[job_id]}" for job_id in owners}
        told = f"expected a job of {about[ours]}, saw one of {about[theirs]}"
        expect(ours == theirs, f"{what}, turn {number} of {len(seen)}: {told}")
    same(f"{what}: state of a cancelled job", tenants[0].job(gone)["state"], "cancelled")


def overview(names: list) -> dict:
    """What the overview says of some tenants."""
    seen = ok("GET", "/v1/admin/queue")
    rows = seen.get("tenants")
    expect(isinstance(rows, dict), "/v1/admin/queue has no object `tenants`")
    total = sum(row["waiting"] for row in rows.values())
    same("waiting of /v1/admin/queue", seen["waiting"], total)
    return {name: (rows[name]["waiting"], rows[name]["running"]) for name in names if name in rows}


def most_at_once(arrivals: list) -> int:
    """How many requests were at a receiver at the same time, at most."""
    return max(
        sum(other["begun"] <= one["begun"] < other["ended"] for other in arrivals)
        for one in arrivals
    )


def forms() -> None:
    """What is no priority, and what is no limit."""
    tenant = Tenant()
    for value in (-1, 10, "5", True, 2.5, None, [1]):
        body = {"kind": "meter", "payload": {"meter": "m", "add": 1}, "priority": value}
        answer = call("POST", "/v1/jobs", body, token=tenant.token)
        seen = (answer.status, answer.code)
        expect(seen == (400, "invalid_job"), f"priority {value!r}: expected 400, saw {answer}")
    where = f"/v1/admin/tenants/{tenant.id}"
    for value in (0, -1, 1001, "3", True, 1.5):
        answer = call("PATCH", where, {"max_running": value})
        seen = (answer.status, answer.code)
        expect(seen == (400, "invalid_tenant"), f"max_running {value!r}: expected 400, saw {answer}")
    for value in (7, None):
        same("max_running that was set", ok("PATCH", where, {"max_running": value}).get("max_running"), value)
    body = {"id": f"{tenant.id}-b", "name": "B", "plan": "plus", "max_running": 2}
    ok("POST", "/v1/admin/tenants", body, status=201)
    listed = {one["id"]: one for one in ok("GET", "/v1/admin/tenants")["items"]}
    seen = [listed[name].get("max_running", "none") for name in (tenant.id, body["id"], "wharfe")]
    same("max_running in the list of tenants", seen, [None, 2, None])
    ok("PATCH", where, {"plan": "basic"})


def limits() -> None:
    """Limits hold, hold up nobody else, and can be changed at any time."""
    narrow, wide = Tenant(), Tenant()
    where = f"/v1/admin/tenants/{narrow.id}"
    ok("PATCH", where, {"max_running": 1})
    paused()
    jobs = [narrow.webhook("hold=0.6", priority=9) for _ in range(4)]
    others = [wide.webhook("hold=0.6", priority=0) for _ in range(6)]
    resumed()
    for job_id in others:
        wide.finished(job_id, "a job of a tenant without a limit")
    for job_id in jobs:
        narrow.finished(job_id, "a job of a tenant with a limit")
    same("jobs at once of a tenant with max_running 1", most_at_once(narrow.arrived()), 1)
    expect(most_at_once(wide.arrived()) > 1, "a tenant without a limit is held up by one that has one")
    ok("PATCH", where, {"max_running": None})
    jobs = [narrow.webhook("hold=0.8") for _ in range(6)]
    for job_id in jobs:
        narrow.finished(job_id, "a job of a tenant whose limit was taken back")
    expect(most_at_once(narrow.arrived()) > 1, "a limit that was taken back still holds")
    lowered()


def lowered() -> None:
    """A limit that is set while more jobs run than it allows."""
    for _ in range(5):
        if lowered_in_time():
            return
    raise Wrong("a tenant without a limit does not get all workers at once")


def lowered_in_time() -> bool:
    """Whether it could be tried: not if one of the jobs has ended before the limit is set."""
    tenant = Tenant()
    jobs = [tenant.webhook(f"hold={HOLD}") for _ in range(BUSY + 2)]
    wait(lambda: sum(one["ended"] is None for one in tenant.arrived()) >= BUSY, 2 * HOLD)
    ok("PATCH", f"/v1/admin/tenants/{tenant.id}", {"max_running": 1})
    seen = tenant.arrived()
    in_time = len(seen) == BUSY and all(one["ended"] is None for one in seen)
    for job_id in jobs:
        tenant.finished(job_id, "a job of a tenant whose limit was lowered")
    order = sorted(tenant.arrived(), key=lambda one: one["begun"])
    for number, one in enumerate(order[BUSY:] if in_time else [], BUSY):
        still = sum(other["ended"] > one["begun"] for other in order[:number])
        same("jobs still at work when one begins, after a limit of 1 was set", still, 0)
    return in_time


def freed() -> None:
    """A worker that dies, and a job that fails, leave their slots to others."""
    for _ in range(5):
        if freed_by_a_death():
            return
    raise Wrong("no worker that runs a job is listed before the lease of its job runs out")


def freed_by_a_death() -> bool:
    """Whether it could be tried: not if the lease has run out before the worker dies."""
    tenant = Tenant()
    ok("PATCH", f"/v1/admin/tenants/{tenant.id}", {"max_running": 1})
    first = tenant.webhook("first=25")
    arrivals = wait(tenant.arrived, 30)
    expect(arrivals, "a webhook was not sent")
    refused = tenant.webhook("status=410", priority=6)
    last = tenant.meter()
    seen = overview([tenant.id])
    in_time = time.time() - arrivals[0]["begun"] < SOON
    if in_time:
        same("tenant with a limit in /v1/admin/queue", seen, {tenant.id: (2, 1)})
        with suppress(Wrong):
            send_signal(pid_of(first, seconds=2), "KILL")
        in_time = time.time() - arrivals[0]["begun"] < SOON
    tenant.finished(first, "a job whose worker was killed")
    tenant.finished(refused, "a job that fails", "failed")
    tenant.finished(last, "a job of a tenant with a limit, after a worker died")
    same("tenant with nothing left in /v1/admin/queue", overview([tenant.id]), {})
    return in_time


def left_by_the_old() -> None:
    """Jobs in the old list are found at the next start."""
    db = redis.Redis("redis", password=PASSWORD, decode_responses=True, socket_timeout=10)
    tenant = Tenant()
    paused()
    now = int(time.time() * 1000)
    old = [f"j_{RNG.randrange(16**16):016x}" for _ in range(3)]
    for job_id in old:
        row = {"id": job_id, "tenant": tenant.id, "kind": "meter", "state": "waiting", "attempts": 0}
        row |= {"payload": json.dumps({"meter": "old", "add": 1}), "max_attempts": 4}
        db.hset(f"mr:job:{job_id}", mapping={**row, "submitted_at": now, "run_at": now})
        db.zadd(f"mr:jobs:{tenant.id}", {job_id: now})
        db.rpush("mr:ready", job_id)
    db.close()
    code, _, errors = run(["sh", "restart.sh"], RESTART_SECONDS)
    expect(code == 0, f"restart.sh: expected exit 0, saw {code}: {errors.strip()[-120:]}")
    high, low = tenant.meter(priority=6), tenant.meter(priority=4)
    # The front end answers before what was waiting is taken over, if that is the scheduler's.
    all_there = wait(lambda: overview([tenant.id]) == {tenant.id: (len(old) + 2, 0)}, 30)
    expect(all_there, "after restart.sh, jobs of the old layout are not among those that wait")
    resumed()
    owners = dict.fromkeys([high, low, *old], tenant)
    seen = taken(owners)
    same("old jobs among those with priority 6 and 4", seen, [high, *old, low])
    same("priority of an old job", tenant.job(old[0]).get("priority"), 5)


def metrics() -> None:
    """The lines are as before."""
    answer = call("GET", "/metrics")
    expect(answer.status == 200, f"GET /metrics: expected 200, saw {answer}")
    lines = [line.split()[0] for line in answer.body.splitlines() if "{" not in line]
    wanted = [f"millrace_{name}" for name in ("waiting", "delayed", "running", "dead", "paused")]
    same("lines of /metrics without a tenant", lines, wanted)
    code, out, _ = run([sys.executable, "-m", "millrace.admin", "queue"])
    expect(code == 0 and "tenants" in json.loads(out), "admin queue does not show tenants")


def check() -> str:
    """All of the ticket."""
    ensure_running()
    at_end(resumed)
    forms()
    tenants = [Tenant() for _ in range(3)]
    model = Model(tenants)
    for number, sizes in enumerate(((7, 2, 4), (0, 3, 5), (3, 1, 2)), 1):
        one_round(tenants, model, sizes, f"round {number}")
    limits()
    freed()
    metrics()
    left_by_the_old()
    return "tenants take turns, priorities and limits hold, old jobs are run"


decide(check)
