/**
 * `Unrest`: what a run that does not come to rest keeps doing, in words: the object that is written most at the end,
 * and what differs in it each time, or why it is created again and again.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { decoded } from "../recording/Base64.ts"
import { isElection, isEvent } from "../recording/Fault.ts"
import { accepted, calls, type Recording } from "../recording/Recording.ts"
import { keyOf, name } from "../recording/Writes.ts"

/** The last writes that are considered. */
const last = 60

/** Fewer writes of an object than this do not count as unrest. */
const few = 4

/** An object that was last written this long before the end, in milliseconds, is not what keeps the run from resting. */
const recently = 5 * 60_000

/** Fields that say nothing about an object's content. */
const aside: ReadonlySet<string> = new Set(["resourceVersion", "generation", "managedFields"])

interface Difference {
  readonly path: string
  readonly one: unknown
  readonly other: unknown
}

/** Where two contents differ, as paths from the object. */
const differences = (one: unknown, other: unknown, path = ""): ReadonlyArray<Difference> => {
  if (JSON.stringify(one) === JSON.stringify(other)) return []
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    return one.flatMap((item, index) => differences(item, other[index], `${path}[${index}]`))
  }
  if (!isObject(one) || !isObject(other)) return [{ path, one, other }]
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
    .filter((key) => path !== ".metadata" || !aside.has(key))
    .flatMap((key) => differences(one[key], other[key], `${path}.${key}`))
}

/** A value for a person, with base64 decoded. */
const shown = (value: unknown, isSecret: boolean): string => {
  const text = JSON.stringify(isSecret && typeof value === "string" ? decoded(value) : value) ?? "nothing"
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

/** Why an object that was created is gone, if none of its owners is alive. */
const ownerless = ({ kind, metadata: { ownerReferences = [] } }: KubeObject, run: Recording): string => {
  const lives = ({ uid }: { readonly uid: string }) => run.objects.some(({ metadata }) => metadata.uid === uid)
  const owner = ownerReferences[0]
  if (owner === undefined || ownerReferences.some(lives)) return ""
  const another = run.objects.some(({ kind, metadata }) => kind === owner.kind && metadata.name === owner.name)
  return `: no ${owner.kind} has the uid in its owner reference${
    another ? ` (${owner.kind} ${owner.name} has another)` : ""
  }, so the garbage collector deletes the ${kind}`
}

/** What happens to the object that is written most, if there is one. */
export const unrest = (run: Recording): string | undefined => {
  const end = calls(run).at(-1)?.at ?? 0
  const writes = calls(run)
    .filter((call) =>
      accepted(call) && call.before !== call.after && !isElection(call.request) && !isEvent(call.request.path)
    )
    .flatMap(({ at, object }) => object === undefined ? [] : [{ at, object }]).slice(-last)
  const [most = []] = [...Map.groupBy(writes, ({ object }) => keyOf(object)).values()]
    .filter((writes) => writes.at(-1)!.at > end - recently)
    .map((writes) => writes.map(({ object }) => object))
    .toSorted((a, b) => b.length - a.length)
  const [before, now] = most.slice(-2)
  if (before === undefined || now === undefined || most.length < few) return undefined
  if (new Set(most.map(({ metadata }) => metadata.uid)).size > 1) {
    return `${name(now)} is created again and again${ownerless(now, run)}`
  }
  const [first, ...more] = differences(before, now)
  if (first === undefined) return undefined
  const isSecret = now.kind === "Secret" && first.path.startsWith(".data.")
  const [one, other] = [shown(first.one, isSecret), shown(first.other, isSecret)]
  const isBack = most.length > 2 && differences(most.at(-3), now).length === 0
  const rest = more.slice(0, 3).map(({ path }) => path.slice(1)).join(", ")
  return `${name(now)} is written again and again: ${first.path.slice(1)} is ${one}, then ${other}${
    isBack ? `, then ${one} again` : ""
  }${rest === "" ? "" : `, and likewise ${rest}`}`
}
