/**
 * `Departed`: what an operator names exists.
 *
 * A list of members is rewritten if there are more or fewer of them. If one has replaced another, it still names the
 * one that is gone. Every run calls both the same (names are random or counted), so the ends do not differ. If
 * everything that a place names exists without faults, it must name nothing that is gone. A place that names more than
 * without faults may be a history of successive objects. Addresses are names too: another Pod has another address.
 *
 * Source: the tutorial of the Operator SDK, whose `status.nodes` is compared name by name.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { decoded } from "../recording/Base64.ts"
import { taken } from "../recording/Excuses.ts"
import { calls, type Recording, seen } from "../recording/Recording.ts"
import { name } from "../recording/Writes.ts"
import type { Reference } from "../running/Reference.ts"
import { addressesOf } from "../state/Addresses.ts"
import * as Canonical from "../state/Canonical.ts"
import type { Oracle } from "./Oracle.ts"

/** What is named at a place. */
interface Named {
  readonly teller: string
  readonly path: string
  readonly all: Set<string>
  /** Kinds of the named objects that exist. */
  readonly there: Set<string>
  readonly gone: Map<string, KubeObject>
}

/**
 * What the operator writes in an object: everything but the status in what it created, only the status in a custom
 * resource.
 */
const saidIn = (object: KubeObject, run: Recording): unknown => {
  const { apiVersion: _, kind, metadata: __, status, ...rest } = object as KubeObject & { readonly status?: unknown }
  return run.kinds.includes(kind) ? { status } : rest
}

/** The kinds of the objects at the end of a run, by name and by address. */
const living = (run: Recording): ReadonlyMap<string, ReadonlySet<string>> => {
  const kinds = new Map<string, Set<string>>()
  const note = (word: string, kind: string) => kinds.set(word, (kinds.get(word) ?? new Set()).add(kind))
  for (const { kind, metadata } of run.objects) note(metadata.name, kind)
  for (const [address, { kind }] of addressesOf(run.objects, run)) note(address, kind)
  return kinds
}

/** What existed under names and addresses that nothing has any more. */
const departedOf = (run: Recording, there: ReadonlyMap<string, unknown>): ReadonlyMap<string, KubeObject> => {
  const all = seen(run)
  const known = [
    ...all.map((object) => [object.metadata.name, object] as const),
    ...addressesOf(all, run)
  ]
  return new Map(known.filter(([word, { kind }]) => !there.has(word) && kind !== "Event"))
}

/** Names and addresses in a text: not what is in the middle of a word with capitals, such as a key in base64. */
const words = /(?<![A-Za-z0-9])[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?![A-Za-z0-9])/g

/** A text for people: with the data of a Secret decoded, and nothing of what is no text. */
const textOf = (value: string, path: string, { kind }: KubeObject): string => {
  if (kind !== "Secret" || !path.startsWith(".data.")) return value
  const plain = decoded(value)
  return plain === value ? "" : plain
}

/** What the operator names at the end of a run, by the place as every run calls it. */
const named = (run: Recording, mask: Canonical.Mask): ReadonlyMap<string, Named> => {
  const there = living(run)
  const gone = departedOf(run, there)
  const made = new Set(
    calls(run).flatMap(({ object, status }) => status === 201 && object !== undefined ? [object.metadata.uid] : [])
  )
  const found = new Map<string, Named>()
  const families = Canonical.families(run, mask)
  const note = (word: string, path: string, teller: KubeObject): void => {
    const [lives, went] = [there.get(word), gone.get(word)]
    if (lives === undefined && went === undefined) return
    const key = `${families.get(teller.metadata.uid)}${path}`
    const known = found.get(key) ?? { teller: name(teller), path, all: new Set(), there: new Set(), gone: new Map() }
    found.set(key, known)
    known.all.add(word)
    for (const kind of lives ?? []) known.there.add(kind)
    if (went !== undefined) known.gone.set(word, went)
  }
  const walk = (value: unknown, path: string, teller: KubeObject): void => {
    if (Array.isArray(value)) { for (const item of value) walk(item, `${path}[]`, teller) }
    else if (isObject(value)) {
      for (const [key, item] of Object.entries(value)) {
        const isName = there.has(key) || gone.has(key)
        if (isName) note(key, path, teller)
        walk(item, `${path}${isName ? "{}" : `.${key}`}`, teller)
      }
    } else if (typeof value === "string") {
      for (const [word] of textOf(value, path, teller).matchAll(words)) note(word, path, teller)
    }
  }
  for (const object of run.objects) {
    // An Event describes the past.
    if (object.kind === "Event") continue
    if (run.kinds.includes(object.kind) || made.has(object.metadata.uid)) walk(saidIn(object, run), "", object)
  }
  return found
}

const references = new WeakMap<Recording, ReadonlyMap<string, Named>>()

const namedIn = ({ mask, recording }: Reference): ReadonlyMap<string, Named> => {
  const known = references.get(recording) ?? named(recording, mask)
  references.set(recording, known)
  return known
}

export const departed: Oracle = {
  name: "no dangling references",
  judge: (run, reference) => {
    if (run === reference.recording || taken(run)) return undefined
    const wanted = namedIn(reference)
    if (wanted.size === 0 || departedOf(run, living(run)).size === 0) return undefined
    for (const [key, { all, gone, path, teller }] of named(run, reference.mask)) {
      const known = wanted.get(key)
      if (known === undefined || known.gone.size > 0 || all.size > known.all.size) continue
      const [word, lost] = [...gone].find(([, { kind }]) => known.there.has(kind)) ?? []
      if (word !== undefined && lost !== undefined) {
        const what = word === lost.metadata.name ? name(lost) : `${word}, the address of a former ${name(lost)}`
        return `${teller}${path} names ${what}, which is gone; without faults, everything that it names exists`
      }
    }
    return undefined
  }
}
