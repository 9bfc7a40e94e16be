# The figures of one shop's web log of one day. docs/weblog.md. For any awk, so no sorting, no time functions.
#
#     awk -v shop=SHOP -v day=YYYY-MM-DD [-v gap=SECONDS] [-v top=COUNT] -f jobs/weblog.awk FILE...

BEGIN {
    if (gap == "") gap = 1800
    if (top == "") top = 5
    months = "JanFebMarAprMayJunJulAugSepOctNovDec"
}

{
    lines++
    sub(/\r$/, "")
}

/^[ \t]*(#|$)/ { next }

split($0, quoted, "\"") < 7 { bad++; next }

{
    # [09/Mar/2024:13:05:22
    month = (index(months, substr($4, 5, 3)) + 2) / 3
    if (sprintf("%04d-%02d-%02d", substr($4, 9, 4), month, substr($4, 2, 2)) != day) { other++; next }
    hour = substr($4, 14, 2) + 0
    time = hour * 3600 + substr($4, 17, 2) * 60 + substr($4, 20, 2)

    agent = quoted[6]
    if (tolower(agent) ~ /bot|crawl|spider/ || agent == "-") { crawlers++; next }

    split(quoted[3], answer, " ")
    class = answer[1] ~ /^[1-5][0-9][0-9]$/ ? substr(answer[1], 1, 1) "xx" : "odd"
    classes[class]++
    hits++
    hours[hour]++
    if (answer[2] ~ /^[0-9]+$/) bytes += substr(answer[2], 1, 9)
    if (class == "4xx" || class == "5xx") next

    words = split(quoted[2], request, " ")
    path = words > 1 ? request[2] : request[1]
    campaign = ""
    if (match(path, /[?&]c=[a-z0-9_]+/)) campaign = substr(path, RSTART + 3, RLENGTH - 3)
    sub(/[?#].*$/, "", path)
    sub(/\/index\.html?$/, "", path)
    sub(/\/+$/, "", path)
    if (path == "") path = "/"
    if (tolower(path) ~ /\.(css|js|png|ico|svg)$/) next

    pages++
    seen[path]++
    visitor = $1 " " agent
    if (!(visitor in last) || time - last[visitor] > gap) {
        visit[visitor] = ++visits
        began[visits] = time
        if (campaign != "") campaigns[campaign]++
        count = split(quoted[4], part, "/")
        host = count > 2 ? tolower(part[3]) : "direct"
        sub(/^www\./, "", host)
        if (host !~ /(^|\.)fennmoor\./) hosts[host]++
    }
    last[visitor] = time
    number = visit[visitor]
    if (time > ended[number]) ended[number] = time
    depth[number]++
}

# The names of an array, most frequent first, then by name; in ranked[1..].
function rank(counts,    name, n, i) {
    n = 0
    for (name in counts) {
        for (i = n++; i > 0 && before(counts, name, ranked[i]); i--) ranked[i + 1] = ranked[i]
        ranked[i + 1] = name
    }
    return n
}

function before(counts, one, other) {
    return counts[one] > counts[other] || counts[one] == counts[other] && (one "") < (other "")
}

# The first `top` of an array, and who is as frequent as the last of them.
function list(what, counts, whole,    n, i, place, name) {
    n = rank(counts)
    for (i = 1; i <= n && (i <= top || counts[ranked[i]] == counts[ranked[i - 1]]); i++) {
        if (i == 1 || counts[ranked[i]] != counts[ranked[i - 1]]) place = i
        name = ranked[i]
        if (length(name) > 40) name = substr(name, 1, 37) "..."
        printf "%s;%d;%d;%.1f;%s\n", what, place, counts[ranked[i]], 100 * counts[ranked[i]] / whole, name
    }
}

END {
    for (i = 1; i <= visits; i++) {
        if (depth[i] == 1) bounces++
        spent += ended[i] - began[i]
    }
    printf "shop;%s;%s\n", shop, day
    printf "lines;%d;%d;%d;%d\n", lines, bad, other, crawlers
    printf "hits;%d;%.0f;%d\n", hits, bytes, pages
    printf "visits;%d;%d", visits, bounces
    if (visits > 0) printf ";%.1f;%.1f;%.2f", 100 * bounces / visits, spent / visits, pages / visits
    printf "\n"
    for (i = 1; i <= 5; i++) if (i "xx" in classes) printf "class;%dxx;%d\n", i, classes[i "xx"]
    if ("odd" in classes) printf "class;odd;%d\n", classes["odd"]
    for (i = 0; i < 24; i++) if (i in hours) printf "hour;%02d;%d\n", i, hours[i]
    list("page", seen, pages)
    list("from", hosts, visits)
    list("campaign", campaigns, visits)
}
