#!/bin/sh
# Turn the bank's lists of incoming payments into deposits. docs/bank-lists.md has the format.
#
#     sh tools/bank-lines.sh [-n] [-m MINIMUM] [-s STATE] FILE...
LC_ALL=C
export LC_ALL
cr=$(printf '\r')
nl='
'
dry=no minimum=0 state='' default='' seen=$nl status=0 order=''

fail() {
    printf '%s\n' "bank-lines: $1" >&2
    exit 2
}

note() {
    printf '%s\n' "$file:$number: $1" >&2
}

reject() {
    note "$1"
    [ "$status" = 2 ] || status=1
}

digits() {
    case $1 in
        '' | *[!0-9]*) return 1 ;;
    esac
}

# A payment in $line.
payment() {
    rest=$line
    date=${rest%%;*} rest=${rest#*;}
    given=${rest%%;*} rest=${rest#*;}
    currency=${rest%%;*} rest=${rest#*;}
    reference=${rest%%;*} rest=${rest#*;}
    case $date in
        [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]) ;;
        *) reject "no date: $date" && return ;;
    esac
    case $date in
        ????0[1-9]* | ????1[0-2]*) ;;
        *) reject "no month: $date" && return ;;
    esac
    case ${currency:=$default} in
        EUR | USD | GBP) places=2 ;;
        KWD) places=3 ;;
        JPY) places=0 ;;
        *) reject "unknown currency: $currency" && return ;;
    esac
    case $given in
        -*) reject "a debit: $given" && return ;;
    esac
    amount=${given#+} fraction=''
    whole=${amount%%,*}
    case $amount in
        *,*) fraction=${amount#*,} ;;
    esac
    while :; do
        case $whole in
            *.*) whole=${whole%%.*}${whole#*.} ;;
            *) break ;;
        esac
    done
    digits "$whole$fraction" || { reject "no amount: $given" && return; }
    minor=$whole
    while [ "$places" -gt 0 ]; do
        digit=${fraction%"${fraction#?}"} fraction=${fraction#?}
        minor=$minor${digit:-0} places=$((places - 1))
    done
    case $fraction in
        *[!0]*) reject "too precise: $given" && return ;;
    esac
    while :; do
        case $minor in
            0?*) minor=${minor#0} ;;
            *) break ;;
        esac
    done
    case $minor in
        '' | 0) reject "nothing: $given" && return ;;
        ?????????????*) reject "too much: $given" && return ;;
    esac
    after=${reference#*acct_}
    beyond=${after#????????????}
    number12=${after%"$beyond"}
    case $reference in
        *acct_????????????*) ;;
        *) reject "no account: $reference" && return ;;
    esac
    case $number12 in
        *[!0-9a-f]* | '') reject "no account: $reference" && return ;;
    esac
    key="$date $minor $currency $reference"
    case $seen in
        *"$nl$key$nl"*) note "seen before: $reference" && return ;;
    esac
    seen=$seen$key$nl new=$new$key$nl
    [ "$minor" -ge "$minimum" ] || { note "small: $given" && return; }
    printf '%s\n' "deposit acct_$number12 $minor"
    case " $order " in
        *" $currency "*) ;;
        *) order="$order $currency" && eval "count_$currency=0 total_$currency=0" ;;
    esac
    eval "count_$currency=\$((count_$currency + 1)) total_$currency=\$((total_$currency + minor))"
}

while getopts :nm:s: option; do
    case $option in
        n) dry=yes ;;
        m) minimum=$OPTARG ;;
        s) state=$OPTARG ;;
        :) fail "-$OPTARG needs a value" ;;
        *) fail "unknown option -$OPTARG" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || fail "no file"
case $minimum in
    ????????????*) fail "not a minimum: $minimum" ;;
esac
digits "$minimum" || fail "not a minimum: $minimum"
if [ -n "$state" ]; then
    if [ -f "$state" ]; then
        while IFS= read -r line; do
            seen=$seen$line$nl
        done <"$state"
    fi
    [ "$dry" = yes ] || (: >>"$state") 2>/dev/null || fail "cannot write $state"
fi

for file in "$@"; do
    number=0 new=''
    if [ ! -f "$file" ] || [ ! -r "$file" ]; then
        printf '%s\n' "bank-lines: cannot read $file" >&2
        status=2
        continue
    fi
    while IFS= read -r line; do
        number=$((number + 1))
        line=${line%"$cr"}
        case $line in
            '' | '#'*) ;;
            '!end'*) break ;;
            '!currency '*) default=${line#'!currency '} ;;
            *) payment ;;
        esac
    done <"$file"
    [ -z "$state" ] || [ "$dry" = yes ] || printf '%s' "$new" >>"$state"
done
for currency in $order; do
    eval "printf '%s\\n' \"# $currency \$count_$currency \$total_$currency\""
done
exit "$status"
