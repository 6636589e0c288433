/**
 * `Flags`: booleans and conditions in a status follow the spec.
 *
 * A flag or condition that is set when something begins (paused, a dangling reference) and not reset when it ends is
 * the same in every run. Two stories show it: if the last spec is applied at once, the status does not have it. Either
 * its name is that of a switch in the spec, which users have turned; or it has been false since the beginning. A true
 * one may record the past (upgraded once), and may stay.
 *
 * A condition whose reason changes with its status, and that has at the end the reason and the message that it has if
 * the last spec is applied at once, has its status, too.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import type { Recording } from "../recording/Recording.ts"
import type { State } from "../state/Canonical.ts"
import { type Fields, keyOf, replacedIn } from "./Outdated.ts"

/** The flags of a status by path, including conditions, which are objects by type in a canonical state. */
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

interface Condition {
  readonly status: string
  readonly reason: string
  readonly message: string
}

/** The conditions of the users' object in a state, by type. */
const conditionsIn = (state: State, family: string): ReadonlyMap<string, Condition> => {
  const [member, ...more] = state.get(family) ?? []
  const status = member === undefined || more.length > 0 ? undefined : (JSON.parse(member) as Fields)["status"]
  const conditions = isObject(status)
    ? status["conditions"] as Readonly<Record<string, Condition>> | undefined
    : undefined
  return new Map(
    isObject(conditions)
      ? Object.entries(conditions).flatMap(([type, { message, reason, status }]) =>
        /^(?:True|False)$/.test(status) && reason !== "" ? [[type, { status, reason, message }] as const] : []
      )
      : []
  )
}

/** Where a condition has kept the status that it had for another reason. */
const conditionOfBefore = (
  own: KubeObject,
  family: string,
  rests: ReadonlyArray<State>,
  state: State,
  atOnce: State
): string | undefined => {
  const [known, wanted] = [rests.map((rest) => conditionsIn(rest, family)), conditionsIn(atOnce, family)]
  for (const [type, said] of conditionsIn(state, family)) {
    const other = wanted.get(type)
    if (other === undefined || other.status === said.status) continue
    if (other.reason !== said.reason || other.message !== said.message) continue
    const earlier = known.map((rest) => rest.get(type)).find((one) =>
      one?.status === said.status && one?.reason !== said.reason
    )
    if (earlier === undefined) continue
    return `${own.kind}.status.conditions.${type}: ${said.status} with the reason ${said.reason}, as with ${earlier.reason} before; ` +
      `where people want at once what they want in the end it is ${other.status}`
  }
  return undefined
}

/** Whether a flag is named after a switch: "Paused" after "paused" or "pause". */
const isCalledAfter = (flag: string, path: string): boolean => new RegExp(`^${keyOf(path)}e?d?$`, "i").test(keyOf(flag))

/**
 * Where the status of the users' object has a flag that is outdated. If the object is not the only one of the users,
 * what is said of it may be due to another, but not what follows from its own spec.
 */
export const flagOfBefore = (
  run: Recording,
  own: KubeObject,
  family: string | undefined,
  rests: ReadonlyArray<State>,
  state: State,
  atOnce: State,
  isOnly = true
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
    const isNo = isOnly && !said && !wanted.has(path) && known.every((rest) => rest.get(path) !== true)
    if (isNo) return `${path}: false, as before; where people want at once what they want in the end it is not said`
  }
  return conditionOfBefore(own, family, rests, state, atOnce)
}
