# ruff: noqa: F821  (names come from the preludes)
"""Nights that fail, hang and are killed, beside undisturbed ones."""

import time
from collections import Counter

KILLED = ("collect", "invoices", "partner-export", "watch", "report")
NIGHT, NEXT = "2024-02-28", "2024-02-29"
PAST = "2024-02-27"
REFUSED_SECONDS = 8

# Like a power failure: kills all that runs on this root. Each NAME does so only once.
CRASH = r"""
import os, signal, sys, time

root = os.environ["BATCH_ROOT"]
mark = os.path.join(root, "crashed-" + sys.argv[1])
if os.path.exists(mark):
    sys.exit(0)
open(mark, "w").close()
time.sleep(float(sys.argv[2]))
wanted = b"bin/night" if len(sys.argv) > 3 else b""
mine, found = os.getpid(), []
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            of_root = b"BATCH_ROOT=" + root.encode() in stream.read().split(b"\0")
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            of_root = of_root and wanted in stream.read()
        if of_root and pid != mine:
            os.kill(pid, signal.SIGSTOP)
            found.append(pid)
    except OSError:
        pass
for pid in [*found, mine]:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
"""


def status(root: "Root", jobs: str) -> tuple:
    """What --status says: its lines, and whether its exit code is 0."""
    code, out, _ = root.run("bash", "bin/night", "--status", NIGHT, BATCH_JOBS=jobs)
    expect(code in (0, 1), f"bin/night --status: expected exit 0 or 1, saw {code}")
    return out.split(), code == 0


def ran(root: "Root") -> str:
    """The names of the jobs that have run so far."""
    return root.tree("ran").get("ran", b"").decode().replace("\n", "")


def checkpoints(root: "Root") -> None:
    """Jobs that fail and get better."""
    note = 'echo {0} >>"$BATCH_ROOT/ran"'
    needs = f'{note}; [ -e "$BATCH_ROOT/ok-{{0}}" ]'
    lines = [f"a must {note}", f"b may {needs}", f"c must {needs}", f"d may {note}", f"e must {note}"]
    text = "# jobs\n\n" + "".join(line.format(line[0]) + "\n" for line in lines)
    root.put_all({"jobs.list": text, "state/night.lock": "999999\n"})
    jobs = f"{root.path}/jobs.list"

    def go(what: str, code: int, names: str, *argv: str) -> None:
        before = ran(root)
        seen, _, errors = root.run("bash", "bin/night", *argv, BATCH_JOBS=jobs)
        expect(seen == code, f"{what}: expected exit {code}, saw {seen}: {errors.strip()[-90:]}")
        same(f"{what}: jobs that ran", ran(root)[len(before) :], names)

    go("a night whose second and third job fail", 1, "abc", NIGHT)
    same("status after it", status(root, jobs), ("a done b failed c failed d open e open".split(), False))
    go("another night", 1, "abc", NEXT)
    root.put_all({"ok-c": ""})
    go("the same night, the third being well", 1, "bcde", NIGHT)
    same("status after it", status(root, jobs), ("a done b failed c done d done e done".split(), False))
    root.put_all({"ok-b": ""})
    go("the night, all being well", 0, "b", NIGHT)
    same("status after it", status(root, jobs), ("a done b done c done d done e done".split(), True))
    before = [subject for _, subject, _ in root.mails()]
    go("a night that is done", 0, "", NIGHT)
    go("again from a job on", 0, "cde", "--again", NIGHT, "c")
    go("again from a job that is not there", 64, "", "--again", NIGHT, "x")
    go("again as a whole", 0, "abcde", "--again", NEXT)
    go("a date that is none", 64, "", "2024-02-30")
    after = [subject for _, subject, _ in root.mails()]
    same("mails of nights without failures", after, before)
    same("mails of failures", sorted(set(before)), [f"FAILED {n}, night {d}" for n, d in
         (("b", NIGHT), ("b", NEXT), ("c", NIGHT), ("c", NEXT))])


def wait_for(root: "Root", name: str) -> None:
    """Wait until a file is there."""
    for _ in range(60):
        if name in root.tree(name):
            return
        time.sleep(0.1)
    raise Wrong(f"a night that was started has not come to its job within some seconds ({name})")


def locks(root: "Root") -> None:
    """A night that hangs, is killed, and leaves a job behind."""
    hang = 'echo h >>"$BATCH_ROOT/ran"; touch "$BATCH_ROOT/at-h"; n=0; '
    hang += 'until [ -e "$BATCH_ROOT/go" ] || [ $n -gt 200 ]; do sleep 0.1; n=$((n + 1)); done'
    root.put_all({"jobs.list": f"a must true\nh must {hang}\nz must true\n"})
    jobs = f"{root.path}/jobs.list"
    child = root.start("bash", "bin/night", NIGHT, BATCH_JOBS=jobs)
    try:
        wait_for(root, "at-h")
        for date in (NIGHT, NEXT):
            before, begin = root.tree("state", "spool", "out"), time.monotonic()
            code, _, errors = root.run("bash", "bin/night", date, BATCH_JOBS=jobs)
            expect(code == 75, f"a second night, of {date}: expected exit 75, saw {code}")
            expect(time.monotonic() - begin < REFUSED_SECONDS, "a second night is refused only after a long time")
            expect(errors.strip(), "a second night is refused without a word on standard error")
            same("a second night that is refused changes", changed(before, root.tree("state", "spool", "out")), [])
        same("status while a night runs", status(root, jobs), ("a done h open z open".split(), False))
        root.put_all({"go": ""})
        code = child.wait(COMMAND_SECONDS)
        expect(code == 0, f"a night that had to wait: expected exit 0, saw {code}")
    finally:
        kill(child)
    # A job that kills the night but lives on for a while.
    orphan = hang.replace("at-h", "at-o").replace("/go", "/go2")
    orphan = f'python3 "$BATCH_ROOT/crash.py" o 0 only & {orphan}'
    root.put_all({"jobs2.list": f"o must {orphan}\nz must true\n", "crash.py": CRASH})
    jobs = f"{root.path}/jobs2.list"
    child = root.start("bash", "bin/night", NEXT, BATCH_JOBS=jobs)
    try:
        wait_for(root, "at-o")
        wait_for(root, "crashed-o")
        time.sleep(0.7)
        second = root.start("bash", "bin/night", NEXT, BATCH_JOBS=jobs)
        try:
            code = second.wait(REFUSED_SECONDS)
        except subprocess.TimeoutExpired:
            code = "it go on"
        finally:
            kill(second)
        expect(code == 75, f"a start while a job of a killed night still runs: expected exit 75, saw {code}")
        root.put_all({"go2": ""})
        time.sleep(0.5)
        for _ in range(20):
            code, _, errors = root.run("bash", "bin/night", NEXT, BATCH_JOBS=jobs)
            if code != 75:
                break
            time.sleep(0.2)
        expect(code == 0, f"a start after a killed night: expected exit 0, saw {code}: {errors.strip()[-90:]}")
    finally:
        kill(child)


def changed(before: dict, after: dict) -> list:
    """Names of files that differ."""
    return sorted(n for n in {*before, *after} if before.get(n) != after.get(n))


def inbox(night: str, extra: dict) -> dict:
    """A night's files: orders, some of them shipped, one file incomplete, one of before."""
    times = [f"{night}T{RNG.randrange(8, 20):02d}:{RNG.randrange(60):02d}:00Z" for _ in range(55)]
    # Small ones, so that their payments stay below the limit.
    orders = [Order("north", time, gross=RNG.randrange(100, 9_000)) for time in times[:40]]
    more = [Order("south", time, gross=RNG.randrange(100, 9_000)) for time in times[40:]]
    flat = night.replace("-", "")
    rows = [f"{o.id},{night} 12:00,GLP,1,out" for o in RNG.sample([*orders, *more], 35)]
    shipped = "\n".join(["order_id,at,carrier,parcels,kind", *rows, ""])
    files = {
        f"orders/north-{flat}-1.csv": order_file(orders[:30]),
        f"orders/north-{flat}-2.csv": order_file(orders[30:]),
        f"orders/south-{flat}-1.csv": order_file(more, whole=False),
        f"shipments/wh-{flat}.csv": shipped,
        **extra,
    }
    return {f"inbox/{name}": text for name, text in files.items()}


def remains(root: "Root") -> dict:
    """What a root is compared by."""
    found = root.tree("archive", "rejected", "out", "inbox", "state/invoice.seq", "log/alerts.log")
    kept = {}
    for name, data in found.items():
        text = data.decode("utf-8", "replace")
        if name.endswith("MANIFEST"):
            text = "\n".join(sorted(text.split("\n")))
        if name.startswith("log/"):
            text = "\n".join(sorted(line.partition(" ")[2] for line in text.split("\n")))
        kept[name] = text
    query = "import sqlite3, sys\nfor t in ('files', 'orders', 'shipments', 'invoices'):\n"
    query += " for r in sorted(map(repr, sqlite3.connect(sys.argv[1]).execute(f'SELECT * FROM {t}'))): print(t, r)"
    code, out, _ = root.run("python3", "-I", "-c", query, f"{root.path}/mart.db")
    expect(code == 0, "the mart cannot be read")
    kept["the mart"] = out
    counts = Counter((to, subject, body) for to, subject, body in root.mails() if "FAILED" not in subject)
    kept["mails"] = "\n".join(sorted(f"{n} x {subject} to {to}: {body}" for (to, subject, body), n in counts.items()))
    return kept


def compare(what: str, root: "Root", calm: dict) -> None:
    """A root must be as the undisturbed one."""
    seen = remains(root)
    for name in sorted({*seen, *calm}):
        expect(name in seen, f"{what}: {name} is missing")
        expect(name in calm, f"{what}: {name} should not be there")
        same_text(f"{what}: {name}", seen[name], calm[name])


def crashing(root: "Root", jobs: list) -> str:
    """A list of jobs whose night is killed after each job, and in the midst of some."""
    midst = {"collect": 0.25, "invoices": 0.3, "partner-export": 0.3}
    lines = []
    for name, weight, command in jobs:
        if name in KILLED:
            command = f'{command} && python3 "$BATCH_ROOT/crash.py" {name} 0'
        if name in midst:
            delay = RNG.uniform(0.02, midst[name])
            command = f'python3 "$BATCH_ROOT/crash.py" midst-{name} {delay:.3f} & {command}; s=$?; wait; exit $s'
        lines.append(f"{name}  {weight}  {command}\n")
    root.put_all({"crash.py": CRASH, "crash.list": "".join(lines)})
    return f"{root.path}/crash.list"


def written(root: "Root") -> str:
    """When the list of payments was written."""
    _, out, _ = root.run("stat", "-c", "%.9Y", f"{root.path}/out/payments/payments-{NIGHT}.csv")
    return out.strip()


def kills() -> None:
    """A night that is killed often, the next one, and the first again; beside undisturbed ones."""
    text = tree(".", "etc/night.jobs").get("etc/night.jobs", b"").decode()
    rows = [line.split(None, 2) for line in text.split("\n") if line.strip() and line[0] != "#"]
    jobs = [row for row in rows if len(row) == 3]
    missing = {*KILLED} - {job[0] for job in jobs}
    expect(not missing and len(jobs) == len(rows), "etc/night.jobs: expected the jobs that it had, in its format")
    past = f"inbox/orders/isles-{PAST.replace('-', '')}-1.csv"
    first = {past: order_file([Order("isles", f"{PAST}T10:00:00Z")])}
    files = inbox(NIGHT, {"orders/north-20240227-7.csv": first[past]})
    later = inbox(NEXT, {})
    with Root() as calm, Root() as rough:
        for root in (calm, rough):
            root.put_all(first)
            root.jobs(PAST, "collect", "load-orders")
            root.put_all(files)
        calm.night(NIGHT)
        undisturbed = remains(calm)
        same("invoices of an undisturbed night", numbers(undisturbed, NIGHT), [str(10_001 + n) for n in range(35)])
        wanted = ["ALERT incomplete file south-20240228-1.csv, 15 orders loaded", "ALERT no orders of isles"]
        wanted += ["Figures of 2024-02-28", "Rejected file north-20240227-7.csv"]
        same("mails of an undisturbed night", sorted(s for _, s, _ in calm.mails()), wanted)
        crashes = crashing(rough, jobs)
        for _ in range(2 * len(jobs) + 6):
            code, _, _ = rough.run("bash", "bin/night", NIGHT, BATCH_JOBS=crashes)
            if code == 0:
                break
        expect(code == 0, f"a night that was killed often, at last: expected exit 0, saw {code}")
        compare("after kills", rough, undisturbed)
        before = written(calm)
        code, _, _ = calm.run("bash", "bin/night", "--again", NIGHT)
        expect(code == 0, f"bin/night --again: expected exit 0, saw {code}")
        compare("a night run again", calm, undisturbed)
        same("the time at which the payments were written, after --again", written(calm), before)
        rough.put_all(later)
        rough.jobs(NEXT, "collect", "load-orders", "load-shipments", "invoices")
        seen = remains(rough)
        same("invoices of the night after", numbers(seen, NEXT), [str(10_036 + n) for n in range(35)])
        same("state/invoice.seq", seen["state/invoice.seq"].strip(), "10070")


def numbers(seen: dict, night: str) -> list:
    """The numbers of a night's invoices."""
    rows = seen[f"out/invoices/invoices-{night}.csv"].split("\n")
    return [row.split(";")[0] for row in rows[1:-1]]


def check() -> str:
    """All of the ticket."""
    for part in (checkpoints, locks):
        with Root() as root:
            part(root)
    kills()
    return "nights that fail, hang and are killed come through as undisturbed ones do"


decide(check)
