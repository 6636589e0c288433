/**
 * `Ring`: replicas share the objects as a `ControllerRing` of kubernetes-controller-sharding assigns them.
 *
 * The sharder of that project is installed in the cluster. It labels each object with the replica that works on it, and
 * asks a replica to hand an object back with a second label. A replica watches and caches only its own objects and
 * their children, so memory is shared out as well (with `Sharding`, every replica keeps everything). The protocol
 * requires:
 *
 * - **Its Lease**, named after the replica and labelled with the ring, is held as long as the replica works. A replica
 *   that cannot renew it, or loses it to another, stops working, because its objects may belong to others by then. Its
 *   part of the program fails, so that the process ends and starts again.
 * - **Label selectors** on the watches of a controller's own kind, and of the kinds it `owns`.
 * - **Handing back**: a replica stops work on an object that is asked for. Both labels are removed when the work under
 *   way has ended in all its controllers, whatever the predicate says about that change; only then another replica gets
 *   it.
 *
 * Beyond that protocol, children are guaranteed to follow their owner, and to be there before it is reconciled. Each
 * child that a controller makes (its reconciler, its sources, a service with a client of its own) carries the label
 * from the start. When an object comes from another replica, or from a time before the ring, its children are looked up
 * on the server and labelled. So a child with a generated name is not made again, even if its maker died. Therefore
 * leave `controlledResources` of the ring empty: the sharder would move children by itself, earlier or later than their
 * owner. A kind that another controller of the same manager reconciles is a main resource of the ring itself, and its
 * owner's controller watches all of it. Only the manager's initial controllers count for that, not those added later.
 *
 * An object with a finalizer has been reconciled before; one without has no children. So let an operator get its first
 * `finalize` under one leader, and move it to a ring when all objects have the finalizer.
 *
 * An object is also not reconciled before the caches show what others have written, of whatever kind. Each shard
 * records in its lease how far its writes have come (see `internal/Legacy`), before it hands back objects. A shard that
 * receives an object that was reconciled before reads the leases first.
 *
 * Source: docs/implement-sharding.md of timebertt/kubernetes-controller-sharding (v1alpha1).
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Assignment from "./internal/Assignment.ts"
import { Desk } from "./internal/Desk.ts"
import * as Legacy from "./internal/Legacy.ts"
import { KubeClient } from "./KubeClient.ts"
import * as LeaderElection from "./LeaderElection.ts"
import type { Leadership } from "./Leadership.ts"
import { fromLabels } from "./Selector.ts"
import type { Supervisor } from "./Supervisor.ts"

/** Label of a Lease: the ring of its holder. */
export const label = "alpha.sharding.timebertt.dev/controllerring"

export interface Options extends LeaderElection.Options {
  /** Name of the `ControllerRing`, at most 63 characters. The Lease is named after the identity. */
  readonly name: string
  /** Name of this shard: of its Lease, and the value of a label. */
  readonly identity: string
}

/** A participating replica. */
export interface Ring extends Leadership {
  readonly election: LeaderElection.Election
}

/** Another holds the Lease, and may work on the objects of this replica. */
export class ShardLost extends Schema.TaggedError<ShardLost>()("ShardLost", { message: Schema.String }) {}

/**
 * Takes part until the scope closes, and then releases its lease. `mains` are the qualified names of the sharded kinds.
 */
export const make = Effect.fnUntraced(function*(
  options: Options,
  supervisor: Supervisor,
  legacy: Legacy.Legacy,
  mains: ReadonlySet<string>
): Effect.fn.Return<Ring, never, Effect.Services<ReturnType<typeof LeaderElection.make>>> {
  const { identity, name, namespace } = options
  const mistake = (what: string) => Effect.die(new Error(`Ring: ${namespace}/${name}: ${what}`))
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
    return yield* mistake(
      `name: ${JSON.stringify(name)}: names a ControllerRing and is part of labels: ${named}`
    )
  }
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(identity)) {
    return yield* mistake(
      `identity: ${JSON.stringify(identity)}: names a Lease and is the value of a label: ${named}`
    )
  }
  const client = yield* KubeClient
  const inherit = (annotations: Readonly<Record<string, string>> = {}) => legacy.inherit(annotations[Legacy.annotation])
  /** Only of caches that other replicas have, too. */
  const text = () => legacy.textOf((id) => !id.includes(Assignment.shardLabel(name)))
  /** What the lease says of own writes, or is about to say; and what it said when that was last awaited. */
  let saying: string | undefined
  let said: string | undefined
  const election = yield* LeaderElection.make({ ...options, name: identity }, supervisor, {
    say: () => ({ labels: { [label]: name }, annotations: { [Legacy.annotation]: saying = text() } }),
    hear: inherit
  })
  const tell = Effect.suspend(() =>
    text() === said ? Effect.void : Effect.andThen(
      election.renewed,
      Effect.sync(() => {
        said = saying
      })
    )
  )
  const hear = Stream.runForEach(
    client.list(LeaderElection.Lease, { namespace, labels: fromLabels({ [label]: name }) }),
    ({ metadata }) => Effect.sync(() => inherit(metadata.annotations))
  ).pipe(Effect.andThen(Effect.suspend(() => legacy.caughtUp)))
  const lost = SubscriptionRef.changes(election.status).pipe(
    Stream.dropUntil(({ _tag }) => _tag === "Leading"),
    Stream.filter(({ _tag }) => _tag === "Standby"),
    Stream.runHead,
    Effect.andThen(
      Effect.fail(
        new ShardLost({
          message: `${identity} has lost its lease: another shard may own its objects in ring ${name} now`
        })
      )
    )
  )
  yield* supervisor.run(`shard ${identity} of ring ${name}`, lost)
  const desk = new Desk()
  return {
    election,
    lead: (work) => election.lead(Effect.andThen(legacy.caughtUp, work)),
    permit: election.permit,
    owns: () => true,
    share: () => Effect.void,
    confine: (controller) => Assignment.confine(controller, { ring: name, shard: identity, desk, mains, tell, hear })
  }
})

const named = "must consist of lower-case letters, digits, \"-\" and \".\", at most 63"
