# The web logs of the day, shop by shop, into one file. docs/weblog.md.
set -eu
. lib/common.sh

out=$ROOT/out/web/web-$NIGHT.csv
mkdir -p "$ROOT/out/web"
for shop in $(setting SHOPS); do
    log=$ROOT/archive/weblogs/$shop-$(printf '%s' "$NIGHT" | tr -d -).log
    [ ! -f "$log" ] || awk -v shop="$shop" -v day="$NIGHT" -f jobs/weblog.awk "$log"
done >"$out.new"
mv "$out.new" "$out"
echo "$(grep -c '^shop;' "$out" || true) shops"
