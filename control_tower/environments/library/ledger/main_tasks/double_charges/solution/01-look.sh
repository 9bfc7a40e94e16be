set -euo pipefail
# What is there? Attempts that got no answer, payments that look alike, and what support has done.
cat incidents/2024-03-19/README.md docs/checkout-gateway.md docs/refunds.md
python3 - <<'PY'
from ledger import config, db

conn = db.connect(config.load().database)
print("payments that look alike:")
for row in conn.execute(
    "SELECT created_by, from_account, reference, amount, COUNT(*) AS n, MIN(created_at) AS first,"
    " MAX(created_at) AS last FROM transfers WHERE kind = 'payment' AND created_at >= '2024-03-19'"
    " AND created_at < '2024-03-20' GROUP BY 1, 2, 3, 4, to_account HAVING n > 1 ORDER BY first"
):
    print(*row)
print("since then:")
for row in conn.execute(
    "SELECT created_at, kind, reference, amount, memo, status FROM transfers"
    " WHERE created_by <> 'tok_checkout' AND created_at >= '2024-03-19' ORDER BY seq"
):
    print(*row)
PY
