# Take the files that have come in: from inbox/ to archive/, each noted in state/collected.tsv with its night.
# A file that was here before, under whatever name, goes to rejected/; so does another content under a known name.
set -eu
. lib/common.sh

record=$ROOT/state/collected.tsv
mkdir -p "$ROOT/state" "$ROOT/rejected"
touch "$record"

reject() {
    mv "$path" "$ROOT/rejected/$NIGHT-$name"
    log_line collect.log "night=$NIGHT rejected $name: $1"
    printf '%s\n' "$kind/$name: $1" | bash bin/mail "$(setting MAIL_OPS)" "Rejected file $name"
}

for kind in orders shipments weblogs; do
    mkdir -p "$ROOT/inbox/$kind" "$ROOT/archive/$kind"
    for path in "$ROOT/inbox/$kind"/*; do
        name=${path##*/}
        [ -f "$path" ] || continue
        case $name in *.part) continue ;; esac
        sum=$(sha256sum <"$path" | cut -d ' ' -f 1)
        if [ -e "$ROOT/archive/$kind/$name" ]; then
            reject "the name was here before"
        elif awk -F '\t' -v sum="$sum" '$4 == sum { found = 1 } END { exit !found }' "$record"; then
            reject "the content was here before"
        else
            mv "$path" "$ROOT/archive/$kind/$name"
            printf '%s\t%s\t%s\t%s\n' "$NIGHT" "$kind" "$name" "$sum" >>"$record"
            echo "$kind/$name"
        fi
    done
done
