#!/usr/bin/env bash
# Creates a new operator from packed packages, in an empty folder outside of this repository, with the commands in its
# README and of `effect-operator init`: installs, tests, checks and runs it, builds and runs its image, and adds a version
# and a kind. Prints one line for each command.
set -euo pipefail
cd "$(dirname "$0")/../../.."
repository="$PWD"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export npm_config_audit=false npm_config_fund=false npm_config_prefer_offline=true npm_config_update_notifier=false
# Or `npm run --silent` hides what is wrong in the commands below.
unset npm_config_loglevel

run() {
  if "$@" > "$folder/log" 2>&1; then echo "ok      $*"; else
    echo "FAILED  $*"
    cat "$folder/log"
    exit 1
  fi
}
# Expects a command to fail with a message.
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
run npm test
run npm run check
# An effect that is never run: the status is not written.
sed -i.kept 's/yield\* ObjectStatus/ObjectStatus/' src/demo/reconciler.ts
refused "floatingEffect" npm run check
mv src/demo/reconciler.ts.kept src/demo/reconciler.ts
run npm start -- --once
run npm run build

# Without a container engine (see image.ts), starting with `npm ci`; only root can use chroot.
if [ "$(id -u)" = 0 ]; then
  run npm --prefix "$repository" run image -- "$PWD" "$PWD/Containerfile" "$PWD/deploy" "$PWD/samples"
else
  echo "skipped the image"
  run npm ci
fi

run npx effect-operator add version Demo v2 --storage
refused "Demo already has v2" npx effect-operator add version Demo v2
# The changes that the command has printed.
sed -i \
  -e 's/import { LiveClient, type Manifests, runMain }/import { LiveClient, Manifests, runMain, Webhook }/' \
  -e 's|^import { Demo } from .*|import { conversion, DemoVersions } from "./demo/versions.ts"|' \
  -e 's/resources: \[Demo\],/resources: [DemoVersions],\n  webhooks: [conversion],/' \
  -e 's/^  Manager.layer(operator.controllers).pipe(/  const server = Webhook.layer(operator.webhooks, { name: operator.name, service: Manifests.webhookService(operator) })\n&Layer.provide(server), /' \
  src/main.ts
sed -e 's|example.com/v1|example.com/v2|' -e 's/name: sample/name: second/' samples/demo.yaml > samples/demo.v2.yaml
run npm run manifests
run npm run check
run npm test
run npm start -- --once
run npx effect-operator add kind Site --group web.example.com
refused "not overwritten" npx effect-operator add kind Site --group web.example.com
# The permissions that `add kind` prints are still missing.
run npx tsc
run npm run lint
run npx vitest run -t "none once it is gone"
