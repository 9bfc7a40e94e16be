# Sourced by the shell side of the batch, in the folder of the code. Sets ROOT (the data) and settings.
LC_ALL=C
export LC_ALL
CODE=$PWD
ROOT=${BATCH_ROOT:-$CODE/var}
BATCH_ROOT=$ROOT
PYTHONPATH=$CODE
PYTHONDONTWRITEBYTECODE=1
export BATCH_ROOT PYTHONPATH PYTHONDONTWRITEBYTECODE

# setting NAME: a value of etc/batch.conf.
setting() {
    while IFS= read -r setting_line; do
        case $setting_line in "$1="*) printf '%s\n' "${setting_line#*=}" ;; esac
    done <"$CODE/etc/batch.conf"
}

TZ=$(setting TIMEZONE)
export TZ

# now: the time for logs and mails, UTC. Cron sets BATCH_NOW to its own clock.
now() {
    if [ -n "${BATCH_NOW:-}" ]; then printf '%s\n' "$BATCH_NOW"; else date -u +%Y-%m-%dT%H:%M:%SZ; fi
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
    [ -d "$ROOT/log" ] || mkdir -p "$ROOT/log"
    log_name=$1
    shift
    printf '%s %s\n' "$(now)" "$*" >>"$ROOT/log/$log_name"
}
