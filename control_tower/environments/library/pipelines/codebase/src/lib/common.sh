# Sourced by the shell side of the batch, in the folder of the code. Sets ROOT (the data) and settings.
LC_ALL=C
export LC_ALL
CODE=$(pwd)
ROOT=${BATCH_ROOT:-$CODE/var}
BATCH_ROOT=$ROOT
PYTHONPATH=$CODE
PYTHONDONTWRITEBYTECODE=1
export BATCH_ROOT PYTHONPATH PYTHONDONTWRITEBYTECODE

# setting NAME: a value of etc/batch.conf.
setting() {
    sed -n "s/^$1=//p" "$CODE/etc/batch.conf"
}

TZ=$(setting TIMEZONE)
export TZ

# now: the time for logs and mails, UTC. Cron sets BATCH_NOW to its own clock.
now() {
    printf '%s\n' "${BATCH_NOW:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}"
}

# is_day TEXT: whether it is a calendar day.
is_day() {
    case $1 in
        [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) [ "$(date -d "$1 12:00" +%Y-%m-%d 2>/dev/null)" = "$1" ] ;;
        *) return 1 ;;
    esac
}

# log_line FILE TEXT…: a line with the time in a log of the root.
log_line() {
    mkdir -p "$ROOT/log"
    log_name=$1
    shift
    printf '%s %s\n' "$(now)" "$*" >>"$ROOT/log/$log_name"
}
