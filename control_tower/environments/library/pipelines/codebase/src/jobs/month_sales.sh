# Add up the sales of the month of the night from those of its days. docs/sales.md.
set -eu
. lib/common.sh

month=${NIGHT%-*}
first=$(date -d "$month-01 00:00" +%s)
days=$(date -d "$month-01 12:00 1 month 1 day ago" +%d)
out=$ROOT/out/sales/month-$month.csv
number=0
while [ "$number" -lt "${days#0}" ]; do
    day=$(date -d "@$((first + number * 86400))" +%Y-%m-%d)
    number=$((number + 1))
    [ ! -f "$ROOT/out/sales/sales-$day.csv" ] || tail -n +2 "$ROOT/out/sales/sales-$day.csv"
done | awk -F ';' '
    { gsub(/,/, ""); count[$1] += $3; gross[$1] += $4; net[$1] += $5 }
    function show(cents) { return sprintf("%d,%02d", int(cents / 100), cents % 100) }
    END { for (shop in count) printf "%s;%d;%s;%s\n", shop, count[shop], show(gross[shop]), show(net[shop]) }
' | sort >"$out.new"
{
    echo 'shop;orders;gross;net'
    cat "$out.new"
} >"$out"
rm "$out.new"
echo "$month: $(($(wc -l <"$out") - 1)) shops"
