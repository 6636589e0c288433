/**
 * Spans from a watch event to the wait in the queue, the reconcile and its API calls, and across controllers: what one
 * controller wrote comes back as a watch event, whose span is linked to the writer's.
 *
 * Each processing of a key is one trace: `Controller.process`, from when the key became ready, with `WorkQueue.wait`
 * and `Controller.reconcile` in it, linked to a `Watch.event` for each change that requested it. All of this needs a
 * tracer. Effect's own tracer exports no spans, and so counts as none: then nothing is made or remembered, and nothing
 * costs time.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { Write } from "../Client.ts"
import type { Delta } from "../Delta.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"
import type { Item } from "../QueueState.ts"
import type * as Resource from "../Resource.ts"
import * as Trigger from "../Trigger.ts"
import { isNative } from "./requestSpan.ts"

export const defaults = {
  /** Maximum number of writes remembered until their events arrive. */
  writes: 4096,
  /** Maximum number of links of one processing; if more changes merged, the first ones. */
  links: 32
} as const

/** Tracing that a manager's controllers share. */
export interface Tracing {
  readonly of: (controller: string) => ControllerTracing
}

export interface ControllerTracing {
  /** A change requests a key. */
  readonly triggered: (key: string, resource: Resource.Any, delta: Delta) => void
  /** The requests for a key were withdrawn. */
  readonly withdrawn: (key: string) => void
  /** The processing of a key begins; its span starts when the key became ready. */
  readonly begin: (item: Item) => Processing
  /** A write during the reconcile of a key. */
  readonly wrote: (key: string, write: Write) => void
}

/** The processing of one key. */
export interface Processing {
  readonly root: Tracer.AnySpan
  /** The reconcile begins; returns the span of all it does. */
  readonly reconcile: () => Tracer.AnySpan
  /** Records how the reconcile ended. */
  readonly reconciled: (exit: Exit.Exit<unknown, unknown>) => void
  readonly end: (exit: Exit.Exit<unknown, unknown>) => void
}

/** The tracing of a manager; undefined without a tracer. */
export const make: Effect.Effect<Tracing | undefined> = Effect.gen(function*() {
  const tracer = yield* Tracer.Tracer
  const clock = yield* Clock.Clock
  return isNative(tracer) ? undefined : over(tracer, clock)
})

const over = (tracer: Tracer.Tracer, clock: Clock.Clock): Tracing => {
  const writers = new Map<string, Tracer.AnySpan>()
  const events = new WeakMap<Delta, Tracer.Span>()

  const span = (name: string, options: {
    readonly kind: Tracer.SpanKind
    readonly startTime: bigint
    readonly attributes: Readonly<Record<string, unknown>>
    readonly links?: ReadonlyArray<Tracer.SpanLink>
    readonly parent?: Tracer.AnySpan
  }): Tracer.Span => {
    const made = tracer.span({
      name,
      kind: options.kind,
      startTime: options.startTime,
      links: [...(options.links ?? [])],
      parent: Option.fromUndefinedOr(options.parent),
      root: options.parent === undefined,
      annotations: Context.empty(),
      sampled: true
    })
    for (const key in options.attributes) made.attribute(key, options.attributes[key])
    return made
  }

  /** The arrival of a change: a span without duration, linked to its writer if that was this program. */
  const eventOf = (resource: Resource.Any, delta: Exclude<Delta, { _tag: "Invalid" }>): Tracer.Span => {
    const known = events.get(delta)
    if (known !== undefined) return known
    const { object } = delta
    const writer = writers.get(identity(resource, delta._tag === "Deleted" ? undefined : object, object.metadata.uid))
    const at = clock.currentTimeNanosUnsafe()
    const event = span("Watch.event", {
      kind: "producer",
      startTime: at,
      attributes: {
        "k8s.event.type": delta._tag,
        "k8s.resource": resource.id,
        "k8s.object.key": keyString(object),
        "k8s.resource_version": object.metadata.resourceVersion
      },
      links: writer === undefined ? [] : [{ span: writer, attributes: { "link.reason": "wrote it" } }]
    })
    event.end(at, Exit.void)
    events.set(delta, event)
    return event
  }

  const of: Tracing["of"] = (controller) => {
    const pending = new Map<string, Array<Tracer.SpanLink>>()
    const reconciles = new Map<string, Tracer.AnySpan>()
    return {
      triggered: (key, resource, delta) => {
        if (delta._tag === "Invalid") return
        const links = pending.get(key)
        if (links !== undefined && links.length >= defaults.links) return
        const link = { span: eventOf(resource, delta), attributes: { "link.reason": delta._tag } }
        if (links === undefined) pending.set(key, [link])
        else links.push(link)
      },
      withdrawn: (key) => void pending.delete(key),
      begin: (item) => {
        const links = pending.get(item.key) ?? []
        pending.delete(item.key)
        const ready = BigInt(item.readySince) * 1_000_000n
        const now = clock.currentTimeNanosUnsafe()
        const whose = attributes(controller, item)
        const root = span("Controller.process", {
          kind: "consumer",
          startTime: ready,
          attributes: { ...whose, "k8s.triggers": item.reasons.map(Trigger.format) },
          links
        })
        span("WorkQueue.wait", { kind: "internal", startTime: ready, attributes: {}, parent: root }).end(now, Exit.void)
        let reconcile: Tracer.Span | undefined = undefined
        return {
          root,
          reconcile: () => {
            reconcile = span("Controller.reconcile", {
              kind: "internal",
              startTime: clock.currentTimeNanosUnsafe(),
              attributes: whose,
              parent: root
            })
            reconciles.set(item.key, reconcile)
            return reconcile
          },
          reconciled: (exit) => {
            reconciles.delete(item.key)
            reconcile?.end(clock.currentTimeNanosUnsafe(), exit)
          },
          end: (exit) => root.end(clock.currentTimeNanosUnsafe(), exit)
        }
      },
      wrote: (key, write) => {
        const writer = reconciles.get(key)
        if (writer === undefined) return
        writers.set(
          write._tag === "Written"
            ? identity(write.resource, write.object, undefined)
            : identity(write.resource, undefined, write.uid),
          writer
        )
        if (writers.size > defaults.writes) { for (const oldest of writers.keys()) return void writers.delete(oldest) }
      }
    }
  }
  return { of }
}

const attributes = (controller: string, { failures, key, priority }: Item) => ({
  controller,
  "k8s.object.key": key,
  "reconcile.failures": failures,
  "reconcile.priority": priority
})

/** What an event and the write that caused it have in common: the version, or the uid for a deletion. */
const identity = (resource: Resource.Any, object: KubeObject | undefined, uid: string | undefined): string =>
  object === undefined ? `${resource.id} uid ${uid ?? ""}` : `${resource.id} ${object.metadata.resourceVersion}`
