/**
 * `Flags`: what a status says yes or no to is as people have it now.
 *
 * A flag, or a condition, that is set where something begins (paused, a reference that names nothing) and not where it
 * ends, says the same in every run. Two stories tell: where people want at once what they want in the end, it is not
 * said. Either people have such a switch themselves, and have turned it; or it has been "no" from the first: what was
 * not so then is not said to be so now. A "yes" may tell of the past (upgraded, once), and stays.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import type { Recording } from "../recording/Recording.ts"
import type { State } from "../state/Canonical.ts"
import { type Fields, keyOf, replacedIn } from "./Outdated.ts"

/** Each flag of a status by its path, also those that conditions of a type are, which are objects by type here. */
const flagsIn = (
  value: unknown,
  path: string,
  found: Map<string, boolean> = new Map()
): ReadonlyMap<string, boolean> => {
  if (typeof value === "boolean") found.set(path, value)
  if (!isObject(value)) return found
  for (const [key, item] of Object.entries(value)) {
    const said = path.endsWith(".conditions") && isObject(item) ? item["status"] : item
    if (said === "True" || said === "False") found.set(`${path}.${key}`, said === "True")
    else flagsIn(said, `${path}.${key}`, found)
  }
  return found
}

/** Whether a flag is called after a switch: "Paused" after "paused" or "pause". */
const isCalledAfter = (flag: string, path: string): boolean => new RegExp(`^${keyOf(path)}e?d?$`, "i").test(keyOf(flag))

/** Where the status of what people have says of something what is not so any more. */
export const flagOfBefore = (
  run: Recording,
  own: KubeObject,
  family: string | undefined,
  rests: ReadonlyArray<State>,
  state: State,
  atOnce: State
): string | undefined => {
  if (family === undefined) return undefined
  const from = `${own.kind}.status`
  const flags = (known: State): ReadonlyMap<string, boolean> => {
    const [member, ...more] = known.get(family) ?? []
    return member === undefined || more.length > 0 ? new Map() : flagsIn((JSON.parse(member) as Fields)["status"], from)
  }
  const wanted = flags(atOnce)
  const known = rests.map(flags)
  const turned = replacedIn(run, own).filter(({ now, old }) =>
    [now, old].every((text) => /^(?:true|false)$/.test(text))
  )
  for (const [path, said] of flags(state)) {
    if (wanted.get(path) === said || known.at(-1)?.get(path) !== said) continue
    const mine = turned.find((change) => isCalledAfter(path, change.path) && change.old === String(said))
    if (mine !== undefined) return `${path}: ${said}, and ${mine.path} is ${mine.now}`
    const isNo = !said && !wanted.has(path) && known.every((rest) => rest.get(path) !== true)
    if (isNo) return `${path}: false, as before; where people want at once what they want in the end it is not said`
  }
  return undefined
}
