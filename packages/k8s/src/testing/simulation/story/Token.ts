/**
 * A replay token: everything that determines a run, in one word. The same token gives the same run on any machine.
 *
 * A token is valid for the scenario it was made for. If the kinds or steps have changed since, it is refused, because
 * its numbers would mean something else. The operator may change: that is what a replay is for.
 */
import { isObject } from "../../../schema/JsonValue.ts"
import * as Declared from "../../Declared.ts"
import * as TestWebhooks from "../../TestWebhooks.ts"
import type { Scenario } from "../Scenario.ts"
import {
  callFaults,
  clockFaults,
  eventFaults,
  externalFaults,
  type Plan,
  type Point,
  stepFaults
} from "../recording/Fault.ts"
import { hash } from "../world/Seed.ts"
import type { Story } from "./Story.ts"

export interface Token {
  readonly scenario: string
  /** The part of the scenario that is run. */
  readonly story: Story
  readonly seed: number
  readonly plan: Plan
  /** `fingerprint` of the scenario it was made for. */
  readonly fingerprint: string
}

const prefix = "kx1:"

/** What the numbers of a token depend on: the kinds, the hooks, the steps, the replicas, and whatever is drawn. */
export const fingerprint = ({ draws, replicas = 1, resources, steps, webhooks = [] }: Scenario): string => {
  const text = JSON.stringify([
    resources.map(Declared.definition),
    steps.map(({ name }) => name),
    replicas,
    ...(draws === undefined ? [] : [draws.resource.id]),
    ...TestWebhooks.hooksOf(webhooks).map(({ name, registration }) => [name, registration])
  ])
  return hash(text).toString(36)
}

const kinds = {
  c: ["Call", callFaults],
  e: ["Event", eventFaults],
  x: ["External", externalFaults],
  k: ["Clock", clockFaults],
  s: ["Step", stepFaults]
} as const

const letters = { Call: "c", Event: "e", External: "x", Clock: "k", Step: "s" } as const

export const format = ({ fingerprint, plan, scenario, seed, story }: Token): string =>
  prefix + Buffer.from(JSON.stringify([
    scenario,
    story.steps,
    seed,
    plan.interleaving,
    plan.points.map(({ _tag, at, fault }) => [letters[_tag], at, fault]),
    fingerprint,
    ...(story.changes.length === 0 && story.given === 0 ? [] : [story.changes]),
    ...(story.given === 0 ? [] : [story.given])
  ])).toString("base64url")

const pointOf = (value: unknown): Point | undefined => {
  if (!Array.isArray(value) || typeof value[1] !== "number" || !Object.hasOwn(kinds, String(value[0]))) return undefined
  const [_tag, faults] = kinds[value[0] as keyof typeof kinds]
  return Object.hasOwn(faults, String(value[2])) ? { _tag, at: value[1], fault: value[2] } as Point : undefined
}

const isChanges = (value: unknown): value is Story["changes"] =>
  Array.isArray(value) && value.every((change) => change === null || isObject(change))

/** Parses a token. Throws an error with the reason if it is not one. */
export const parse = (text: string): Token => {
  const refuse = (why: string) => new Error(`replay: ${JSON.stringify(text.slice(0, 40))}: ${why}`)
  if (!text.startsWith(prefix)) throw refuse(`must begin with ${prefix}`)
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text.slice(prefix.length), "base64url").toString())
  } catch {
    throw refuse("truncated or changed: give the complete token")
  }
  const [scenario, steps, seed, interleaving, points, fingerprint, changes = [], given = 0] = Array.isArray(value)
    ? value
    : []
  const read = Array.isArray(points) ? points.map(pointOf) : [undefined]
  if (
    typeof scenario !== "string" || !Array.isArray(steps) || typeof seed !== "number" ||
    typeof fingerprint !== "string" || read.includes(undefined) || !isChanges(changes) || typeof given !== "number"
  ) {
    throw refuse("from another version, or changed")
  }
  const plan = { interleaving: Number(interleaving), points: read as ReadonlyArray<Point> }
  return { scenario, story: { given, steps, changes }, seed, plan, fingerprint }
}

/** Parses a token for a scenario. Throws if it belongs to another scenario, or to an earlier version of this one. */
export const parseFor = (scenario: Scenario, text: string): Token => {
  const token = parse(text)
  if (token.scenario !== scenario.name) {
    throw new Error(
      `replay: the token is for scenario ${JSON.stringify(token.scenario)}, not ${JSON.stringify(scenario.name)}`
    )
  }
  if (token.fingerprint !== fingerprint(scenario)) {
    throw new Error(
      "replay: the kinds, steps or replicas of the scenario have changed since the token was made: run the simulation anew"
    )
  }
  return token
}
