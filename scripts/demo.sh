#!/usr/bin/env bash
# Runs the bundled environment with its reference policy: no Docker, no model, no key.
#
#   bash scripts/demo.sh [options of ct run eval2] [-- options of pytest]
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/_venv.sh"

ensure_venv ""
run=(ct run eval2 -e ledger --all --untrusted-policy reference --sandbox bwrap "$@")
say "running: ${run[*]}"
exec "$VENV/bin/${run[0]}" "${run[@]:1}"
