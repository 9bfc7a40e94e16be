set -euo pipefail
# What do the books say? Captures whose legs do not add up, and holds that lost track.
python3 - <<'PY'
from ledger import config, db

conn = db.connect(config.load().database)
for row in conn.execute(
    "SELECT c.hold_id, c.amount, SUM(l.amount) - c.amount AS off FROM captures c"
    " JOIN capture_legs l ON l.capture_id = c.id GROUP BY c.id HAVING off <> 0"
):
    print("legs are off:", dict(row))
for row in conn.execute(
    "SELECT h.id, h.status, h.captured, SUM(c.amount) AS taken FROM holds h"
    " JOIN captures c ON c.hold_id = h.id GROUP BY h.id HAVING h.captured <> taken"
):
    print("hold lost track:", dict(row))
PY
