/**
 * `OperationFaults`: strict decoding errors in the operations of a JSON patch: unknown fields, and keys that are
 * repeated in an operation or its value, in the order of the text.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go (`jsonPatchOp`, `applyJSPatch`).
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as DuplicateFields from "../DuplicateFields.ts"

const fields: ReadonlySet<string> = new Set(["op", "path", "from", "value"])

const keysOf = (operation: unknown): ReadonlyArray<string> =>
  operation instanceof DuplicateFields.Entries
    ? operation.entries.map(([key]) => key)
    : JsonValue.isObject(operation)
    ? Object.keys(operation)
    : []

/** The errors of a patch, such as `json patch unknown field "[0].foo"`. */
export const of = (patch: ReadonlyArray<unknown>): ReadonlyArray<string> => {
  const repeated = DuplicateFields.of(patch)
  const written = DuplicateFields.writtenOf(patch)
  const operations: ReadonlyArray<unknown> = Array.isArray(written) ? written : patch
  const said = new Set<string>()
  const say = (what: string, path: string) => said.add(`json patch ${what} field ${FieldError.quote(path)}`)
  for (const [index, operation] of operations.entries()) {
    const seen = new Set<string>()
    for (const key of keysOf(operation)) {
      const path = `[${index}].${key}`
      if (!fields.has(key)) {
        say("unknown", path)
        continue
      }
      if (seen.has(key)) say("duplicate", path)
      seen.add(key)
      if (key !== "value") continue
      for (const inner of repeated) {
        if (/^[.[]/.test(inner.slice(path.length)) && inner.startsWith(path)) say("duplicate", inner)
      }
    }
  }
  return [...said]
}
