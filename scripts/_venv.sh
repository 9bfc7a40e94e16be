# shellcheck shell=bash
# Sourced by the scripts beside it: makes the repository's own virtual environment, .venv.
#
# An environment is trusted only with a stamp, which is written last and removed before anything is
# changed. One without a stamp was interrupted and is made anew: pip takes a half-copied package for
# an installed one.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
VENV="$ROOT/.venv"
OURS="$VENV/.made-by-scripts"

say() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
}

die() {
  say "$*"
  exit 1
}

# ensure_venv EXTRA: .venv with the package and one of its extras, or none if EXTRA is empty.
ensure_venv() {
  local extra="$1"
  if is_current "$extra"; then
    return
  fi
  refuse_foreign
  local python
  python="$(find_python)" || {
    install_python
    python="$(find_python)" || die "$(python_refusal)"
  }
  # The lock is on a file that is always there, so that two scripts at once leave nothing behind.
  {
    if command -v flock >/dev/null; then flock 9; fi
    is_current "$extra" || build "$python" "$extra" 9<&-
  } 9<"$ROOT/pyproject.toml"
}

# is_current EXTRA: whether .venv holds what is asked for; one with an extra holds the package too.
is_current() {
  local wanted stamp
  wanted="$(wanted_stamp)"
  for stamp in "$(stamp_file "$1")" "$(stamp_file "${1:-dev}")"; do
    if [[ -f $stamp && "$(<"$stamp")" == "$wanted" ]]; then
      "$VENV/bin/python" -c '' 2>/dev/null
      return
    fi
  done
  return 1
}

stamp_file() {
  printf '%s/.installed%s' "$VENV" "${1:+-$1}"
}

# The path belongs to it: a virtual environment does not work from another one.
wanted_stamp() {
  printf '%s %s' "$(cksum <"$ROOT/pyproject.toml")" "$ROOT"
}

refuse_foreign() {
  if [[ -e $VENV && ! -f $OURS ]]; then
    die "$VENV was not made by this script; move it away (mv .venv .venv-mine) and run this again"
  fi
  if [[ -e $VENV && ! -w $VENV || ! -e $VENV && ! -w $ROOT ]]; then
    die "$VENV cannot be written by user $(id -un); run this as its owner, or in a copy of your own"
  fi
}

# find_python: the interpreter to use, with everything that a virtual environment needs.
find_python() {
  local name
  for name in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
    then
      command -v "$name"
      return
    fi
  done
  return 1
}

# install_python: what Debian and its relatives leave out, where we may add it.
install_python() {
  if [[ -n ${PYTHON:-} || $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    die "$(python_refusal)"
  fi
  say "installing the system's package python3-venv"
  local said
  said="$(apt_install python3-venv 2>&1)" || {
    printf '%s\n' "$said" >&2
    die "apt-get cannot install python3-venv; its reason is above"
  }
}

apt_install() {
  local install=(apt-get install -y -qq --no-install-recommends "$@")
  export DEBIAN_FRONTEND=noninteractive
  # Its lists of packages may be missing or old.
  "${install[@]}" || { apt-get update -qq && "${install[@]}"; }
}

python_refusal() {
  local name="${PYTHON:-python3}" version
  version="$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" || {
    echo "$name is not here; install Python 3.11 or newer with its venv module" \
      "(as root: apt-get install python3-venv), or name one: PYTHON=/path/to/python3 bash $0"
    return
  }
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "$name has no venv module; run: apt-get install python3-venv (as root), then this again"
  else
    echo "$name is Python $version, and this needs 3.11 or newer;" \
      "install one, or name one: PYTHON=/path/to/python3 bash $0"
  fi
}

# build PYTHON EXTRA
build() {
  local python="$1" extra="$2" target started=$SECONDS
  if ! is_whole; then
    # The mark outlives the rest, or a removal cut short would leave a folder that is not ours.
    mkdir -p "$VENV"
    touch "$OURS"
    find "$VENV" -mindepth 1 -maxdepth 1 ! -path "$OURS" -exec rm -rf {} +
    say "making $VENV with $("$python" --version)"
    "$python" -m venv "$VENV"
    # An old pip downloads two dozen releases of boto3 in full before it finds one that fits.
    pip_install --upgrade pip
  fi
  rm -f "$VENV"/.installed*
  target="$ROOT${extra:+[$extra]}"
  say "installing the package${extra:+ with [$extra]}; the first time takes about a minute"
  pip_install --editable "$target"
  wanted_stamp >"$(stamp_file "$extra")"
  say "installed in $((SECONDS - started)) s"
}

# is_whole: whether .venv was once finished, here, and its interpreter still runs.
is_whole() {
  local stamp
  for stamp in "$VENV"/.installed*; do
    if [[ -f $stamp && "$(<"$stamp")" == *" $ROOT" ]]; then
      "$VENV/bin/python" -m pip --version >/dev/null 2>&1
      return
    fi
  done
  return 1
}

# Nothing is compiled ahead: Python does it for the few modules that are ever imported.
pip_install() {
  PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 \
    "$VENV/bin/python" -m pip install -qq --no-compile "$@" >&2
}
