#!/usr/bin/env bash
# A new operator from packed packages, in an empty folder outside of this repository, with the commands that its README
# and `effect-operator init` name: made, installed, tested, checked, run once, built and run as its container file says, given
# another version and another kind. One line for each.
set -euo pipefail
cd "$(dirname "$0")/../../.."
repository="$PWD"
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
run npm test
run npm run check
# A status that is never written, as nobody runs what writes it.
sed -i.kept 's/yield\* ObjectStatus/ObjectStatus/' src/demo/reconciler.ts
refused "floatingEffect" npm run check
mv src/demo/reconciler.ts.kept src/demo/reconciler.ts
run npm start -- --once
run npm run build

# Without a container engine, see image.ts, from `npm ci` on; only root may give a program a root of its own.
if [ "$(id -u)" = 0 ]; then
  run npm --prefix "$repository" run image -- "$PWD" "$PWD/Containerfile" "$PWD/deploy" "$PWD/samples"
else
  echo "skipped the image"
  run npm ci
fi

run npx effect-operator add version Demo v2 --storage
refused "Demo has v2 already" npx effect-operator add version Demo v2
# What it says is to be added.
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
# The permissions that `add kind` names are missing until somebody adds them.
run npx tsc
run npm run lint
run npx vitest run -t "none once it is gone"
