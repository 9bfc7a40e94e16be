set -euo pipefail
cat incidents/2025-10-14/README.md docs/service-levels.md docs/logs.md data/plan-changes.csv
grep -h clock incidents/2025-10-14/jobs-w2.log.1 incidents/2025-10-14/jobs-w2.log
head -n 5 incidents/2025-10-14/receivers.jsonl
python3 -m millrace.admin tenants
