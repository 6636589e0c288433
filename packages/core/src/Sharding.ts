/**
 * `Sharding`: each of several replicas reconciles a part of the objects.
 *
 * Each replica keeps all its caches, and has a Lease of its own. Which replica an object belongs to follows from its
 * key and the list of replicas. Guarantees, as long as no request takes longer than the difference of lease duration
 * and renew deadline (5 s by default):
 * - No two replicas reconcile objects of one key at a time, and no write of one replica for a key is accepted after a
 *   write of the next.
 * - When replicas come and go, objects are handed over as soon as the work under way is finished, or interrupted after
 *   `handover`. Those of a replica that crashed are taken over after its lease duration.
 * - Each object is reconciled when it moves to a replica, whatever has changed meanwhile, and not before the caches
 *   there show what others have written (see `internal/Legacy`).
 *
 * A replica joins when it has work to do: when the caches of its first controller are full. `internal/shardState` has
 * the protocol.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Queue from "effect/Queue"
import * as Legacy from "./internal/Legacy.ts"
import * as State from "./internal/shardState.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import type { Lease } from "./internal/electionState.ts"
import { KubeClient } from "./KubeClient.ts"
import * as LeaderElection from "./LeaderElection.ts"
import { always, type Leadership, type Part } from "./Leadership.ts"
import * as Reflector from "./Reflector.ts"
import { fromLabels } from "./Selector.ts"
import type { Supervisor } from "./Supervisor.ts"

export const defaults = {
  /** How long the server may take to answer whether a replica is dead, or to delete its lease, in milliseconds. */
  patience: 2_000
} as const

export interface Options extends LeaderElection.Options {
  /** Distinct from that of any other replica, and part of the name of its lease. */
  readonly identity: string
  /** How long running work may take before it is interrupted, if another replica waits for the object. */
  readonly handover: Duration.Duration
}

/** A participating replica. */
export interface Sharding extends Leadership {
  readonly election: LeaderElection.Election
}

const membersGauge = Metric.gauge("effect_operator_shard_members", {
  description: "Replicas that share the work, including this one; 0 while this one takes no part"
})

/** Takes part until the scope closes, and then deletes its lease. */
export const make = Effect.fnUntraced(function*(
  { handover, ...options }: Options,
  supervisor: Supervisor,
  legacy: Legacy.Legacy
) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const { identity, name, namespace } = options
  const lease = `${name}-${identity}`
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    return yield* Effect.die(
      mistake(options, `name: ${JSON.stringify(name)}: is a label of each Lease: ${labelled}`)
    )
  }
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(identity) || lease.length > 253) {
    return yield* Effect.die(
      mistake(options, `identity: ${JSON.stringify(identity)}: is part of the Lease's name: ${named}`)
    )
  }
  const labels = { [State.label]: name }
  const gauge = Metric.withAttributes(membersGauge, { name })
  const parts = new Set<Part>()
  const changed = yield* Queue.sliding<void>(1)
  const now = (): number => monotonicMillis(clock)
  let state = State.initial(identity)
  let ground = State.nowhere
  /** The ground that the parts know, and every ground since: keys that one of them left out must be reconciled. */
  let told = ground
  let passed: ReadonlyArray<State.Ground> = [ground]

  const become = (after: State.State): void => {
    if (after === state) return
    state = after
    const now = State.ground(state)
    if (!State.sameGround(ground, now)) {
      ground = now
      passed = [...passed, now]
    }
    Queue.offerUnsafe(changed, undefined)
  }
  // Runs last: by then the lease has been released.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function*() {
      const left = yield* client.get(LeaderElection.Lease, { namespace, name: lease })
      if (left.spec?.holderIdentity === "") yield* remove(left)
    }).pipe(Effect.timeout(defaults.patience), Effect.ignore)
  )
  const remove = ({ metadata: { name, resourceVersion, uid } }: Lease) =>
    client.delete(LeaderElection.Lease, { namespace, name }, { preconditions: { uid, resourceVersion } })

  const election = yield* LeaderElection.make(
    { ...options, name: lease },
    supervisor,
    {
      say: (term) => ({ labels, annotations: { ...State.said(state, term), [Legacy.annotation]: legacy.text } }),
      hear: () => {}
    }
  )
  const inherit = ({ metadata }: Pick<Lease, "metadata">) => legacy.inherit(metadata.annotations?.[Legacy.annotation])
  const reflector = yield* Reflector.make(client, LeaderElection.Lease, { namespace, labels: fromLabels(labels) }, {
    replace: (items) => {
      const leases = items as ReadonlyArray<Lease>
      leases.forEach(inherit)
      become(State.listed(state, leases, now()))
    },
    apply: (events) => {
      for (const { object, type } of events) {
        // The deletion of a lease does not mean that its holder has stopped.
        if (type === "BOOKMARK" || type === "DELETED") continue
        inherit(object as Lease)
        become(State.saw(state, object as Lease, now()))
      }
    }
  })

  /** Passes new keys to the parts, once the caches show what others have written. */
  const look = Effect.gen(function*() {
    if (passed.length === 1) return
    yield* legacy.caughtUp
    const after = ground
    const before = passed
    told = after
    passed = [after]
    yield* Metric.update(gauge, after.lists[0]?.length ?? 0)
    for (const { take } of parts) {
      take((key) => State.owns(after, key) && !before.every((ground) => State.owns(ground, key)))
    }
  })

  const release = Effect.fnUntraced(function*(members: ReadonlyArray<string>) {
    yield* Effect.logInfo(`sharing the work of ${namespace}/${name} among ${members.join(", ")}`)
    become(State.releasing(state, members))
    const keeps = (key: string) => State.ownerOf(members, key) === identity
    const stopped = Effect.forEach(parts, ({ release }) => release(keeps), {
      concurrency: "unbounded",
      discard: true
    })
    const interrupted = Effect.gen(function*() {
      yield* Effect.logWarning(
        "interrupting reconciles that are still running: their objects now belong to another replica"
      )
      for (const { interrupt } of parts) interrupt(keeps)
      yield* stopped
      // Their requests may still be in flight.
      yield* Effect.sleep(election.margin)
    })
    yield* Effect.timeoutOrElse(stopped, { duration: handover, orElse: () => interrupted })
    become(State.released(state, members))
    yield* election.renew
  })

  const ask = (subject: State.Subject) =>
    client.get(LeaderElection.Lease, { namespace, name: subject.name }).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.undefined),
      Effect.timeout(defaults.patience),
      Effect.match({
        onSuccess: (lease) => become(State.asked(state, subject, lease, now())),
        onFailure: () => become(State.unanswered(state, subject, now() + defaults.patience))
      })
    )

  // A dead replica's lease that is left behind would pass for a live one's when it is listed anew.
  const sweep = (subject: State.Subject) =>
    remove(subject.lease).pipe(
      Effect.asVoid,
      Effect.catchReason("KubeError", "NotFound", () => Effect.void),
      Effect.timeout(defaults.patience),
      Effect.match({
        onSuccess: () => become(State.swept(state, subject)),
        onFailure: () => become(State.unanswered(state, subject, now()))
      })
    )

  const turn = Effect.gen(function*() {
    yield* look
    const step = State.next(state, now())
    switch (step._tag) {
      case "Release":
        return yield* release(step.members)
      case "Ask":
        return yield* ask(step)
      case "Sweep":
        return yield* sweep(step)
      case "Wait":
        return yield* step.until === Infinity
          ? Queue.take(changed)
          : Effect.timeoutOption(Queue.take(changed), Math.max(0, step.until - now()))
    }
  })

  /** One term, from acquiring the lease until losing it. */
  const term = Effect.suspend(() => {
    const term = election.term()
    if (term !== undefined) become(State.led(state, term))
    return Effect.never
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => become(State.lost(state)))))

  yield* Metric.update(gauge, 0)
  yield* supervisor.run(`watch of the leases of ${namespace}/${name}`, reflector.run)
  yield* supervisor.run(`term of lease ${namespace}/${lease}`, election.lead(term))
  yield* supervisor.run(`shares of ${namespace}/${name}`, Effect.forever(turn))

  return {
    ...always,
    election,
    permit: election.permit,
    lead: (work) => election.lead(Effect.andThen(Effect.sync(() => become(State.joined(state))), work)),
    owns: (key) =>
      election.term() === state.term && State.owns(ground, key) && (told === ground || State.owns(told, key)),
    share: (part) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => parts.add(part)),
        () => Effect.sync(() => parts.delete(part))
      ))
  } satisfies Sharding as Sharding
})

const mistake = ({ name, namespace }: LeaderElection.Options, what: string): Error =>
  new Error(`Sharding: ${namespace}/${name}: ${what}`)

const labelled = "must consist of lower-case letters, digits and \"-\", at most 63"
const named = "must consist of lower-case letters, digits, \"-\" and \".\" (a host name), at most 253 with the name"
