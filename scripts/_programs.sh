# shellcheck shell=bash
# Sourced by the scripts beside it, after _venv.sh: programs that some tests drive. Tests skip without.

# ensure_programs COMMAND...: as root on Debian, installs the packages of those that are missing.
ensure_programs() {
  local missing=() command
  for command in "$@"; do
    if ! command -v "$command" >/dev/null; then missing+=("$command"); fi
  done
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    say "not here: ${missing[*]}; tests that need them are skipped"
    return
  fi
  say "installing ${missing[*]}"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}"; } >/dev/null ||
    say "cannot install ${missing[*]}; tests that need them are skipped"
}
