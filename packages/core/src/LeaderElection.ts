/**
 * `LeaderElection`: one of several replicas leads, by a Lease (coordination.k8s.io/v1).
 *
 * Guarantee: no write of one leader is accepted after a write of the next. It holds whatever the clocks of the replicas
 * say or are set to, and however requests are lost or delayed, as long as no request takes longer than the difference
 * of lease duration and renew deadline (5 s by default). A leader that cannot renew stops before another may start: its
 * work is interrupted, and its writes fail before they are sent, even if the process or its machine stood still in
 * between. A crashed leader is followed after the lease duration, one that shuts down gracefully at once. A process
 * that lost the lease stays a candidate and may lead again: then every object is reconciled, as after a start.
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
import { type Client, KubeClient } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import type { Leadership } from "./Leadership.ts"
import * as Reflector from "./Reflector.ts"
import * as Resource from "./Resource.ts"
import type { Supervisor } from "./Supervisor.ts"

export const defaults = {
  /** How long a standby waits after the last renewal it saw. */
  leaseDuration: "15 seconds",
  /** How long a leader continues after its last accepted renewal. */
  renewDeadline: "10 seconds",
  /** Time between renewals. */
  retryPeriod: "2 seconds",
  /** When the lease is free, a candidate lets others go first for a random time of at most this many milliseconds. */
  courtesy: 300
} as const

export interface Options {
  /** Namespace and name of the Lease: the same for all replicas. */
  readonly namespace: string
  readonly name: string
  /** Identifies this replica, distinct from all others; random by default. */
  readonly identity?: string | undefined
  readonly leaseDuration?: Duration.Input | undefined
  readonly renewDeadline?: Duration.Input | undefined
  readonly retryPeriod?: Duration.Input | undefined
}

/**
 * What has one leader: all controllers together, each controller, each object, or each object as a `Ring` assigns it.
 */
export type Per = typeof pers[number]
export const pers = ["manager", "controller", "object", "ring"] as const

/** The name of a controller's own lease, if each controller has one. */
export const nameOf = (lease: string, controller: string): string => `${lease}-${controller}`

export type Status =
  /** `leader` is the holder of the lease, as far as known. */
  | { readonly _tag: "Standby"; readonly leader: string | undefined }
  | { readonly _tag: "Leading"; readonly since: number }

/** A running candidate. */
export interface Election extends Pick<Leadership, "lead" | "permit"> {
  readonly lease: string
  readonly identity: string
  readonly status: SubscriptionRef.SubscriptionRef<Status>
  /** Why the lease cannot be read or written, by the last response; undefined while it can. */
  readonly trouble: () => string | undefined
  /** Counts the terms of this process as leader, from 1; undefined while it does not lead. */
  readonly term: () => number | undefined
  /**
   * How long, in milliseconds, a write that nobody awaits any more may still be in flight: see the top of this file.
   */
  readonly margin: number
  /** Writes the lease before it is due. */
  readonly renew: Effect.Effect<void>
  /** Like `renew`; completes when the lease is written. */
  readonly renewed: Effect.Effect<void>
}

/** What a lease carries besides its holder. */
export interface Word {
  /** Called for each write, with its term; `undefined` removes an annotation. Labels and annotations of others stay. */
  readonly say: (term: number) => {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string | undefined>>
  }
  /** Called with the annotations of each lease that is seen. */
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
  description: "Whether this process is the leader (1) or not (0), by name of the lease"
})

/** The times in milliseconds. Throws if they do not fit together, which is a bug in the program. */
const timingOf = (options: Options): State.Timing => {
  const millis = (input: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(input))
  const leaseDuration = millis(options.leaseDuration ?? defaults.leaseDuration)
  const renewDeadline = millis(options.renewDeadline ?? defaults.renewDeadline)
  const retryPeriod = millis(options.retryPeriod ?? defaults.retryPeriod)
  const refuse = (field: string, value: number, must: string) =>
    new Error(`LeaderElection: ${options.namespace}/${options.name}: ${field}: ${value} ms: must be ${must}`)
  if (!(leaseDuration >= 1000)) throw refuse("leaseDuration", leaseDuration, "at least 1 second")
  if (!(renewDeadline < leaseDuration)) throw refuse("renewDeadline", renewDeadline, "shorter than leaseDuration")
  if (!(retryPeriod > 0 && retryPeriod < renewDeadline)) {
    throw refuse("retryPeriod", retryPeriod, "above 0 and shorter than renewDeadline")
  }
  return { leaseDuration, renewDeadline, retryPeriod }
}

/** A random identity, distinct from that of any other replica. */
export const randomIdentity = Effect.map(
  Effect.replicateEffect(Random.nextIntBetween(0, 0xffff), 4),
  (words) => words.map((word) => word.toString(16).padStart(4, "0")).join("")
)

/** Runs a candidate until the scope closes, and then, if it leads, releases the lease. */
export const make = Effect.fnUntraced(function*(options: Options, supervisor: Supervisor, word?: Word) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const timing = timingOf(options)
  const { name, namespace } = options
  const identity = options.identity ?? (yield* randomIdentity)
  yield* alone(client, options, identity)
  const status = yield* SubscriptionRef.make<Status>({ _tag: "Standby", leader: undefined })
  const leading = yield* Latch.make()
  const lost = yield* Latch.make(true)
  const gauge = Metric.withAttributes(masterStatus, { name })
  /** Leases that were seen; `undefined` to decide again what to do next. */
  const sights = yield* Queue.unbounded<Sight | undefined>()
  let state = State.initial
  let terms = 0
  /** The other holder that was logged last. */
  let named: string | undefined
  /** Whether a claim was sent whose outcome is unknown. */
  let unanswered = false
  /** Those who wait for the next write of the lease. */
  let waiting: ReadonlyArray<() => void> = []

  /** Monotonic time in milliseconds, which the election measures. */
  const now = (): number => monotonicMillis(clock)
  /** Wall-clock time in milliseconds, which the lease and the status show. */
  const today = (): number => clock.currentTimeMillisUnsafe()
  /** When the last accepted claim was sent, by wall clock. */
  let claimedToday = 0
  /**
   * While a machine sleeps, its monotonic clock stands still, and the others take over. So a leader heeds the wall
   * clock, too, if that is later. If the clock was merely set forward, the leader loses the lease for a moment.
   */
  const overslept = (): boolean => today() - claimedToday >= timing.renewDeadline
  const leads = (): boolean => State.leads(state, timing, now()) && !overslept()

  /** Takes a new state, and notifies all that depends on it. */
  const become = Effect.fnUntraced(function*(after: State.State) {
    const before = state
    state = after
    const leads = after._tag === "Leading"
    if (leads !== (before._tag === "Leading")) {
      if (leads) terms += 1
      yield* Metric.update(gauge, leads ? 1 : 0)
      yield* leads ? Effect.andThen(lost.close, leading.open) : Effect.andThen(leading.close, lost.open)
      yield* Effect.logInfo(
        leads ? `leading: holds lease ${namespace}/${name}` : `no longer leading: lost lease ${namespace}/${name}`
      )
      if (leads) yield* SubscriptionRef.set(status, leadingSince(today()))
    }
    if (leads) return void (named = undefined)
    const holder = after.sight?.lease?.spec?.holderIdentity
    yield* SubscriptionRef.set(status, standbyFor(holder))
    if (holder === named || holder === undefined || holder === "") return
    named = holder
    yield* Effect.logInfo(`standing by: ${holder} holds lease ${namespace}/${name}`)
  })

  const write = Effect.fnUntraced(function*(lease: State.Lease | null, spec: NonNullable<State.Lease["spec"]>) {
    const metadata = said(lease, word?.say(state._tag === "Leading" ? terms : terms + 1))
    return lease === null
      ? yield* client.create(Lease, { metadata: { namespace, name, ...metadata }, spec })
      : yield* client.replace(Lease, { ...lease, metadata: { ...lease.metadata, ...metadata }, spec })
  })

  /**
   * Waits for a response only until it would come too late, and for half of the renew deadline at most: one request
   * that hangs, as on a connection whose other end is gone, leaves time for another. Source: controller-runtime,
   * pkg/leaderelection/leader_election.go.
   */
  const inTime = <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R> => {
    const left = state._tag === "Leading" ? state.renewedAt + timing.renewDeadline - now() : Infinity
    return Effect.timeoutOption(request, Math.max(0, Math.min(left, timing.renewDeadline / 2)))
  }

  const pause = Effect.map(Random.next, (random) => Math.round(timing.retryPeriod * (0.8 + 0.2 * random)))
  const courtesy = Effect.map(Random.next, (random) => Math.round(defaults.courtesy * random))

  const troubles = { reading: "", writing: "" }
  const see = Effect.fnUntraced(function*({ lease, version }: Sight) {
    // Whichever way the lease arrived: if the watch shows it, it need not be read again.
    troubles.reading = ""
    if (lease?.metadata.annotations !== undefined) word?.hear(lease.metadata.annotations)
    yield* become(State.seen(state, identity, lease, now(), yield* courtesy, version))
  })

  /** A request failed that was sent at `sentAt`. */
  const trouble = Effect.fnUntraced(function*(doing: keyof typeof troubles, sentAt: number, what: string) {
    troubles[doing] = what
    yield* Effect.logWarning(`lease ${namespace}/${name}: ${what}`)
    yield* become(State.failed(state, sentAt, now() + (yield* pause)))
  })

  const look = Effect.gen(function*() {
    const sentAt = now()
    const answer = yield* Effect.result(inTime(client.get(Lease, { namespace, name })))
    const absent = Result.isFailure(answer) && answer.failure.reason._tag === "NotFound"
    if (Result.isFailure(answer) && !absent) return yield* trouble("reading", sentAt, answer.failure.message)
    if (Result.isSuccess(answer) && Option.isNone(answer.success)) {
      return yield* trouble("reading", sentAt, "reading: no answer in time")
    }
    unanswered = false
    return yield* see({ lease: Result.isSuccess(answer) ? Option.getOrNull(answer.success) : null })
  })

  const claim = Effect.fnUntraced(function*(lease: State.Lease | null) {
    const sentAt = now()
    const sentToday = today()
    const before = waiting
    unanswered = true
    const answer = yield* Effect.result(inTime(write(lease, State.claimed(lease, identity, timing, today()))))
    if (Result.isSuccess(answer) && Option.isNone(answer.success)) {
      return yield* trouble("writing", sentAt, "renewing: no answer in time")
    }
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
      return yield* trouble("writing", sentAt, message)
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

  /** Releases the lease at its current version, if this process holds it. */
  const giveBackCurrent = Effect.gen(function*() {
    const current = yield* client.get(Lease, { namespace, name })
    if (current.spec?.holderIdentity === identity) yield* write(current, State.released(current, today()))
  }).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))

  /** A renewal may have been in flight when the election ended, and have changed the lease. */
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
        onSome: () => Effect.logInfo(`released lease ${namespace}/${name}`)
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
    // Others write the lease, so this process need not.
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
  // Runs last: by then the led work and the renewals have stopped.
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

/** The candidates in this process, by client: lease and identity. */
const candidates = new WeakMap<Client, Set<string>>()

/** Two candidates of one identity would both lead, and release and overwrite each other's lease. */
const alone = (client: Client, { name, namespace }: Options, identity: string) => {
  const candidate = `${namespace}/${name} ${identity}`
  return Effect.acquireRelease(
    Effect.suspend(() => {
      const known = candidates.get(client) ?? new Set()
      candidates.set(client, known)
      if (!known.has(candidate)) return Effect.succeed(known.add(candidate))
      return Effect.die(
        new Error(
          `LeaderElection: ${namespace}/${name}: this process is already a candidate as ${identity}: ` +
            "give each manager its own lease (`leaderElection: { name }`), or each replica its own identity"
        )
      )
    }),
    (known) => Effect.sync(() => known.delete(candidate))
  )
}

/** A lease as it was seen; if there is none, the resourceVersion as of which that holds, if known. */
interface Sight {
  readonly lease: State.Lease | null
  readonly version?: string | undefined
}

/** The labels and annotations to write. */
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
    new KubeError.Conflict({ message: "this process is not the leader: the request was not sent", code: 409 })
  )
