/**
 * `Draw`: custom resources and sequences of changes to them, drawn from a Schema.
 *
 * A drawn story creates one object, `drawn`, gives it other specs, deletes it, and creates it again. Specs come from
 * the Schema of the kind, or from a narrower one. Changes that the server would reject (by its CustomResourceDefinition,
 * including CEL rules and transition rules, or by a hook) are left out. The same seed draws the same story.
 *
 * `smaller` gives the stories that are slightly simpler than one: with one change, field or item less, with smaller
 * numbers or shorter texts. It gives only stories that decode and that the server accepts.
 */
import type { AnySchema, CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isObject, type JsonObject } from "../../../schema/JsonValue.ts"
import * as Samples from "../../internal/Samples.ts"
import type { Change, Draws, Scenario } from "../Scenario.ts"
import { draw } from "../world/Seed.ts"
import * as Server from "../world/Server.ts"
import { modest } from "./Modest.ts"

export const defaults = {
  /** Maximum number of changes in a story, including the creation. */
  changes: 4,
  /** Maximum length of texts and lists. */
  size: 8,
  /** This many times the needed specs are drawn, because the server may reject some. */
  spare: 3,
  /** How many stories are drawn to find one that the server accepts. */
  tries: 50,
  /** This many times the needed stories are drawn; the most eventful ones are used. */
  choice: 3
} as const

/** The name of the drawn object. */
export const name = "drawn"

export interface Options<A> {
  /**
   * A narrower Schema of specs, whose values are drawn as they are. Values from the kind's own Schema are modest: few
   * items, plain words, existing namespaces (see `Modest`).
   */
  readonly spec?: AnySchema | undefined
  /**
   * Whether the cluster is as it should be when it has come to rest after a change. The object is undefined after it
   * was deleted.
   */
  readonly desired?:
    | ((
      object: A | undefined,
      objects: ReadonlyArray<KubeObject>,
      outside: ReadonlyMap<string, unknown>
    ) => boolean)
    | undefined
}

/** Draws stories about objects of a kind: `draws: Simulation.draws(PodSet, { desired: … })`. */
export const draws = <A extends KubeObject>(resource: CustomResource<A>, options: Options<A> = {}): Draws => {
  const schema = options.spec ?? resource.schemas.spec
  const { desired } = options
  const fits: Draws["fits"] = (spec) => Result.isSuccess(Schema.decodeUnknownResult(schema)(spec))
  return {
    resource,
    specs: (seed, count) => {
      const values = Samples.of(schema, { count, seed, size: defaults.size })
      const specs = values.map((value) => Schema.encodeSync(schema)(value)).filter(isObject)
      let turn = 0
      return options.spec === undefined ? specs.map((spec) => modest(spec, (n) => draw(seed, turn++, n), fits)) : specs
    },
    fits,
    desired: desired === undefined ? undefined : (objects, _, outside) => {
      const own = objects.find(({ kind, metadata }) => kind === resource.kind && metadata.name === name)
      const read = own === undefined ? undefined : resource.decode(own)
      return read === undefined
        ? desired(undefined, objects, outside)
        : Result.isSuccess(read) && desired(read.success, objects, outside)
    }
  }
}

/**
 * The changes that the server accepts, up to a maximum, each applied after the previous ones; and the message of a
 * rejection.
 */
const judged = (scenario: Scenario, { resource }: Draws, changes: ReadonlyArray<Change>, most = Infinity) => {
  const server = Server.make(scenario)
  const place = resource.scope === "Namespaced" ? { namespace: "default" } : {}
  const accepted: Array<Change> = []
  let refusal = "nothing was drawn"
  let there = false
  for (const change of changes) {
    if (accepted.length >= most) break
    if (change === null && !there) continue
    const own = Resource.path(resource, { ...place, name })
    const answer = change === null
      ? server("DELETE", own)
      : there
      ? server("PATCH", own, [{ op: "replace", path: "/spec", value: change }])
      : server("POST", Resource.path(resource, place), {
        apiVersion: resource.apiVersion,
        kind: resource.kind,
        metadata: { ...place, name },
        spec: change
      })
    if (answer.status >= 300) {
      const { message } = answer.body as { readonly message?: string }
      refusal = message ?? `status ${answer.status}`
      continue
    }
    accepted.push(change)
    there = change !== null
  }
  return { accepted, refusal }
}

/** A list as people change it: with one item less, or one more of those that were drawn. */
const listed = (
  before: ReadonlyArray<unknown>,
  drawn: ReadonlyArray<unknown>,
  chance: (what: number, below: number) => number
): ReadonlyArray<unknown> => {
  const known = before.map((item) => JSON.stringify(item))
  const more = drawn.find((item) => !known.includes(JSON.stringify(item)))
  return more === undefined || (before.length > 0 && chance(4, 2) === 0)
    ? before.toSpliced(chance(5, Math.max(1, before.length)), 1)
    : [...before, more]
}

/**
 * A change as people make it: half of the time a single field, because some effects only show then, and half of those of
 * a list by one item; now and then the whole spec, or back to an earlier one. `chance(what, n)` draws a number below n.
 */
const next = (
  drawn: JsonObject,
  earlier: ReadonlyArray<JsonObject>,
  chance: (what: number, below: number) => number,
  fits: Draws["fits"]
): JsonObject => {
  const before = earlier.at(-1)
  if (before === undefined) return drawn
  const how = chance(0, 8)
  const others = earlier.filter((one) => JSON.stringify(one) !== JSON.stringify(before))
  if (how === 0 && others.length > 0) return others[chance(1, others.length)]!
  if (how > 4) return drawn
  const fields = Object.keys({ ...before, ...drawn }).filter((key) =>
    JSON.stringify(before[key]) !== JSON.stringify(drawn[key])
  )
  const field = fields[chance(2, fields.length)]!
  const [was, is] = [before[field], drawn[field]]
  const isListed = Array.isArray(was) && Array.isArray(is) && chance(3, 2) === 0
  if (fields.length < 2 && !isListed) return drawn
  const { [field]: _, ...rest } = before
  const value = isListed ? listed(was, is, chance) as typeof is : is
  const changed = field in drawn ? { ...before, [field]: value! } : rest
  return fits(changed) ? changed : drawn
}

/** The changes of a story. Throws if the server accepts nothing that is drawn from the Schema. */
export const changes = (scenario: Scenario, draws: Draws, seed: number, turn: number): ReadonlyArray<Change> => {
  let refused = ""
  for (let attempt = 0; attempt < defaults.tries; attempt++) {
    const chance = turn * defaults.tries + attempt
    // At least one change: a creation alone is only the beginning of one.
    const count = 2 + draw(seed + 1, chance, defaults.changes - 1)
    const specs = draws.specs(draw(seed, chance, 2 ** 31), count * defaults.spare)
    const earlier: Array<JsonObject> = []
    const wanted = specs.map((spec, index): Change => {
      const own = chance * specs.length + index
      if (index > 0 && draw(seed + 2, own, 4) === 0) return null
      const change = next(spec, earlier, (what, below) => draw(seed + 4 + what, own, below), draws.fits)
      earlier.push(change)
      return change
    })
    const { accepted, refusal } = judged(scenario, draws, wanted, count)
    if (accepted.length > 0) {
      return accepted.at(-1) === null || draw(seed + 3, chance, 2) === 0
        ? accepted
        : judged(scenario, draws, [...accepted, null]).accepted
    }
    refused = refusal
  }
  throw new Error(
    `${scenario.name}: draws: the server accepted none of ${defaults.tries} specs of ${draws.resource.kind} ` +
      `(the last: ${refused}): narrow the spec Schema of draws`
  )
}

/** Whether a program that tests `if (value)` takes the value for absent. */
const isNothing = (value: unknown): boolean =>
  value === null || value === false || value === 0 || value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0)

const sizeOf = (value: unknown): number | undefined =>
  typeof value === "number" ? value : Array.isArray(value) ? value.length : undefined

/** How each field changes: to more, less, nothing (or not even that), or something else. */
const turns = (before: unknown, after: unknown, path: string, found: Set<string>): void => {
  if (JSON.stringify(before) === JSON.stringify(after)) return
  if (after === undefined) found.add(`${path}: gone`)
  else if (isNothing(after)) found.add(`${path}: nothing`)
  else if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      turns(before[key], after[key], `${path}.${key}`, found)
    }
  } else {
    const [one, two] = [sizeOf(before), sizeOf(after)]
    found.add(
      `${path}: ${one === undefined || two === undefined || one === two ? "other" : one < two ? "more" : "less"}`
    )
  }
}

/** The changed field, if it is the only one of several. */
const onlyField = (before: JsonObject, after: JsonObject): string | undefined => {
  const all = Object.keys({ ...before, ...after })
  const [field, ...more] = all.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
  return all.length > 1 && more.length === 0 ? field : undefined
}

/**
 * The different things that happen to the object: creation, changes of each field in its ways or alone, changes back,
 * deletion, recreation.
 */
export const happenings = (changes: ReadonlyArray<Change>): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const [index, change] of changes.entries()) {
    const before = changes[index - 1]
    if (change === null) found.add("deleted")
    else if (before === undefined || before === null) found.add(index === 0 ? "made" : "made anew")
    else if (JSON.stringify(change) === JSON.stringify(before)) found.add("asked for again")
    else {
      found.add("changed")
      turns(before, change, "spec", found)
      const alone = onlyField(before, change)
      if (alone !== undefined) found.add(`spec.${alone}: alone`)
      if (changes.slice(0, index).some((other) => JSON.stringify(other) === JSON.stringify(change))) {
        found.add("changed back")
      }
    }
  }
  return found
}

/**
 * Stories ordered so that each adds the most that did not happen in those before it; on a tie, the most eventful first.
 */
export const telling = <A extends { readonly changes: ReadonlyArray<Change> }>(
  stories: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const left = stories.map((story) => ({ story, all: happenings(story.changes) }))
  const known = new Set<string>()
  const told: Array<A> = []
  while (left.length > 0) {
    const worth = left.map(({ all }) => [...all].filter((one) => !known.has(one)).length + all.size / 1_000)
    const [next] = left.splice(worth.indexOf(Math.max(...worth)), 1)
    for (const one of next!.all) known.add(one)
    told.push(next!.story)
  }
  return told
}

/** Simpler texts, numbers, lists and objects, the simplest first. */
const simpler = (value: unknown): ReadonlyArray<unknown> => {
  if (value === true) return [false]
  if (typeof value === "number") {
    const half = Math.trunc(value / 2)
    return [...new Set([0, Math.sign(value), half, value - Math.sign(value)])]
      .filter((other) => Math.abs(other) < Math.abs(value))
  }
  if (typeof value === "string") {
    const shorter = [...new Set([0, 1, value.length >> 1, value.length - 1])]
      .filter((length) => length >= 0 && length < value.length)
      .map((length) => value.slice(0, length))
    return value === "" || value === "a" ? shorter : [...shorter, "a".repeat(Math.min(1, value.length))]
  }
  if (Array.isArray(value)) {
    return [
      ...value.map((_, index) => value.toSpliced(index, 1)),
      ...value.flatMap((item, index) => simpler(item).map((other) => value.with(index, other)))
    ]
  }
  if (!isObject(value)) return []
  const entries = Object.entries(value)
  return [
    ...entries.map(([key]) => Object.fromEntries(entries.filter(([other]) => other !== key))),
    ...entries.flatMap(([key, item]) => simpler(item).map((other) => ({ ...value, [key]: other })))
  ]
}

/**
 * Stories that begin later, then those with one change less, then those with one change simpler. Lazy, because the
 * server is asked about each.
 */
export function* smaller(
  scenario: Scenario,
  draws: Draws,
  changes: ReadonlyArray<Change>
): Generator<ReadonlyArray<Change>> {
  const candidates = [
    // Without one of several incarnations: neither its end nor its beginning can be left out alone.
    ...changes.flatMap((change, index) => change === null ? [changes.slice(index + 1)] : []).toReversed(),
    ...changes.map((_, index) => changes.toSpliced(index, 1)).toReversed(),
    ...changes.flatMap((change, index) =>
      change === null
        ? []
        : simpler(change).filter((other): other is JsonObject => isObject(other) && draws.fits(other))
          .map((other) => changes.with(index, other))
    )
  ]
  for (const candidate of candidates) {
    if (judged(scenario, draws, candidate).accepted.length === candidate.length) yield candidate
  }
}
