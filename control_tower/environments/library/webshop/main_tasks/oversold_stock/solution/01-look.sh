set -euo pipefail
# What is wrong now, and which code writes the stock?
python3 -m shop.admin check-stock || true
grep -n "on_hand\|stock\.move" -r shop --include='*.py'
