set -euo pipefail
# Checkpoints in state/nights/, and a lock that the kernel takes back.
cat > bin/night <<'SH'
#!/bin/bash
# Run a night: the jobs of etc/night.jobs that have not ended well yet, for a day that has ended.
#
#     bash bin/night DATE | --yesterday
#     bash bin/night --again DATE [JOB]       forget what was done, from JOB on
#     bash bin/night --status DATE            NAME STATE for each job
set -u
cd "${0%/*}/.."
. lib/common.sh

usage() {
    echo "usage: bin/night DATE | --yesterday | --again DATE [JOB] | --status DATE" >&2
    exit 64
}

mode=run from=
case ${1:-} in
    --again) mode=again && shift && from=${2:-} ;;
    --status) mode=status && shift ;;
esac
night=${1:-}
[ "$night" != --yesterday ] || night=$(date -d "${BATCH_NOW:-now} 1 day ago" +%Y-%m-%d)
is_day "$night" || usage
jobs=${BATCH_JOBS:-etc/night.jobs}
names=$(awk '$1 !~ /^(#|$)/ { print $1 }' "$jobs")
done_folder=$ROOT/state/nights/$night

# state JOB: done, failed or open.
state() {
    word=open
    [ ! -f "$done_folder/$1" ] || read -r word <"$done_folder/$1"
    echo "$word"
}

# note JOB STATE: in one step, so that it is there or not.
note() {
    [ -d "$done_folder" ] || mkdir -p "$done_folder"
    printf '%s\n' "$2" >"$done_folder/.new"
    mv "$done_folder/.new" "$done_folder/$1"
}

if [ "$mode" = status ]; then
    all=0
    for name in $names; do
        is=$(state "$name")
        echo "$name $is"
        [ "$is" = done ] || all=1
    done
    exit "$all"
fi
if [ -n "$from" ] && ! printf '%s\n' "$names" | grep -qxF "$from"; then
    echo "night: no job $from in $jobs" >&2
    exit 64
fi

# The kernel keeps the lock as long as this process or a job that has it from it lives, and no longer.
mkdir -p "$ROOT/state"
exec 9>>"$ROOT/state/night.lock"
if ! flock -n 9; then
    echo "night: another night, or a job of one, still runs on $ROOT" >&2
    exit 75
fi

if [ "$mode" = again ]; then
    reached=${from:+no}
    for name in $names; do
        [ "$name" != "$from" ] || reached=
        [ "$reached" = no ] || rm -f "$done_folder/$name"
    done
fi
log_line night.log "night=$night begin"
status=0
while read -r name weight _; do
    case $name in '' | '#'*) continue ;; esac
    [ "$(state "$name")" != done ] || continue
    if bash bin/job "$name" "$night"; then
        note "$name" done
        continue
    fi
    note "$name" failed
    status=1
    [ "$weight" = may ] || break
done <"$jobs"
log_line night.log "night=$night end exit=$status"
exit "$status"
SH
cat > bin/mail <<'SH'
#!/bin/bash
# Put a mail into the spool; the machine's gateway takes it from there. A mail of a night goes out once: another
# one with its recipient and subject is not sent, unless it is to be sent each time.
#
#     bash bin/mail [--each] TO SUBJECT <body
set -eu
cd "${0%/*}/.."
. lib/common.sh

each=
[ "$1" != --each ] || { each=yes && shift; }
to=$1 subject=$2
spool=$ROOT/spool/outgoing
mkdir -p "$spool" "$ROOT/state/mails"
name=$(date +%s%N)-$$
if [ -z "$each" ] && [ -n "${NIGHT:-}" ]; then
    key=$(printf '%s\n' "$NIGHT" "$to" "$subject" | sha256sum | cut -c 1-24)
    # The name is kept before the mail is there: after a kill in between, the mail is written again under that name.
    if [ -f "$ROOT/state/mails/$key.sent" ]; then
        cat >/dev/null
        exit 0
    fi
    name=$NIGHT-$key
fi
{
    printf 'From: %s\nTo: %s\nDate: %s\nSubject: %s\n' "$(setting MAIL_FROM)" "$to" "$(now)" "$subject"
    printf 'X-Night: %s\n\n' "${NIGHT:--}"
    cat
} >"$spool/.$name"
mv "$spool/.$name" "$spool/$name.eml"
[ -z "${key:-}" ] || : >"$ROOT/state/mails/$key.sent"
log_line mail.log "to=$to night=${NIGHT:--} subject=$subject"
SH
sed -i 's|bash bin/mail "$(setting MAIL_OPS)" "FAILED|bash bin/mail --each "$(setting MAIL_OPS)" "FAILED|' bin/job
