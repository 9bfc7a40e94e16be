# ruff: noqa: F821  (names come from the preludes)
"""Leases and ends of workers: kill, end and stop workers at work, and count what arrives."""

LONG = 12
"""Seconds; the lease is 4, and no one lease is longer than this and shorter than a rerun takes."""
LOST = {
    "mrt_alder_0916a7570cca0f61fd0c4751fc713e42": ("j_19f3c07be2a85d64", "j_a40d6e9155c7b382"),
    "mrt_eastfield_9e6ac5ca81b916db10d09ef796c5c421": ("j_7be2051ff6c39da8",),
}
"""By the tenants' tokens."""


def begun(tenant: Tenant, job_id: str, runs: int, seconds: float = 40) -> list:
    """The requests of a job's runs, once there are as many."""

    def enough() -> list:
        seen = [one for one in tenant.arrived() if one["headers"].get("x-millrace-job") == job_id]
        return seen if len(seen) >= runs else []

    seen = wait(enough, seconds)
    expect(seen, f"a job was not run for the {'first' if runs == 1 else 'second'} time")
    return seen


def counted(tenant: Tenant, what: str, **wanted: int) -> None:
    """The tenant's counters."""
    counters = tenant.usage()["counters"]
    seen = {name: counters.get(name) for name in wanted}
    same(f"{what}: counters", seen, wanted)


def long_and_deadly(tenants: tuple) -> None:
    """A job longer than its lease, and one whose worker is killed in each of its two attempts."""
    slow, deadly = tenants
    long = slow.webhook(f"hold={LONG}")
    poison = deadly.webhook("hold=25", max_attempts=2)
    begun(slow, long, 1)
    begun(deadly, poison, 1)
    same("attempts of a job in its first run", deadly.job(poison)["attempts"], 1)
    first = pid_of(poison)
    send_signal(first, "KILL")
    killed = time.monotonic()
    begun(deadly, poison, 2)
    soon = time.monotonic() - killed < LONG - 1
    expect(soon, "a job whose worker has died waits longer for another than its lease is long")
    same("attempts of a job whose worker has died, in its second run", deadly.job(poison)["attempts"], 2)
    send_signal(pid_of(poison, [first]), "KILL")
    job = deadly.finished(poison, "a job whose worker died in its last attempt", "failed")
    same("error of a job whose worker died in its last attempt", job["error"], "worker lost")
    same("attempts of a job whose worker died twice", job["attempts"], 2)
    counted(deadly, "a job whose worker died twice", done=0, failed=1)
    code, out, _ = run([sys.executable, "-m", "millrace.admin", "dead", "--limit", "50"])
    expect(code == 0 and poison in out, "admin dead does not list the job whose worker died twice")
    job = slow.finished(long, "a job longer than its lease")
    same("attempts of a job longer than its lease", job["attempts"], 1)


def late_and_stopped(tenants: tuple) -> None:
    """A worker that was stopped, and comes back when another has its job; one that is to end."""
    late, ending, brief = tenants
    refused = late.webhook("hold=4&fail=1")
    cut = ending.webhook("hold=6", max_attempts=1)
    begun(late, refused, 1)
    frozen = pid_of(refused)
    at_end(lambda: send_signal(frozen, "CONT"))
    send_signal(frozen, "STOP")
    begun(ending, cut, 1)
    send_signal(pid_of(cut), "TERM")
    survivor = brief.webhook("hold=0.1", max_attempts=1)
    begun(late, refused, 2)
    # It now reads that its own request was refused, while another one is at work on the job.
    send_signal(frozen, "CONT")
    job = late.finished(refused, "a job that another worker took over")
    job = ending.finished(cut, "a job whose worker was told to stop")
    same("attempts of a job whose worker was told to stop", job["attempts"], 1)
    brief.finished(survivor, "a job that was submitted meanwhile")
    time.sleep(2)
    job = late.job(refused)
    same("state of a job that another worker took over", job["state"], "done")
    same("attempts of a job that another worker took over", job["attempts"], 2)
    same("runs of a job that another worker took over", len(late.arrived()), 2)
    counted(late, "a job that another worker took over", done=1, failed=0, retried=0)
    counted(ending, "a job whose worker was told to stop", done=1, failed=0)


def found_again() -> None:
    """The jobs that were lost before."""
    for token, lost in LOST.items():
        for job_id in lost:
            Tenant(token).finished(job_id, f"{job_id}, lost in an earlier deployment", seconds=10)


def check() -> str:
    """All of the ticket."""
    ensure_running()
    found_again()
    slow, deadly = Tenant(), Tenant()
    long_and_deadly((slow, deadly))
    late_and_stopped((Tenant(), Tenant(), Tenant()))
    same("runs of a job longer than its lease", len(slow.arrived()), 1)
    same("runs of a job whose worker died twice", len(deadly.arrived()), 2)
    idle = wait(lambda: ok("GET", "/v1/admin/queue")["running"] == 0, 5)
    expect(idle, "jobs are counted as running when all have ended")
    return "long jobs run once, killed, ended and late workers lose and spoil none, lost ones are back"


decide(check)
