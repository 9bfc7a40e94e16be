set -euo pipefail
# What happened: alerts, changes, the bank, the nights that did not go through, and what the mails say.
cat var/log/alerts.log var/log/changes.log var/log/collect.log
grep -v accepted var/log/bank.log
grep -n operator var/log/night.log
awk '/ begin$/ { open[$2]++ } / end / { open[$2]-- } END { for (night in open) if (open[night]) print night, open[night] }' var/log/night.log
grep -c . var/out/partners/*/settlement-2024-03-15.csv
cat docs/partners.md docs/bank.md docs/contracts/*.md
