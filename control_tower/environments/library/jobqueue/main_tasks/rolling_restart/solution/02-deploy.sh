set -euo pipefail
python3 -m unittest 2>&1 | tail -n 3
sh restart.sh
# Once more, now that the running supervisor knows how.
before=$(python3 -m millrace.admin health)
sh restart.sh
python3 -m millrace.admin health
echo "before: $before"
sleep 1.5
python3 -m millrace.admin workers
