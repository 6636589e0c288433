#!/usr/bin/env bash
# `effect-operator dev --once` on every example: from source, on an in-memory cluster, as its own ServiceAccount, with its
# sample applied, until nothing is left to do. One line for each. Names as arguments choose.
set -uo pipefail
cd "$(dirname "$0")/../.."
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
failed=0
for name in "${@:-}"; do
  for main in examples/src/${name:-*}/main.ts; do
    example="$(basename "$(dirname "$main")")"
    if node --conditions=op-source packages/k8s/src/cli/main.ts dev "$main" --once \
      --apply "examples/deploy/$example/sample.yaml" > "$log" 2>&1; then echo "ok      $example"; else
      failed=$((failed + 1))
      echo "FAILED  $example"
      cat "$log"
    fi
  done
done
[ "$failed" -eq 0 ]
