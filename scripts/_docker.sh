# shellcheck shell=bash
# Sourced by the scripts beside it, after _venv.sh: a Docker engine for the tests, and the base image
# that the bundled environments are built from where no image registry can be reached.
#
# Debian 12's own engine is too old. As root, Debian 13's is installed beside it; other machines use
# the engine they have, or do without.

OLDEST_ENGINE=24
ENGINE_LOG="${TMPDIR:-/tmp}/control-tower-dockerd.log"
ENGINE_PID="${TMPDIR:-/tmp}/control-tower-dockerd.pid"
BASE_IMAGE="control-tower-base:bookworm"
BASE_PACKAGES="bash,ca-certificates,curl,git,iptables,procps,python3,redis-server,sqlite3"

# ensure_engine: an engine that answers and is new enough; says why if there is none.
ensure_engine() {
  if engine_is_fit; then return; fi
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null || ! is_debian_12; then
    say "no Docker engine of version $OLDEST_ENGINE or newer answers; it is installed by this script" \
      "on Debian 12 as root only"
    return 1
  fi
  if ! programs_are_there; then
    say "installing a Docker engine"
    install_engine || return
  fi
  start_engine
}

engine_is_fit() {
  local version
  version="$(docker version --format '{{.Server.Version}}' 2>/dev/null)" || return 1
  [[ ${version%%.*} -ge $OLDEST_ENGINE ]] && docker compose version >/dev/null 2>&1
}

is_debian_12() {
  (. /etc/os-release && [[ $ID == debian && $VERSION_ID == 12 ]]) 2>/dev/null
}

programs_are_there() {
  command -v dockerd iptables >/dev/null && docker compose version >/dev/null 2>&1 &&
    docker buildx version >/dev/null 2>&1 &&
    [[ "$(dockerd --version)" =~ ([0-9]+)\. && ${BASH_REMATCH[1]} -ge $OLDEST_ENGINE ]]
}

# install_engine: Debian 13's engine, from the mirror that this machine uses already. Its priority
# keeps everything else at Debian 12.
install_engine() {
  local mirror sources=/etc/apt/sources.list.d/control-tower-trixie.sources
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror="$(debian_mirror)"
  if [[ -z $mirror ]]; then
    apt-get update -qq
    mirror="$(debian_mirror)"
  fi
  if [[ -z $mirror ]]; then
    say "apt-get knows no source of Debian's packages"
    return 1
  fi
  {
    printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\n' "$mirror"
    if [[ -f $keyring ]]; then printf 'Signed-By: %s\n' "$keyring"; fi
  } >"$sources"
  printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' \
    >/etc/apt/preferences.d/control-tower-trixie
  apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends iptables \
      docker.io/trixie docker-cli/trixie docker-compose/trixie docker-buildx/trixie \
      >"$ENGINE_LOG" 2>&1 || {
    cat "$ENGINE_LOG" >&2
    return 1
  }
  hash -r
}

# debian_mirror: the address from which this machine gets Debian 12.
debian_mirror() {
  # shellcheck disable=SC2016  # apt's own variables
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^bookworm //p' | head -n 1
}

# start_engine: in the background, as `stop_engine` finds it. The pool has room for 256 networks.
start_engine() {
  local waited=0 pid
  rm -f "$ENGINE_PID"
  dockerd --pidfile "$ENGINE_PID" --default-address-pool base=10.201.0.0/16,size=24 \
    >"$ENGINE_LOG" 2>&1 </dev/null &
  pid=$!
  until engine_is_fit; do
    sleep 0.5
    waited=$((waited + 1))
    if [[ $waited -ge 120 ]] || ! kill -0 "$pid" 2>/dev/null; then
      say "the Docker engine does not come up; the end of $ENGINE_LOG:"
      tail -n 20 "$ENGINE_LOG" >&2
      return 1
    fi
  done
  STARTED_ENGINE=$pid
}

# stop_engine: the one that this script started, if it did.
stop_engine() {
  if [[ -n ${STARTED_ENGINE:-} && -f $ENGINE_PID ]]; then
    kill "$(<"$ENGINE_PID")" && wait "$STARTED_ENGINE"
  fi
}

# ensure_base_image: named by CT_BASE_IMAGE, for the build arguments of the bundled environments.
# Made from Debian's packages where the public image cannot be pulled.
ensure_base_image() {
  if [[ -n ${CT_BASE_IMAGE:-} ]]; then return; fi
  if ! docker image inspect "$BASE_IMAGE" >/dev/null 2>&1; then
    if docker pull -q debian:bookworm-slim >/dev/null 2>&1; then return; fi
    say "building the base image $BASE_IMAGE; the first time takes about a minute"
    build_base_image || return
  fi
  export CT_BASE_IMAGE="$BASE_IMAGE"
}

build_base_image() {
  local root status=0
  command -v debootstrap >/dev/null || apt_install debootstrap >&2 || return
  root="$(mktemp -d)"
  {
    debootstrap --variant=minbase --include="$BASE_PACKAGES" bookworm "$root" "$(debian_mirror)" \
      >"$ENGINE_LOG.base" 2>&1 || { tail -n 20 "$ENGINE_LOG.base" >&2 && false; }
  } && rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* &&
    tar -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$BASE_IMAGE" >/dev/null ||
    status=$?
  rm -rf "$root"
  return "$status"
}
