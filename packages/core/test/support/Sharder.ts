/**
 * The sharder of kubernetes-controller-sharding, as far as a shard sees of it: it assigns what is nobody's, has moved what
 * is another's handed back first, and takes leases from those that do not renew them.
 *
 * Unlike it, it has no webhook: what is handed back is assigned at the next turn.
 */
import { type KubeObject, LeaderElection, type Resource, Ring } from "@effect-operator/core"
import { Clock, Effect } from "effect"
import type { Server } from "./Server.ts"

const { Lease } = LeaderElection

const hash = (text: string): number => {
  let value = 2_166_136_261
  for (const character of text) value = Math.imul(value ^ character.charCodeAt(0), 16_777_619) >>> 0
  return Math.imul(value ^ (value >>> 15), 2_246_822_519) >>> 0
}

export class Sharder {
  readonly shard: string
  readonly drain: string
  readonly #server: Server
  readonly #ring: string
  readonly #kinds: ReadonlyArray<Resource.Any>
  /** When a lease was seen to change last. */
  readonly #renewed = new Map<string, { readonly version: string; readonly at: number }>()

  constructor(server: Server, ring: string, ...kinds: ReadonlyArray<Resource.Any>) {
    this.#server = server
    this.#ring = ring
    this.#kinds = kinds
    this.shard = `shard.alpha.sharding.timebertt.dev/${ring}`
    this.drain = `drain.alpha.sharding.timebertt.dev/${ring}`
  }

  get #shards(): ReadonlyArray<string> {
    return this.#server.objects(Lease).filter(({ metadata, spec }) =>
      metadata.labels?.[Ring.label] === this.#ring && spec?.holderIdentity === metadata.name
    ).map(({ metadata }) => metadata.name).sort()
  }

  /** Whose an object is. */
  of({ metadata }: KubeObject.KubeObject): string | undefined {
    return metadata.labels?.[this.shard]
  }

  /** Who has how many objects. */
  get shares(): Readonly<Record<string, number>> {
    const all = this.#kinds.flatMap((kind) => this.#server.objects(kind))
    return Object.fromEntries(
      [...Map.groupBy(all, (object) => this.of(object) ?? "nobody")].sort().map(
        ([who, objects]) => [who, objects.length]
      )
    )
  }

  /** Who has not renewed twice as long as the lease says has none any more. */
  #expire(now: number): void {
    for (const { metadata: { name, resourceVersion }, spec } of this.#server.objects(Lease)) {
      const seen = this.#renewed.get(name)
      if (seen?.version !== resourceVersion) this.#renewed.set(name, { version: resourceVersion, at: now })
      else if (spec?.holderIdentity === name && now - seen.at > 2_000 * (spec.leaseDurationSeconds ?? 0)) {
        this.#server.patch(Lease, name, { spec: { holderIdentity: "shardlease-controller" } })
      }
    }
  }

  /** One look at everything. */
  readonly turn = Effect.map(Clock.currentTimeMillis, (now) => {
    this.#expire(now)
    const shards = this.#shards
    for (const kind of this.#kinds) {
      for (const object of this.#server.objects(kind)) {
        const { labels = {}, name } = object.metadata
        const desired = shards.toSorted((a, b) => hash(`${name} ${a}`) - hash(`${name} ${b}`))[0]
        const current = this.of(object)
        if (desired === undefined || desired === current) continue
        const isDrained = current !== undefined && shards.includes(current)
        if (isDrained && labels[this.drain] !== undefined) continue
        this.#server.patch(kind, name, {
          metadata: { labels: isDrained ? { [this.drain]: "true" } : { [this.shard]: desired, [this.drain]: null } }
        })
      }
    }
  })

  readonly run: Effect.Effect<never> = Effect.forever(Effect.andThen(this.turn, Effect.sleep("500 millis")))
}
