/** Shows a person what happens in a cluster: every change of the followed kinds, when it happened, and who made it. */
import { Delta, Informers, KubeObject, type Resource, Supervisor } from "@effect-operator/core"
import type { Event } from "@effect-operator/k8s/kinds/events.v1"
import { Clock, Context, Effect, Layer } from "effect"

const ansi = { dim: 2, green: 32, yellow: 33, red: 31, cyan: 36, bold: 1 } as const

/** Coloured on a terminal, plain elsewhere. */
export const paint = (colour: keyof typeof ansi, text: string): string =>
  process.stdout.isTTY ? `\u001b[${ansi[colour]}m${text}\u001b[0m` : text

/** Prints a line as it is. */
export const print = (text: string) => Effect.sync(() => void process.stdout.write(`${text}\n`))

/** Prints a line with the UTC time of day. */
export const say = (text: string) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (at) => print(`${paint("dim", new Date(at).toISOString().slice(11, 23))}  ${text}`)
  )

/** The leaf fields that differ, as `spec.replicas 2 -> 5`. Metadata only if it is informative. */
const differences = (before: unknown, after: unknown, path: string): ReadonlyArray<string> => {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === "object" && value !== null && !Array.isArray(value)
  if (!isMap(before) && !isMap(after)) {
    const show = (value: unknown) => value === undefined ? "nothing" : JSON.stringify(value)
    return [`${path} ${show(before)} -> ${show(after)}`]
  }
  const keys = new Set([...Object.keys(isMap(before) ? before : {}), ...Object.keys(isMap(after) ? after : {})])
  return [...keys].flatMap((key) =>
    differences(
      isMap(before) ? before[key] : undefined,
      isMap(after) ? after[key] : undefined,
      path === "" ? key : `${path}.${key}`
    )
  )
}

/** Who wrote last, as far as the object shows: the kubelet or the operator its status, you its spec. */
const cause = (object: KubeObject.KubeObject, changed: ReadonlyArray<string>): string => {
  if (object.kind === "Pod") return "kubelet"
  const isChild = KubeObject.controllerOf(object) !== undefined
  return !isChild && changed.some((change) => change.startsWith("spec.")) ? "you" : "operator"
}

const isEvent = (object: KubeObject.KubeObject): object is Event => object.kind === "Event"

/** A change as text for people; undefined if it is of no interest. */
export const describe = (delta: Delta.Delta): string | undefined => {
  if (delta._tag === "Invalid") return `${KubeObject.keyString(delta.raw)} is not valid: ${delta.issues.join("; ")}`
  const { object } = delta
  if (isEvent(object)) {
    return delta._tag === "Deleted"
      ? undefined
      : paint("dim", `  ${object.reportingController}: ${object.note} (${object.reason})`)
  }
  const name = `${object.kind} ${KubeObject.keyString(object)}`
  const owner = KubeObject.controllerOf(object)
  const by = owner === undefined
    ? object.kind === "Pod" ? "operator" : "you"
    : `operator, for ${owner.kind} ${owner.name}`
  switch (delta._tag) {
    case "Added":
      return `${paint("green", "+")} ${name} created ${paint("dim", `(${by})`)}`
    case "Deleted":
      return `${paint("red", "-")} ${name} gone`
    case "Updated": {
      if (KubeObject.isTerminating(object) && !KubeObject.isTerminating(delta.old)) {
        return `${paint("red", "-")} ${name} is being deleted`
      }
      const worth = (object: KubeObject.KubeObject) => {
        const { spec, status } = object as { readonly spec?: unknown; readonly status?: unknown }
        return object.kind === "Pod"
          ? { phase: (status as { readonly phase?: string } | undefined)?.phase }
          : { spec, status }
      }
      const changed = differences(worth(delta.old), worth(object), "")
      return changed.length === 0
        ? undefined
        : `${paint("yellow", "~")} ${name} ${changed.join(", ")} ${paint("dim", `(${cause(object, changed)})`)}`
    }
  }
}

/** Follows kinds until the scope closes, and returns their current objects. `filter` excludes objects of others. */
export const follow = Effect.fnUntraced(function*(
  resources: ReadonlyArray<Resource.Any>,
  filter: (object: KubeObject.KubeObject) => boolean
) {
  const supervisor = yield* Supervisor.make
  const informers = Context.get(yield* Layer.build(Informers.layer(supervisor)), Informers.Informers)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const followed: Array<Informers.Informer> = []
  for (const resource of resources) {
    const informer = yield* informers.get({ resource })
    yield* informer.synced
    let live = false
    yield* informer.subscribe((deltas) => {
      if (!live) return
      for (const delta of deltas) {
        if (delta._tag !== "Invalid" && !filter(delta.object)) continue
        const line = describe(delta)
        if (line !== undefined) run(say(line))
      }
    })
    live = true
    followed.push(informer)
  }
  return { objects: () => followed.flatMap(({ store }) => [...store.values()].filter(filter)) }
})
