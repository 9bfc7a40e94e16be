# Takings by day, VAT rate and refunds, from the shop's export or the market stall's list.
#
#   mawk -f tools/takings.awk [-v from=DAY] [-v to=DAY] [-v detail=1] [-v strict=1] FILE...
#
# Written in 2011 for the stall, taken over for the shop. Bookkeeping compares its output by machine.

function cents(text) {
    gsub(/'/, "", text)
    sub(/,/, ".", text)
    return int(text * 100 + 0.5)
}

function amount(n) {
    return sprintf("%.2f", n / 100)
}

function reject(why) {
    rejected++
    print NR ": " why > "/dev/stderr"
}

function later(a, b) {
    return a > b
}

function bar(n, most,   length_, text) {
    text = ""
    if (most <= 0) return text
    for (length_ = int(n / most * 30); length_ > 0; length_--) text = text "#"
    return text
}

BEGIN {
    FS = ";"
    split("type day number detail quantity gross vat", names, " ")
    for (i = 1; i <= 7; i++) col[names[i]] = i
    label["P"] = "price"
    label["R"] = "returned"
    label["G"] = "goodwill"
}

{ sub(/\r$/, "") }

/^#/ {
    n = split(substr($0, 2), head, ";")
    known = 0
    for (i = 1; i <= n; i++) {
        gsub(/[ \t]/, "", head[i])
        if (head[i] in col) known++
    }
    if (known == 7)
        for (i = 1; i <= n; i++)
            if (head[i] in col) col[head[i]] = i
    next
}

/^[ \t]*$/ { next }

NF < 6 {
    reject("too short: " NF " fields")
    next
}

{
    type = toupper(substr($col["type"], 1, 1))
    day = $col["day"]
    number = $col["number"]
    detail_ = $col["detail"]
    pieces = $col["quantity"]
    gross = $col["gross"]
    vat = $col["vat"]
    if (type != "S" && type != "R") { reject("type " type); next }
    if (day !~ /^[0-9-]+$/) { reject("day " day); next }
    if (from != "" && day < from) next
    if (to != "" && day > to) next
    if (gross !~ /^[-+0-9.,']+$/) { reject("gross " gross); next }
    if (vat !~ /^[-+0-9.,']*$/) { reject("vat " vat); next }
    if (pieces !~ /^[0-9.]*$/) { reject("quantity " pieces); next }
    if (type == "S" && detail_ !~ /^[0-9.]+$/) { reject("rate " detail_); next }

    if (type == "S" && number != "" && seen[number, detail_, gross, pieces]++) {
        twice++
        if (strict) { reject("twice " number); next }
    }

    if (!(day in known_day)) {
        known_day[day] = 1
        days[++day_count] = day
    }
    if (type == "R") {
        reason = toupper(detail_)
        name = (reason in label) ? label[reason] : substr(detail_, 1, 12)
        if (!((day, name) in refunded)) reasons[day] = reasons[day] name ";"
        refunded[day, name] += cents(gross)
        net[day] -= cents(gross)
        refund_count[day]++
        next
    }
    rate = detail_ + 0
    if (!(rate in known_rate)) {
        known_rate[rate] = 1
        rates[++rate_count] = rate
    }
    sum[day, rate] += cents(gross)
    tax[day, rate] += cents(vat)
    count[day, rate] += pieces
    net[day] += cents(gross)
    if (!(number in order_seen)) {
        order_seen[number] = day
        orders[day]++
    }
    expected = int(cents(gross) * rate / (10000 + rate) + 0.5)
    if (expected != cents(vat)) off[day, rate] += cents(vat) - expected
}

END {
    for (i = 2; i <= day_count; i++) {
        moved = days[i]
        for (j = i - 1; j >= 1 && later(days[j], moved); j--) days[j + 1] = days[j]
        days[j + 1] = moved
    }
    for (i = 2; i <= rate_count; i++) {
        moved = rates[i]
        for (j = i - 1; j >= 1 && later(rates[j], moved); j--) rates[j + 1] = rates[j]
        rates[j + 1] = moved
    }
    for (i = 1; i <= day_count; i++) if (net[days[i]] > most) most = net[days[i]]

    for (i = 1; i <= day_count; i++) {
        day = days[i]
        printf "%s  %d orders\n", day, orders[day]
        for (j = 1; j <= rate_count; j++) {
            rate = rates[j]
            if (!((day, rate) in sum)) continue
            printf "  %-8s%6s pcs %12s  vat %10s", rate / 100 "%", count[day, rate] "", \
                amount(sum[day, rate]), amount(tax[day, rate])
            if (detail && count[day, rate] > 0)
                printf "  each %.2f", sum[day, rate] / count[day, rate] / 100
            if ((day, rate) in off) printf "  off by %s", amount(off[day, rate])
            printf "\n"
        }
        m = split(reasons[day], list, ";")
        for (j = 1; j < m; j++)
            printf "  - %-10.10s%26s\n", list[j], amount(refunded[day, list[j]])
        printf "  = %-10s%26s %s\n", "net", amount(net[day]), bar(net[day], most)
        total += net[day]
        all_orders += orders[day]
    }
    print "days " day_count + 0 ", orders " all_orders + 0 ", net " amount(total)
    if (all_orders > 0) print "per order " total / all_orders / 100
    if (twice) print twice " lines twice"
    if (rejected) {
        print rejected " lines rejected"
        if (strict) exit 1
    }
}
