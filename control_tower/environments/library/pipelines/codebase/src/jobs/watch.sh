# Look for what people must know of: one mail and one line in alerts.log for each. docs/alerts.md.
set -eu
. lib/common.sh

alert() {
    log_line alerts.log "night=$NIGHT $1"
    printf '%s\n\nNight %s.\n' "$1" "$NIGHT" | bash bin/mail "$(setting MAIL_OPS)" "ALERT $1"
}

query() {
    python3 - "$@" <<'PY'
import sys

from batchlib import mart

for row in mart.connect().execute(sys.argv[1], sys.argv[2:]):
    print(*row)
PY
}

for shop in $(setting SHOPS); do
    found=$(query "SELECT count(*) FROM files WHERE kind = 'orders' AND shop = ? AND night = ?" "$shop" "$NIGHT")
    [ "$found" != 0 ] || alert "no orders of $shop"
done
query "SELECT name, rows FROM files WHERE kind = 'orders' AND night = ? AND NOT complete ORDER BY name" "$NIGHT" |
    while read -r name rows; do
        alert "incomplete file $name, $rows orders loaded"
    done
query "SELECT name, bad FROM files WHERE night = ? AND bad > 0 ORDER BY name" "$NIGHT" |
    while read -r name bad; do
        alert "unusable lines in $name: $bad"
    done
paid=$(tail -n +2 "$ROOT/out/payments/payments-$NIGHT.csv" | awk -F ';' '{ sub(/,/, "", $3); sum += $3 } END { print sum + 0 }')
if [ "$paid" -gt "$(setting PAYMENT_LIMIT)" ]; then
    alert "payments of $paid cents are above the limit"
fi
