/**
 * A replay token: everything that makes a run what it is, in one word. The same token, the same run, on any machine.
 */
import type { Plan, Point } from "./Fault.ts"
import { callFaults, eventFaults } from "./Fault.ts"

export interface Token {
  readonly scenario: string
  /** Steps of the scenario that are lived through. */
  readonly steps: ReadonlyArray<number>
  readonly seed: number
  readonly plan: Plan
}

const prefix = "kx1:"

export const format = ({ plan, scenario, seed, steps }: Token): string =>
  prefix + Buffer.from(JSON.stringify([
    scenario,
    steps,
    seed,
    plan.interleaving,
    plan.points.map(({ _tag, at, fault }) => [_tag === "Call" ? "c" : "e", at, fault])
  ])).toString("base64url")

const pointOf = (value: unknown): Point | undefined => {
  if (!Array.isArray(value) || typeof value[1] !== "number") return undefined
  const [kind, at, fault] = value as [unknown, number, unknown]
  if (kind === "c" && String(fault) in callFaults) return { _tag: "Call", at, fault: fault as keyof typeof callFaults }
  if (kind === "e" && String(fault) in eventFaults) {
    return { _tag: "Event", at, fault: fault as keyof typeof eventFaults }
  }
  return undefined
}

/** Reads a token. Throws, and says why, if it is none. */
export const parse = (text: string): Token => {
  const refuse = (why: string) => new Error(`replay: ${JSON.stringify(text.slice(0, 40))}: ${why}`)
  if (!text.startsWith(prefix)) throw refuse(`must begin with ${prefix}`)
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text.slice(prefix.length), "base64url").toString())
  } catch {
    throw refuse("cut, or changed: give the whole token")
  }
  const [scenario, steps, seed, interleaving, points] = Array.isArray(value) ? value : []
  const read = Array.isArray(points) ? points.map(pointOf) : [undefined]
  if (typeof scenario !== "string" || !Array.isArray(steps) || typeof seed !== "number" || read.includes(undefined)) {
    throw refuse("of another version, or changed")
  }
  return { scenario, steps, seed, plan: { interleaving: Number(interleaving), points: read as ReadonlyArray<Point> } }
}
