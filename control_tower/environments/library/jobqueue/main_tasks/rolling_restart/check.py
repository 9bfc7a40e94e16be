# ruff: noqa: F821  (names come from the preludes)
"""Restarts under traffic, with a job at work, with what cannot start, and from nothing."""

import re
import threading

CONF = "millrace.conf"
MODULES = ("millrace/worker.py", "millrace/api/routes.py", "millrace/scheduler.py")
HOLD = 1.2
MOST_BUSY = 60
BUSY = 3
"""Jobs at work when the queue is restarted; no deployment has fewer workers."""


class Traffic:
    """Asks and submits, again and again, and remembers what went wrong."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.wrong: list = []
        self.answered = 0
        self.submitted = 0
        self.stopped = threading.Event()
        self.busy: list = []
        self.threads = [
            threading.Thread(target=one) for one in (self.ask, self.submit, self.keep_busy)
        ]

    def __enter__(self) -> "Traffic":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def ask(self) -> None:
        while not self.stopped.wait(0.03):
            self.one(200, "GET", "/v1/usage", None)

    def submit(self) -> None:
        body = {"kind": "meter", "payload": {"meter": "traffic", "add": 1}}
        while not self.stopped.wait(0.15):
            if self.one(201, "POST", "/v1/jobs", body):
                self.submitted += 1

    def keep_busy(self) -> None:
        """See to it that workers have a job at hand, whenever it is that they are replaced."""
        while len(self.busy) < MOST_BUSY and not self.stopped.wait(0.35):
            try:
                self.busy.append(self.tenant.webhook(f"hold={HOLD}"))
            except Wrong as error:
                self.wrong.append(str(error))

    def one(self, status: int, *what: object) -> bool:
        try:
            answer = call(*what, token=self.tenant.token)
        except Wrong as error:
            self.wrong.append(str(error))
            return False
        if answer.status != status:
            self.wrong.append(f"{what[0]} {what[1]}: {answer}")
            return False
        self.answered += 1
        return True


def health() -> dict:
    """What /health says."""
    return ok("GET", "/health", token=None)


def changed(conf: str, **settings: str) -> bytes:
    """The settings with other values."""
    for name, value in settings.items():
        conf, times = re.subn(rf"(?m)^{name}\s*=.*$", f"{name} = {value}", conf)
        expect(times == 1, f"{CONF}: expected one setting {name}")
    return conf.encode()


def workers_of(conf: str) -> int:
    """How many workers the settings ask for."""
    return int(re.search(r"(?m)^count\s*=\s*(\d+)", conf)[1])


def alive(pid: int) -> bool:
    """Whether a process of the agent's is there; one that has ended but was not reaped is not."""
    state = as_agent(["sh", "-c", 'sed "s/.*) //" "/proc/$0/stat"', str(pid)])[1][:1]
    return state not in (b"", b"Z", b"X")


def new_workers(old: set, count: int, seconds: float = 30) -> set:
    """The processes of the workers, which have to be so many, and others than before."""
    names = {f"w{number}" for number in range(1, count + 1)}

    def settled() -> set:
        listed = {one["name"]: one["pid"] for one in workers()}
        named = {name: pid for name, pid in listed.items() if re.fullmatch(r"w\d+", name)}
        pids = set(named.values())
        good = named.keys() == names and len(pids) == count and not pids & old
        return pids if good and all(alive(pid) for pid in pids) else set()

    pids = wait(settled, seconds)
    told = f"/v1/admin/workers does not list w1 to w{count}, and no other, with new processes that live"
    expect(pids, told)
    return pids


def one_front_end(not_this: int) -> dict:
    """Only one process answers, another one than before, which has ended."""
    seen = [health() for _ in range(12)]
    pids = {one["pid"] for one in seen}
    expect(not_this not in pids, "after restart.sh, the old front end still answers")
    expect(wait(lambda: not alive(not_this), 15), "the old front end has not ended")
    expect(len(pids) == 1, f"after restart.sh, {len(pids)} front ends answer in turn")
    return seen[0]


def works(tenant: Tenant, what: str) -> None:
    """Jobs are run, delayed ones too, and each once."""
    jobs = [tenant.meter("works"), tenant.meter("works", delay_ms=300), tenant.webhook()]
    for job_id in jobs:
        same(f"{what}: attempts", tenant.finished(job_id, what)["attempts"], 1)


def unnoticed(tenant: Tenant, conf: str) -> str:
    """A restart with other settings under traffic; returns the new label."""
    label = f"check-{RNG.randrange(10**6)}"
    out = f"var/out-{label}"
    at_end(lambda: as_agent(["rm", "-rf", "--", out]))
    before, old, count = health(), {one["pid"] for one in workers()}, workers_of(conf) + 1
    write_file(CONF, changed(conf, label=label, out=out, count=str(count)))
    with Traffic(tenant) as traffic:
        expect(wait(lambda: len(tenant.arrived()) >= BUSY, 30), "webhooks are not sent")
        restart()
        time.sleep(2.3)  # within two seconds the old front end has ended
    expect(not traffic.wrong, f"{len(traffic.wrong)} requests failed, {traffic.wrong[:1]}")
    expect(traffic.answered > 10, f"only {traffic.answered} requests were answered meanwhile")
    same("label after restart.sh", one_front_end(before["pid"]).get("label"), label)
    new_workers(old, count)
    digests = [tenant.submit("digest", {"name": f"d{n}"}) for n in range(4 * count)]
    for job_id in traffic.busy:
        job = tenant.finished(job_id, "a job at work during restart.sh")
        same("attempts of a job at work during restart.sh", job["attempts"], 1)
    runs = [one["headers"].get("x-millrace-job") for one in tenant.arrived()]
    twice = [job_id for job_id in traffic.busy if runs.count(job_id) != 1]
    same("jobs at work during restart.sh that were not run once", twice, [])
    for job_id in digests:
        file = tenant.finished(job_id, "a job after restart.sh")["result"]["file"]
        expect(file.startswith(f"{out}/"), "after restart.sh, a worker has the old settings")
    expect(wait(lambda: not any(map(alive, old)), 20), "an old worker has not ended after its job")
    new_workers(old, count, 10)
    total = wait(lambda: tenant.usage()["meters"].get("traffic") == traffic.submitted, 10)
    expect(total, "of the jobs submitted meanwhile, not each was run once")
    works(tenant, "a job after restart.sh")
    return label


def or_nothing(tenant: Tenant, conf: str, label: str) -> None:
    """What cannot start leaves all as it is."""
    good = read_file(CONF)
    module = RNG.choice(MODULES)
    source = read_file(module)
    expect(source is not None, f"{module}: expected a file")
    at_end(lambda: write_file(module, source))
    broken_code = source + RNG.choice((b"\nraise ImportError('broken')\n", b"\ndef (:\n"))
    cases = (
        ("broken settings", CONF, good, changed(conf, label="bad", count="three")),
        ("a broken module", module, source, broken_code),
    )
    for what, path, right, wrong in cases:
        # One that has ended is listed for a while.
        before, old = health(), {one["pid"] for one in workers() if alive(one["pid"])}
        write_file(path, wrong)
        code, _, errors = run(["sh", "restart.sh"], RESTART_SECONDS)
        expect(code != 0, f"restart.sh with {what} ({path}): expected another code than 0")
        expect(errors.strip(), f"restart.sh with {what}: expected a message")
        same(f"front end after restart.sh with {what}", health(), before)
        works(tenant, f"a job after restart.sh with {what}")
        gone = [pid for pid in old if not alive(pid)]
        same(f"workers that are gone after restart.sh with {what}", gone, [])
        write_file(path, right)
    same("label after a restart that failed", health().get("label"), label)


def supervisor() -> int:
    """The number of the supervisor."""
    words = (read_file("var/run/supervisor.pid") or b"").split()
    good = words and words[0].isdigit() and alive(int(words[0]))
    expect(good, "var/run/supervisor.pid does not begin with the number of a process")
    return int(words[0])


def from_nothing(tenant: Tenant, count: int) -> None:
    """A killed supervisor, and what it leaves behind."""
    before, old = health(), {one["pid"] for one in workers()}
    killed = supervisor()
    send_signal(killed, "KILL")
    wait(lambda: not alive(killed), 5)
    restart()
    one_front_end(before["pid"])
    new_workers(old, count)
    expect(wait(lambda: not any(map(alive, old)), 20), "workers of a killed supervisor are left")
    works(tenant, "a job after a start from nothing")
    victim = health()["pid"]
    send_signal(victim, "KILL")
    back = wait(lambda: replaced(victim), 15)
    expect(back, "a front end that was killed is not started again")


def children(pid: int) -> set:
    """The processes that one has started: front end, scheduler and workers."""
    stats = as_agent(["sh", "-c", "cat /proc/[0-9]*/stat"])[1].decode("utf-8", "replace")
    found = re.findall(r"(?m)^(\d+) \(.*\) \S (\d+) ", stats)
    return {int(child) for child, parent in found if int(parent) == pid}


def ended(tenant: Tenant) -> None:
    """A supervisor that is told to end, and all that it has started with it."""
    first = supervisor()
    all_of_it = {first, health()["pid"], *(one["pid"] for one in workers()), *children(first)}
    send_signal(first, "TERM")
    gone = wait(lambda: not any(map(alive, all_of_it)), 15)
    expect(gone, "SIGTERM to the supervisor does not end everything within 10 seconds")
    restart()
    works(tenant, "a job after an end and a start")


def replaced(pid: int) -> bool:
    """Whether another process answers."""
    try:
        return health().get("pid") != pid
    except Wrong:
        return False


def check() -> str:
    """All of the ticket."""
    ensure_running()
    conf = (read_file(CONF) or b"").decode("utf-8", "replace")
    as_before: list = []
    at_end(lambda: as_before or restart())
    at_end(lambda: write_file(CONF, conf.encode()))
    tenant = Tenant()
    label = unnoticed(tenant, conf)
    or_nothing(tenant, conf, label)
    write_file(CONF, conf.encode())
    from_nothing(tenant, workers_of(conf))
    ended(tenant)
    as_before.append(True)
    return "restarts lose no request and no job, what cannot start changes nothing"


decide(check)
