# Remove archived files whose day, in their name, is older than KEEP_DAYS before the night, and logs of jobs
# older than KEEP_LOGS.
set -eu
. lib/common.sh

oldest=$(date -d "$NIGHT 12:00 $(setting KEEP_DAYS) days ago" +%Y%m%d)
for path in "$ROOT"/archive/*/*; do
    [ -f "$path" ] || continue
    day=$(printf '%s\n' "${path##*/}" | sed -n 's/^[a-z]*-\([0-9]\{8\}\)[-.].*$/\1/p')
    [ -n "$day" ] || continue
    [ "$day" -ge "$oldest" ] || { rm "$path" && echo "removed ${path##*/}"; }
done
oldest=$(date -d "$NIGHT 12:00 $(setting KEEP_LOGS) days ago" +%Y-%m-%d)
for path in "$ROOT"/log/20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]; do
    [ -d "$path" ] || continue
    [[ ! ${path##*/} < $oldest ]] || { rm -r "$path" && echo "removed log of ${path##*/}"; }
done
