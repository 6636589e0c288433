#!/usr/bin/env bash
# Runs `effect-operator dev --once` on every example, or on those named as arguments: from source, on an in-memory
# cluster, as its own ServiceAccount, with its sample applied, until nothing is left to do. Prints one line for each.
set -uo pipefail
cd "$(dirname "$0")/../.."
one() {
  local log
  log="$(mktemp)"
  if node --conditions=op-source packages/k8s/src/cli/main.ts dev "examples/src/$1/main.ts" --once \
    --apply "examples/deploy/$1/sample.yaml" > "$log" 2>&1; then echo "ok      $1"; else
    echo "FAILED  $1"
    cat "$log"
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}
export -f one
if [ $# -eq 0 ]; then set -- $(cd examples/src && ls -d */main.ts | xargs -n 1 dirname); fi
# In parallel, since most of the time is spent waiting.
printf '%s\n' "$@" | xargs -P 3 -I NAME bash -c 'one NAME'
