#!/usr/bin/env bash
# Runs the test suite, slow tests included; paths are relative to the repository.
#
#   bash scripts/test.sh [options and paths of pytest]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_venv.sh"
. "$(dirname "${BASH_SOURCE[0]}")/_docker.sh"
. "$(dirname "${BASH_SOURCE[0]}")/_programs.sh"

docker_tests_exist() {
  grep -rqE --include='*.py' 'mark\.docker\b' "$ROOT/tests"
}

# report STATUS SELECTION...: what ran and what did not, for a reader who sees only the end.
report() {
  local status="$1" left_out="nothing"
  shift
  if [[ ${#without_docker[@]} -gt 0 ]]; then
    left_out="tests marked docker, since there is no Docker engine that they can use (see above)"
  fi
  if [[ -n ${PYTEST_ADDOPTS:-} ]]; then
    set -- "$@" "(PYTEST_ADDOPTS)" "$PYTEST_ADDOPTS"
  fi
  if [[ $# -eq 0 ]]; then
    say "ran the whole suite, slow tests included (pytest's exit code $status)"
  else
    say "ran pytest with: $* (its exit code $status)"
  fi
  say "left out by this script: $left_out; skipped by the tests themselves: see SKIPPED above"
}

# workers ARGUMENT...: as many pytest processes as there are cores, unless the caller says how many.
workers() {
  if [[ " $*" != *" -n"* && " $*" != *" --numprocesses"* && " $*" != *" -p no:xdist"* ]]; then
    echo "-nauto --dist=worksteal"
  fi
}

ensure_venv dev
cd "$ROOT"
ensure_programs tmux chromium
without_docker=()
# pytest heeds the last -m only: one of the caller's own stands.
if [[ " $*" != *" -m"* ]] && docker_tests_exist; then
  trap stop_engine EXIT
  if ! ensure_engine || ! ensure_base_image; then
    without_docker=(-m "not docker")
  fi
fi
status=0
read -ra parallel <<<"$(workers "$@")"
"$VENV/bin/python" -m pytest "${parallel[@]}" "${without_docker[@]}" "$@" || status=$?
report "$status" "$@"
exit "$status"
