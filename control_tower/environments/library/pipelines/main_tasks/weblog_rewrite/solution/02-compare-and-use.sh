set -euo pipefail
# The old and the new one on the same random logs; then the night uses the new one.
python3 - <<'PY'
import os
import random
import subprocess
import sys
import tempfile

draw = random.Random(5)
pieces = ['203.0.113.5 - - [09/Mar/2024:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "M"\n', '"', " ", "\t", "[09/Mar/2024:",
          "10:0", ":.5", "-", "GET /x?c=y", "\n", "#", "200", " 404 ", "/index.html", "//", "\xe4", "bot", "1e3", "\r\n"]
with tempfile.NamedTemporaryFile() as log:
    for number in range(60):
        good = [pieces[0].replace("/a", draw.choice(["/", "/teas/", "/b"])) for _ in range(20)]
        text = "".join(draw.choice(good) if draw.random() < 0.6 else "".join(draw.choices(pieces, k=9)) for _ in range(60))
        log.seek(0)
        log.truncate()
        log.write(text.replace("\r\n", "\n").encode("latin-1"))
        log.flush()
        gap, top = draw.choice([("", ""), ("0", "1"), ("60", "3")])
        settings = [word for pair in (("shop", "x"), ("day", "2024-03-09"), ("gap", gap), ("top", top)) for word in ("-v", "=".join(pair))]
        old = subprocess.run(["awk", *settings, "-f", "jobs/weblog.awk", log.name], env={**os.environ, "LC_ALL": "C"}, capture_output=True)
        new = subprocess.run([sys.executable, "jobs/weblog.py", "x", "2024-03-09", gap, top, log.name], capture_output=True)
        assert old.stdout == new.stdout, (number, old.stdout, new.stdout, new.stderr)
print("no difference")

from pathlib import Path

for name, old, new in (
    ("jobs/weblog.sh", 'awk -v shop="$shop" -v day="$NIGHT" -f jobs/weblog.awk "$log"', 'python3 jobs/weblog.py "$shop" "$NIGHT" "" "" "$log"'),
    ("docs/weblog.md", "`jobs/weblog.awk`", "`jobs/weblog.py`"),
):
    source = Path(name).read_text(encoding="utf-8")
    assert source.count(old) == 1, name
    Path(name).write_text(source.replace(old, new), encoding="utf-8")
PY
rm jobs/weblog.awk
python3 -m unittest 2>&1 | tail -n 4
