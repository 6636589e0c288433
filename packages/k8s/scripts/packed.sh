#!/usr/bin/env bash
# A new operator from packed packages, in an empty folder outside of this repository, with the commands that its README
# and `effect-operator init` name: made, installed, tested, checked, run once, given another kind. One line for each.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export npm_config_audit=false npm_config_fund=false npm_config_prefer_offline=true npm_config_update_notifier=false

run() {
  if "$@" > "$folder/log" 2>&1; then echo "ok      $*"; else
    echo "FAILED  $*"
    cat "$folder/log"
    exit 1
  fi
}
# What a command that is to fail says.
refused() {
  local says="$1"
  shift
  if "$@" > "$folder/log" 2>&1 || ! grep -q -- "$says" "$folder/log"; then
    echo "FAILED  $* was to say: $says"
    cat "$folder/log"
    exit 1
  fi
  echo "refused $*"
}

run npm run build
run npm pack --workspace packages/core --workspace packages/k8s --pack-destination "$folder"
mkdir "$folder/empty" && cd "$folder/empty"
run npm init -y
run npm install "$folder"/effect-operator-core-*.tgz "$folder"/effect-operator-k8s-*.tgz
run npx effect-operator init demo --packages "$folder"
refused "not overwritten" npx effect-operator init demo --packages "$folder"
cd demo
run npm ci
run npm test
run npm run check
run npm start -- --once
run npm run build
run npx effect-operator add kind Site --group web.example.com
refused "not overwritten" npx effect-operator add kind Site --group web.example.com
# The permissions that `add kind` names are missing until somebody adds them.
run npx tsc
run npm run lint
run npx vitest run -t "none once it is gone"
