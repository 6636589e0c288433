/**
 * `LeaderElection`: one of several replicas leads, by a Lease (coordination.k8s.io/v1).
 *
 * Guarantee: no write of one leader is accepted after a write of the next. It holds whatever the clocks of the replicas
 * say or are set to, and however requests are lost or delayed, as long as no request takes longer than the difference
 * of lease duration and renew deadline (5 s by default). A leader that cannot renew stops before another may start: its
 * work is interrupted, and its writes fail before they are sent, even if the process or its machine stood still in
 * between. A crashed leader is followed after the lease duration, one that shuts down gracefully at once. A process
 * that lost the lease stays a candidate and may lead again.
 *
 * Standbys watch the lease. While nothing happens, only the leader's renewals cost a request. A candidate runs from the
 * start, whether or not anything else of the process is ready.
 *
 * It interoperates with other implementations of the protocol (client-go's): the lease has the same form.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as State from "./internal/electionState.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import { KubeClient } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import type { Leadership } from "./Leadership.ts"
import * as Reflector from "./Reflector.ts"
import * as Resource from "./Resource.ts"
import type { Supervisor } from "./Supervisor.ts"

export const defaults = {
  /** How long a standby waits after the last renewal it saw. */
  leaseDuration: "15 seconds",
  /** How long after its last accepted renewal a leader goes on. */
  renewDeadline: "10 seconds",
  /** Between renewals. */
  retryPeriod: "2 seconds",
  /** At most so many milliseconds, by chance, a candidate lets others go first when the lease is free. */
  courtesy: 300
} as const

export interface Options {
  /** Where the Lease is, and its name: the same for all replicas. */
  readonly namespace: string
  readonly name: string
  /** This replica among the others, unlike any other; a random one by default. */
  readonly identity?: string | undefined
  readonly leaseDuration?: Duration.Input | undefined
  readonly renewDeadline?: Duration.Input | undefined
  readonly retryPeriod?: Duration.Input | undefined
}

/** What is led by one of the replicas: all controllers, each of them, each object, or each as a `Ring` assigns them. */
export type Per = typeof pers[number]
export const pers = ["manager", "controller", "object", "ring"] as const

/** The name of a controller's own lease, where there is one for each controller and not one for all. */
export const nameOf = (lease: string, controller: string): string => `${lease}-${controller}`

export type Status =
  /** `leader` is who holds the lease, as far as is known. */
  | { readonly _tag: "Standby"; readonly leader: string | undefined }
  | { readonly _tag: "Leading"; readonly since: number }

/** A candidate that runs. */
export interface Election extends Pick<Leadership, "lead" | "permit"> {
  readonly lease: string
  readonly identity: string
  readonly status: SubscriptionRef.SubscriptionRef<Status>
  /** Why the lease cannot be read or written, as the last answer said; nothing while it can. */
  readonly trouble: () => string | undefined
  /** Which time it is that this process leads, from 1; nothing while it does not. */
  readonly term: () => number | undefined
  /** How long a write may be under way that nobody waits for any more, in milliseconds: see above. */
  readonly margin: number
  /** Writes the lease before its time. */
  readonly renew: Effect.Effect<void>
  /** The same; completes when it is written. */
  readonly renewed: Effect.Effect<void>
}

/** What a lease says besides who holds it. */
export interface Word {
  /** Asked for each write, with the term that it is for; `undefined` is taken off. Others' labels and annotations stay. */
  readonly say: (term: number) => {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string | undefined>>
  }
  /** Told what a lease says that was seen. */
  readonly hear: (annotations: Readonly<Record<string, string>>) => void
}

/** coordination.k8s.io/v1. */
export const Lease = Resource.make<State.Lease>()({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced"
})

const masterStatus = Metric.gauge("leader_election_master_status", {
  description: "Whether the process leads (1) or not (0), by name of the lease"
})

/** The times in milliseconds, if they make sense. Throws: that is a mistake in the program. */
const timingOf = (options: Options): State.Timing => {
  const millis = (input: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(input))
  const leaseDuration = millis(options.leaseDuration ?? defaults.leaseDuration)
  const renewDeadline = millis(options.renewDeadline ?? defaults.renewDeadline)
  const retryPeriod = millis(options.retryPeriod ?? defaults.retryPeriod)
  const refuse = (field: string, value: number, must: string) =>
    new Error(`LeaderElection: ${options.namespace}/${options.name}: ${field}: ${value} ms: must be ${must}`)
  if (!(leaseDuration >= 1000)) throw refuse("leaseDuration", leaseDuration, "a second at least")
  if (!(renewDeadline < leaseDuration)) throw refuse("renewDeadline", renewDeadline, "shorter than leaseDuration")
  if (!(retryPeriod > 0 && retryPeriod < renewDeadline)) {
    throw refuse("retryPeriod", retryPeriod, "above 0 and shorter than renewDeadline")
  }
  return { leaseDuration, renewDeadline, retryPeriod }
}

/** A name that no other replica has. */
export const randomIdentity = Effect.map(
  Effect.replicateEffect(Random.nextIntBetween(0, 0xffff), 4),
  (words) => words.map((word) => word.toString(16).padStart(4, "0")).join("")
)

/** Runs a candidate until the scope closes, and then, if it leads, gives the lease back. */
export const make = Effect.fnUntraced(function*(options: Options, supervisor: Supervisor, word?: Word) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const timing = timingOf(options)
  const { name, namespace } = options
  const identity = options.identity ?? (yield* randomIdentity)
  const status = yield* SubscriptionRef.make<Status>({ _tag: "Standby", leader: undefined })
  const leading = yield* Latch.make()
  const lost = yield* Latch.make(true)
  const gauge = Metric.withAttributes(masterStatus, { name })
  /** Leases that were seen; `undefined` to look again at what is to be done. */
  const sights = yield* Queue.unbounded<Sight | undefined>()
  let state = State.initial
  let terms = 0
  /** The other replica that the log has named last. */
  let named: string | undefined
  /** Whether a claim was sent of which nobody knows what came of it. */
  let unanswered = false
  /** Who waits for the next write of the lease. */
  let waiting: ReadonlyArray<() => void> = []

  /** Time that nobody can set, in milliseconds: what the election measures. */
  const now = (): number => monotonicMillis(clock)
  /** The time of day: what the lease and the status say. */
  const today = (): number => clock.currentTimeMillisUnsafe()
  /** When the last accepted claim was sent, by the time of day. */
  let claimedToday = 0
  /**
   * While a machine sleeps, the time that nobody can set stands still, and the others take over: who leads believes the
   * time of day as well, where that is later. Whoever only had it set loses the lease for a moment.
   */
  const overslept = (): boolean => today() - claimedToday >= timing.renewDeadline
  const leads = (): boolean => State.leads(state, timing, now()) && !overslept()

  /** Takes a new state, and tells whoever works or waits by it. */
  const become = Effect.fnUntraced(function*(after: State.State) {
    const before = state
    state = after
    const leads = after._tag === "Leading"
    if (leads !== (before._tag === "Leading")) {
      if (leads) terms += 1
      yield* Metric.update(gauge, leads ? 1 : 0)
      yield* leads ? Effect.andThen(lost.close, leading.open) : Effect.andThen(leading.close, lost.open)
      yield* Effect.logInfo(
        leads ? `leads: holds ${namespace}/${name}` : `does not lead any more: ${namespace}/${name}`
      )
      if (leads) yield* SubscriptionRef.set(status, leadingSince(today()))
    }
    if (leads) return void (named = undefined)
    const holder = after.sight?.lease?.spec?.holderIdentity
    yield* SubscriptionRef.set(status, standbyFor(holder))
    if (holder === named || holder === undefined || holder === "") return
    named = holder
    yield* Effect.logInfo(`stands by: ${holder} holds ${namespace}/${name}`)
  })

  const write = Effect.fnUntraced(function*(lease: State.Lease | null, spec: NonNullable<State.Lease["spec"]>) {
    const metadata = said(lease, word?.say(state._tag === "Leading" ? terms : terms + 1))
    return lease === null
      ? yield* client.create(Lease, { metadata: { namespace, name, ...metadata }, spec })
      : yield* client.replace(Lease, { ...lease, metadata: { ...lease.metadata, ...metadata }, spec })
  })

  /** No answer is waited for beyond the moment it would come too late. */
  const inTime = <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> =>
    Effect.timeoutOption(
      request,
      state._tag === "Leading"
        ? Math.max(0, state.renewedAt + timing.renewDeadline - now())
        : timing.renewDeadline / 2
    )

  const pause = Effect.map(Random.next, (random) => Math.round(timing.retryPeriod * (0.8 + 0.2 * random)))
  const courtesy = Effect.map(Random.next, (random) => Math.round(defaults.courtesy * random))

  const troubles = { reading: "", writing: "" }
  const see = Effect.fnUntraced(function*({ lease, version }: Sight) {
    // By whichever way: who is shown the lease by its watch need not ask for it again.
    troubles.reading = ""
    if (lease?.metadata.annotations !== undefined) word?.hear(lease.metadata.annotations)
    yield* become(State.seen(state, identity, lease, now(), yield* courtesy, version))
  })

  const trouble = Effect.fnUntraced(function*(doing: keyof typeof troubles, what: string) {
    troubles[doing] = what
    yield* Effect.logWarning(`lease ${namespace}/${name}: ${what}`)
    yield* become(State.failed(state, now(), yield* pause))
  })

  const look = Effect.gen(function*() {
    const answer = yield* Effect.result(inTime(client.get(Lease, { namespace, name })))
    const absent = Result.isFailure(answer) && answer.failure.reason._tag === "NotFound"
    if (Result.isFailure(answer) && !absent) return yield* trouble("reading", answer.failure.message)
    if (Result.isSuccess(answer) && Option.isNone(answer.success)) return yield* trouble("reading", "no answer in time")
    unanswered = false
    return yield* see({ lease: Result.isSuccess(answer) ? Option.getOrNull(answer.success) : null })
  })

  const claim = Effect.fnUntraced(function*(lease: State.Lease | null) {
    const sentAt = now()
    const sentToday = today()
    const before = waiting
    unanswered = true
    const answer = yield* Effect.result(inTime(write(lease, State.claimed(lease, identity, timing, today()))))
    if (Result.isSuccess(answer) && Option.isNone(answer.success)) return yield* trouble("writing", "no answer in time")
    if (Result.isSuccess(answer)) {
      troubles.writing = ""
      unanswered = false
      waiting = waiting.filter((one) => !before.includes(one))
      for (const written of before) written()
      claimedToday = sentToday
      return yield* become(State.wrote(Option.getOrThrow(answer.success), sentAt))
    }
    const { message, reason } = answer.failure
    if (reason._tag !== "Conflict" && reason._tag !== "NotFound" && reason._tag !== "AlreadyExists") {
      return yield* trouble("writing", message)
    }
    troubles.writing = ""
    unanswered = false
    return yield* become(State.refused(state, now()))
  })

  const perform = (step: State.Step): Effect.Effect<void> => {
    switch (step._tag) {
      case "Look":
        return look
      case "Acquire":
      case "Renew":
        return claim(step.lease)
      case "Resign":
        return Effect.andThen(
          Effect.logWarning(`lease ${namespace}/${name}: not renewed in time`),
          Effect.suspend(() => become(State.resigned(state, now())))
        )
      case "Wait":
        return Effect.flatMap(
          Effect.timeoutOption(Queue.take(sights), Math.max(0, step.until - now())),
          Option.match({ onNone: () => Effect.void, onSome: (sight) => sight === undefined ? Effect.void : see(sight) })
        )
    }
  }

  /** Gives the lease back as it is, if it is this process's. */
  const giveBackCurrent = Effect.gen(function*() {
    const current = yield* client.get(Lease, { namespace, name })
    if (current.spec?.holderIdentity === identity) yield* write(current, State.released(current, today()))
  }).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))

  /** A renewal may have been under way when the election ended, and the lease have changed with it. */
  const giveBack = (lease: State.Lease) =>
    write(lease, State.released(lease, today())).pipe(
      Effect.asVoid,
      Effect.catchReason("KubeError", "Conflict", () => giveBackCurrent)
    )

  const release = Effect.suspend(() => {
    if (state._tag !== "Leading" && !unanswered) return Effect.void
    return inTime(state._tag === "Leading" ? giveBack(state.lease) : giveBackCurrent).pipe(
      Effect.flatMap(Option.match({
        onNone: () => Effect.logWarning(`lease ${namespace}/${name} was not released: no answer in time`),
        onSome: () => Effect.logInfo(`released ${namespace}/${name}`)
      })),
      Effect.catch(({ message }) => Effect.logWarning(`lease ${namespace}/${name} was not released: ${message}`)),
      Effect.andThen(Effect.suspend(() => become(State.resigned(state, now()))))
    )
  })

  const renew = Effect.sync(() => {
    state = State.hurried(state)
    Queue.offerUnsafe(sights, undefined)
  })

  const told = (object: KubeObject | null, version: string) => {
    // Somebody writes it, so that this process need not.
    if (state._tag !== "Leading") troubles.writing = ""
    Queue.offerUnsafe(sights, { lease: object as State.Lease | null, version })
  }
  const reflector = yield* Reflector.make(client, Lease, { namespace, fields: `metadata.name=${name}` }, {
    replace: (items, resourceVersion) => told(items[0] ?? null, resourceVersion),
    apply: (events) => {
      for (const { object, type } of events) {
        if (type !== "BOOKMARK") told(type === "DELETED" ? null : object, object.metadata.resourceVersion)
      }
    }
  })
  yield* Metric.update(gauge, 0)
  // Last of all: what is led has stopped, and the renewals with it.
  yield* Effect.addFinalizer(() => release)
  yield* supervisor.run(`watch of lease ${namespace}/${name}`, reflector.run)
  yield* supervisor.run(
    `election by lease ${namespace}/${name}`,
    Effect.forever(
      Effect.suspend(() =>
        perform(
          state._tag === "Leading" && overslept() ? { _tag: "Resign" } : State.next(state, identity, timing, now())
        )
      )
    )
  )

  return {
    lease: `${namespace}/${name}`,
    identity,
    status,
    trouble: () => troubles.writing || troubles.reading || undefined,
    term: () => leads() ? terms : undefined,
    margin: timing.leaseDuration - timing.renewDeadline,
    renew,
    renewed: Effect.andThen(
      renew,
      Effect.callback<void>((resume) => {
        const written = () => resume(Effect.void)
        waiting = [...waiting, written]
        return Effect.sync(() => {
          waiting = waiting.filter((one) => one !== written)
        })
      })
    ),
    lead: (work) => Effect.forever(Effect.andThen(leading.await, Effect.raceFirst(work, lost.await))),
    permit: () => leads() ? undefined : notLeading(namespace, name)
  } satisfies Election
})

/** A lease as somebody has seen it; where there is none, as of which resourceVersion, if that is known. */
interface Sight {
  readonly lease: State.Lease | null
  readonly version?: string | undefined
}

/** What a lease says from now on. */
const said = (lease: State.Lease | null, word: ReturnType<Word["say"]> | undefined) => {
  if (word === undefined) return {}
  const annotations = Object.entries({ ...lease?.metadata.annotations, ...word.annotations })
  return {
    labels: { ...lease?.metadata.labels, ...word.labels },
    annotations: Object.fromEntries(annotations.flatMap(([key, value]) => value === undefined ? [] : [[key, value]]))
  }
}

const leadingSince = (since: number): Status => ({ _tag: "Leading", since })
const standbyFor = (holder: string | undefined): Status => ({
  _tag: "Standby",
  leader: holder === "" ? undefined : holder
})

const notLeading = (namespace: string, name: string): KubeError.KubeError =>
  KubeError.make(
    { verb: "replace", resource: "leases.coordination.k8s.io", namespace, name },
    new KubeError.Conflict({ message: "this process does not lead: nothing was sent", code: 409 })
  )
