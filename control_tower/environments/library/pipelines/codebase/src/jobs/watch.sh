# Look for what people must know of: one mail and one line in alerts.log for each. docs/alerts.md.
set -eu
. lib/common.sh
mkdir -p "$ROOT/log/$NIGHT"

alert() {
    log_line alerts.log "night=$NIGHT $1"
    printf '%s\n\nNight %s.\n' "$1" "$NIGHT" | bash bin/mail "$(setting MAIL_OPS)" "ALERT $1"
}

# What the mart says of the night, an alert a line.
python3 - $(setting SHOPS) <<'PY' >"$ROOT/log/$NIGHT/.alerts"
import sys

from batchlib import config, mart

night = (config.night(),)
files = mart.connect().execute("SELECT * FROM files WHERE night = ? ORDER BY name", night).fetchall()
orders = [one for one in files if one["kind"] == "orders"]
for shop in sys.argv[1:]:
    if all(one["shop"] != shop for one in orders):
        print(f"no orders of {shop}")
for one in orders:
    if not one["complete"]:
        print(f"incomplete file {one['name']}, {one['rows']} orders loaded")
for one in files:
    if one["bad"]:
        print(f"unusable lines in {one['name']}: {one['bad']}")
PY
while read -r line; do
    alert "$line"
done <"$ROOT/log/$NIGHT/.alerts"
paid=$(tail -n +2 "$ROOT/out/payments/payments-$NIGHT.csv" | awk -F ';' '{ sub(/,/, "", $3); sum += $3 } END { print sum + 0 }')
if [ "$paid" -gt "$(setting PAYMENT_LIMIT)" ]; then
    alert "payments of $paid cents are above the limit"
fi
