/**
 * `Unsaid`: what the status of a custom resource does not say if nobody waited for a step.
 *
 * At rest a status also tells what an earlier step came to (until when a certificate is valid that is in use until the
 * next one is approved). If the next step came sooner, the earlier one came to nothing, and there is nothing to tell, as
 * if it had never been seen; although the rest of the status tells that it was.
 */
import { isObject, type JsonObject } from "../../../schema/JsonValue.ts"
import type { State } from "./Canonical.ts"

const only = (state: State, family: string): JsonObject | undefined => {
  const [member, ...more] = state.get(family) ?? []
  return member === undefined || more.length > 0 ? undefined : JSON.parse(member) as JsonObject
}

/** The state with the fields of such statuses that are also missing where the step was never seen. */
export const unsaid = (found: State, wanted: State, unseen: State, kinds: ReadonlyArray<string>): State => {
  const out = new Map(found)
  for (const family of wanted.keys()) {
    if (!kinds.includes(family.split(" ")[0]!)) continue
    const object = only(found, family)
    const [now, then, never] = [object, only(wanted, family), only(unseen, family)].map((one) => one?.["status"])
    if (object === undefined || !isObject(now) || !isObject(then) || !isObject(never)) continue
    const missing = Object.entries(then).filter(([key]) => !(key in now) && !(key in never))
    if (missing.length === 0) continue
    const status = Object.fromEntries([...Object.entries(now), ...missing].sort(([a], [b]) => (a < b ? -1 : 1)))
    out.set(family, [JSON.stringify({ ...object, status })])
  }
  return out
}
