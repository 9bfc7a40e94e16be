# Mail the figures of the day to the management.
set -eu
. lib/common.sh

sales=$ROOT/out/sales/sales-$NIGHT.csv
month=$ROOT/out/sales/month-${NIGHT%-*}.csv
{
    echo "Sales of $NIGHT"
    echo
    awk -F ';' 'NR > 1 { printf "  %-6s %-3s %5d orders %12s gross %12s net\n", $1, $2, $3, $4, $5 }' "$sales"
    echo
    echo "Month so far"
    echo
    awk -F ';' 'NR > 1 { printf "  %-6s     %5d orders %12s gross %12s net\n", $1, $2, $3, $4 }' "$month"
    echo
    echo "Invoices: $(($(wc -l <"$ROOT/out/invoices/invoices-$NIGHT.csv") - 1))"
    echo "Payments: $(tail -n +2 "$ROOT/out/payments/payments-$NIGHT.csv" | awk -F ';' '{ printf "%s %s  ", $1, $3 }')"
    echo "Alerts:   $(grep -c "night=$NIGHT " "$ROOT/log/alerts.log" 2>/dev/null || true)"
} | bash bin/mail "$(setting MAIL_MANAGEMENT)" "Figures of $NIGHT"
