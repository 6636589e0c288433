/**
 * `JsonPatchKeys`: `jsonpatch.escapeKey`, for paths of patches.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/jsonpatch.go.
 */
import { define, type FunctionDeclaration, overload } from "../Functions.ts"

export const jsonPatch: ReadonlyArray<FunctionDeclaration> = [
  define(
    "jsonpatch.escapeKey",
    overload(
      "string_jsonpatch_escapeKey_string",
      "(string) string",
      (key: string) => key.replace(/[~/]/g, (char) => char === "~" ? "~0" : "~1")
    )
  )
]
