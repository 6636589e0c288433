/** The two patch formats the scripted server understands, as far as its users need them. */
import type { KubeClient } from "@effect-operator/core"

export type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

export const applyMergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isRecord(patch)) return patch
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = applyMergePatch(result[key], value)
  }
  return result
}

/** `test`, `add`, `replace` and `remove`; undefined if a test fails or a path is not there. */
export const applyJsonPatch = (
  target: unknown,
  operations: ReadonlyArray<KubeClient.JsonPatchOperation>
): unknown => {
  const document = JSON.parse(JSON.stringify({ root: target })) as Record<string, any>
  for (const operation of operations) {
    const path = `/root${operation.path}`.split("/").slice(1).map((part) =>
      part.replaceAll("~1", "/").replaceAll("~0", "~")
    )
    const last = path.pop()!
    let parent: any = document
    for (const part of path) parent = parent?.[part]
    if (typeof parent !== "object" || parent === null) return undefined
    if (Array.isArray(parent) && !/^(\d+|-)$/.test(last)) return undefined
    switch (operation.op) {
      case "test":
        if (JSON.stringify(parent[last]) !== JSON.stringify(operation.value)) return undefined
        break
      case "add":
        if (Array.isArray(parent)) parent.splice(last === "-" ? parent.length : Number(last), 0, operation.value)
        else parent[last] = operation.value
        break
      case "remove":
        if (parent[last] === undefined) return undefined
        if (Array.isArray(parent)) parent.splice(Number(last), 1)
        else delete parent[last]
        break
      case "replace":
        parent[last] = operation.value
        break
      default:
        return undefined
    }
  }
  return document["root"] as unknown
}
