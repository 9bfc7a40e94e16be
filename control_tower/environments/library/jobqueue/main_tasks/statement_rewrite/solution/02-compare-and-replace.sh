set -euo pipefail
# Compare both on logs of all sorts before the script goes.
cat > /tmp/compare.py <<'PY'
import random
import subprocess

for seed in range(40):
    rng = random.Random(seed)
    rows = []
    for _ in range(rng.randrange(80)):
        job = rng.choice(["12", "0012", "7", f"j_{rng.randrange(40):x}"])
        tenant = rng.choice(["alder", "7", "007", "wharfe", "z\u00fcrich"])
        kind, state = rng.choice(["webhook", "invoice", "fax"]), rng.choice(["done", "done", "failed", "lost"])
        ms = rng.choice([str(rng.randrange(10**9)), str(rng.randrange(3000)), "0", "", "1x"])
        row = f"2026-0{rng.choice('12')}-01T00 w1 end job={job} tenant={tenant} kind={kind} state={state} ms={ms}"
        rows.append(row + rng.choice(["", "", "", "\r", "\x0b", " |"]))
    with open("/tmp/compare.log", "w", encoding="utf-8", newline="") as stream:
        stream.write("\n".join(rows))
    options = rng.choice([[], ["-s"], ["-m", "2026-02"], ["-t", "7"], ["-m"], ["-x"]])
    argv = [*options, *rng.choice([["/tmp/compare.log"], ["/tmp/nothing", "/tmp/compare.log"]])]
    old = subprocess.run(["sh", "tools/statement.sh", *argv], capture_output=True)
    new = subprocess.run(["python3", "-m", "millrace.statement", *argv], capture_output=True)
    same = (old.returncode, old.stdout, old.stderr) == (new.returncode, new.stdout, new.stderr)
    assert same, (argv, old, new)
print("no difference")
PY
python3 /tmp/compare.py
rm -f /tmp/compare.py /tmp/compare.log
cat > tools/statement.sh <<'SH'
#!/bin/sh
# What the tenants have used: millrace/statement.py, under the name that accounts know.
exec python3 -m millrace.statement "$@"
SH
python3 -m unittest 2>&1 | tail -n 3
