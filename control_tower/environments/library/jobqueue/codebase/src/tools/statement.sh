#!/bin/sh
# statement.sh [-s] [-m YYYY-MM] [-t TENANT] [-p PRICES] LOG...
# What the tenants have used, from logs of the workers (docs/logs.md).
#   -s  only the sums of the tenants    -m  one month only    -t  one tenant only
#   -p  the prices (tools/prices.txt)
# Exit code: 0; 1 if something was left out, as told on standard error; 2 for wrong arguments.
LC_ALL=C
export LC_ALL
month= tenant= prices=tools/prices.txt sums=

wrong() {
    echo "statement: $1" >&2
    echo "usage: statement.sh [-s] [-m YYYY-MM] [-t TENANT] [-p PRICES] LOG..." >&2
    exit 2
}

while getopts :sm:t:p: option; do
    case $option in
        s) sums=1 ;;
        m) month=$OPTARG ;;
        t) tenant=$OPTARG ;;
        p) prices=$OPTARG ;;
        :) wrong "-$OPTARG needs a value" ;;
        *) wrong "no such option: -$OPTARG" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || wrong "no log"
case $month in
    '' | [0-9][0-9][0-9][0-9]-[0-9][0-9]) ;;
    *) wrong "not a month: $month" ;;
esac
[ -f "$prices" ] || wrong "no prices: $prices"

code=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

for file; do
    if ! [ -f "$file" ]; then
        echo "statement: no such log: $file" >&2
        code=1
        continue
    fi
    NAME=$file MONTH=$month TENANT=$tenant awk '
        function value(name, i) {
            for (i = 4; i <= NF; i++)
                if (index($i, name "=") == 1)
                    return substr($i, length(name) + 2)
            return ""
        }
        $3 != "end" { next }
        ENVIRON["MONTH"] != "" && substr($1, 1, 7) != ENVIRON["MONTH"] { next }
        {
            who = value("tenant"); kind = value("kind"); job = value("job")
            state = value("state"); ms = value("ms")
        }
        ENVIRON["TENANT"] != "" && who != ENVIRON["TENANT"] { next }
        who == "" || kind == "" || job == "" || ms !~ /^[0-9]+$/ || /\|/ {
            printf "statement: %s, line %d: not understood\n", ENVIRON["NAME"], NR > "/dev/stderr"
            bad = 1
            next
        }
        state == "done" || state == "failed" || state == "delayed" {
            print who "|" kind "|" job "|" $1 "|" state "|" ms
        }
        END { exit bad }
    ' <"$file" >>"$work/runs" || code=1
done
[ -f "$work/runs" ] || exit "$code"

sort -t '|' -k1,1 -k2,2 -k3,3 -k4,4 "$work/runs" | SUMS=$sums PRICES=$prices awk -F '|' '
    function flush_kind(over, amount, shown) {
        if (kind == "")
            return
        shown = "-"
        if (kind in price) {
            over = units - free[kind]
            if (over < 0)
                over = 0
            amount = over * price[kind] / 100
            total += amount
            shown = sprintf("%.2f", amount)
        } else {
            printf "statement: %s: no price for %s\n", who, kind > "/dev/stderr"
            bad = 1
        }
        if (ENVIRON["SUMS"] == "")
            printf "%-20s %-10s %6d %5d %6d %8d %10s %7s\n", who, kind, jobs, again, failed, units, shown, slowest
        all += jobs
        kind = ""
        jobs = again = failed = units = 0
        slowest = ""
    }
    function flush_tenant() {
        flush_kind()
        if (who == "")
            return
        printf "%-20s %-10s %6d %5s %6s %8s %10.2f %7s\n", who, "total", all, "", "", "", total, mean(busy, runs)
        all = total = busy = runs = 0
    }
    function mean(sum, count) {
        return count ? sum / count : "-"
    }
    BEGIN {
        while ((getline line < ENVIRON["PRICES"]) > 0) {
            sub(/#.*/, "", line)
            count = split(line, part, /[ \t]+/)
            if (count >= 4 && part[1] != "") {
                unit[part[1]] = part[2]; price[part[1]] = part[3]; free[part[1]] = part[4]
            }
        }
    }
    $1 != who { flush_tenant(); who = $1 }
    $2 != kind { flush_kind(); kind = $2; last = "" }
    {
        busy += $6
        runs++
        if ($5 == "failed")
            failed++
        if ($5 != "done")
            next
        if ($3 == last) {
            again++
            next
        }
        last = $3
        jobs++
        size = (kind in unit) ? unit[kind] : 1000
        used = int(($6 + size - 1) / size)
        units += used < 1 ? 1 : used
        if (slowest == "" || $6 "" > slowest)
            slowest = $6 ""
    }
    END { flush_tenant(); exit bad }
' || code=1
exit "$code"
