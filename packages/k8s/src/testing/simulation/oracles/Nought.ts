/**
 * `Nought`: a zero that people ask for is not mistaken for an absent value.
 *
 * A number in what was created (in a field of the same name, or as replicas) has followed a number of theirs so far.
 * Now they set it to 0, and the operator uses another number: a default (`replicas || 1`). It does so in every run, so
 * the ends do not differ. No complaint if the status reports it, or if the number is another one of theirs (such as a
 * minimum). Source: Acto (SOSP'23), misoperations by boundary values.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { isPaused } from "../recording/Excuses.ts"
import { accepted, calls, objectsAfter, type Recording } from "../recording/Recording.ts"
import { name } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"
import { tellsOf } from "./Refused.ts"

/** The numbers in an object by path, without metadata and status. */
const numbersIn = (object: KubeObject): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  const walk = (value: unknown, path: string): void => {
    if (typeof value === "number") found.set(path, value)
    else if (isObject(value)) { for (const [key, item] of Object.entries(value)) walk(item, `${path}.${key}`) }
  }
  const { metadata: _, status: __, ...rest } = object as KubeObject & { readonly status?: unknown }
  for (const [key, value] of Object.entries(rest)) walk(value, key)
  return found
}

const fieldOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/**
 * Whether a number of a created object stands for one of people's: it has its name, or it is the replicas, which go by
 * many names.
 */
const speaksOf = (path: string, field: string): boolean => path === "spec.replicas" || fieldOf(path) === field

/** A field of a created object that had the number that people asked for. */
interface Follower {
  readonly child: KubeObject
  readonly path: string
  /** Its number now; undefined if the object is gone or terminating. */
  readonly now: number | undefined
}

const followersOf = (
  made: ReadonlySet<string>,
  before: ReadonlyArray<KubeObject>,
  after: ReadonlyArray<KubeObject>,
  field: string,
  asked: number
): ReadonlyArray<Follower> => {
  const now = new Map(after.map((object) => [object.metadata.uid, object]))
  return before.filter(({ metadata }) => made.has(metadata.uid)).flatMap((child) =>
    [...numbersIn(child)].filter(([path, value]) => value === asked && speaksOf(path, field)).map(([path]) => {
      const left = now.get(child.metadata.uid)
      return { child, path, now: left === undefined || isTerminating(left) ? undefined : numbersIn(left).get(path) }
    })
  )
}

/** Whether the operator has written that number since. */
const hasWritten = (run: Recording, since: number, { child, now, path }: Follower): boolean =>
  calls(run).some((call) =>
    call.at >= since && accepted(call) && call.object?.metadata.uid === child.metadata.uid &&
    numbersIn(call.object).get(path) === now
  )

const judgeStep = (run: Recording, step: number, label: string): string | undefined => {
  const [before, after] = [objectsAfter(run, step - 1), objectsAfter(run, step)]
  const since = run.steps[step]!
  if (before === undefined || after === undefined || tellsOf(run, since)) return undefined
  const made = new Set(
    calls(run).flatMap(({ object, status }) => (status === 201 && object ? [object.metadata.uid] : []))
  )
  for (const object of after) {
    const was = before.find(({ metadata }) => metadata.uid === object.metadata.uid)
    if (was === undefined || !run.kinds.includes(object.kind) || isTerminating(object) || isPaused(object)) continue
    const [asked, earlier] = [numbersIn(object), numbersIn(was)]
    for (const [path, value] of asked) {
      const last = earlier.get(path)
      if (value !== 0 || last === undefined || last === 0) continue
      const followers = followersOf(made, before, after, fieldOf(path), last)
      // An object that is gone, or has the zero, is the one that was meant.
      if (followers.some(({ now }) => now === undefined || now === 0)) continue
      const others = new Set([...asked.values(), last])
      const wrong = followers.find((follower) => !others.has(follower.now!) && hasWritten(run, since, follower))
      if (wrong === undefined) continue
      return `${name(object)} asks for 0 (${path}) after ${JSON.stringify(label)}, but ${
        name(wrong.child)
      } gets ${wrong.now} ` +
        `(${wrong.path}), although it followed earlier values: zero is treated as unset, and nothing reports that`
    }
  }
  return undefined
}

export const nought: Oracle = {
  name: "zero is honored",
  judge: (run, { recording }) => {
    if (run !== recording || run.failure !== undefined) return undefined
    const names = run.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))
    for (const step of run.steps.keys()) {
      const found = step > run.begun.step ? judgeStep(run, step, names[step] ?? "") : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
}
