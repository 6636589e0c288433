import { assert, describe, it } from "@effect/vitest"
import type { Lease } from "../src/internal/electionState.ts"
import { fingerprint } from "../src/internal/fingerprint.ts"
import * as Shards from "../src/internal/shardState.ts"
import { Prng } from "./support/Prng.ts"

const duration = 15_000
const renewDeadline = 10_000
const patience = 2_000
const keys = Array.from({ length: 12 }, (_, i) => `default/o${i}`)

/** A server with nothing but leases: each change has a resourceVersion, and a watch shows them in this order. */
class Leases {
  readonly changes: Array<{ readonly lease: Lease; readonly deleted: boolean }> = []
  readonly now = new Map<string, Lease>()

  write(identity: string, holderIdentity: string, said: Readonly<Record<string, string | undefined>>): void {
    const annotations = JSON.parse(JSON.stringify(said)) as Record<string, string>
    const lease: Lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: `op-${identity}`,
        namespace: "default",
        uid: identity,
        resourceVersion: String(this.changes.length + 1),
        creationTimestamp: "2026-01-01T00:00:00Z",
        annotations
      },
      spec: { holderIdentity, leaseDurationSeconds: duration / 1000 }
    }
    this.now.set(identity, lease)
    this.changes.push({ lease, deleted: false })
  }

  delete(identity: string, resourceVersion?: string): void {
    const lease = this.now.get(identity)
    if (lease === undefined || (resourceVersion ?? lease.metadata.resourceVersion) !== lease.metadata.resourceVersion) {
      return
    }
    this.now.delete(identity)
    this.changes.push({
      lease: { ...lease, metadata: { ...lease.metadata, resourceVersion: String(this.changes.length + 1) } },
      deleted: true
    })
  }
}

/** A replica: what the shell does, in steps that may come at any time. */
class Replica {
  state: Shards.State
  readonly working = new Set<string>()
  gone = false
  #shown = 0
  /** Of the election, of which the protocol hears later. */
  #term: number | undefined
  #terms = 0
  #renewedAt = -Infinity
  /** A request that is under way, and what comes of it, answered or not. */
  #asking: ((now: number, answered: boolean) => Shards.State) | undefined
  /** What is known to have stopped, and is yet to be said. */
  #stopped: ReadonlyArray<string> | undefined
  readonly server: Leases

  constructor(server: Leases, identity: string) {
    this.server = server
    this.state = Shards.initial(identity)
  }

  leads(now: number): boolean {
    return now < this.#renewedAt + renewDeadline
  }

  /** Writes its lease; where the answer is lost, it does not know that it has. */
  renew(now: number, answered: boolean): void {
    const { me } = this.state
    const writing = this.#term ?? this.#terms + 1
    this.server.write(me, me, Shards.said(this.state, writing))
    if (!answered) return
    this.#renewedAt = now
    this.#term = writing
    this.#terms = writing
  }

  /** Hears of the election. */
  hear(): void {
    if (this.#term === this.state.term) return
    this.state = this.#term === undefined ? Shards.lost(this.state) : Shards.led(this.state, this.#term)
  }

  /** Shows it what the watch has next; or all there is, as a new list. */
  show(now: number, relist = false): void {
    if (relist || !this.state.listed) {
      this.state = Shards.listed(this.state, [...this.server.now.values()], now)
      this.#shown = this.server.changes.length
      return
    }
    const change = this.server.changes[this.#shown]
    if (change === undefined) return
    this.#shown += 1
    if (!change.deleted) this.state = Shards.saw(this.state, change.lease, now)
  }

  get isBehind(): boolean {
    return this.#shown < this.server.changes.length
  }

  owns(key: string, now: number): boolean {
    return this.leads(now) && this.#term === this.state.term && Shards.owns(Shards.ground(this.state), key)
  }

  begin(key: string, now: number): void {
    if (this.owns(key, now)) this.working.add(key)
  }

  /** The next step of the protocol. What the server says to a request it says when that is made, and is heard later. */
  step(now: number, answered: boolean): void {
    if (this.#asking !== undefined) {
      this.state = this.#asking(now, answered)
      this.#asking = undefined
      return
    }
    if (this.#stopped !== undefined) {
      this.state = Shards.released(this.state, this.#stopped)
      this.#stopped = undefined
      return
    }
    if (this.state.next !== undefined) {
      const { me, next } = this.state
      for (const key of this.working) if (Shards.ownerOf(next, key) !== me) return
      this.#stopped = next
      return
    }
    const step = Shards.next(this.state, now)
    if (step._tag === "Release") this.state = Shards.releasing(this.state, step.members)
    else if (step._tag === "Ask") {
      const lease = [...this.server.now.values()].find(({ metadata }) => metadata.name === step.name)
      this.#asking = (now, answered) =>
        answered
          ? Shards.asked(this.state, step, lease, now)
          : Shards.unanswered(this.state, step, now + patience)
    } else if (step._tag === "Sweep") {
      this.server.delete(step.lease.spec!.holderIdentity!, step.lease.metadata.resourceVersion)
      this.#asking = (now, answered) =>
        answered ? Shards.swept(this.state, step) : Shards.unanswered(this.state, step, now)
    }
  }

  /** Stops in time, if it could not renew. */
  expire(now: number): void {
    if (this.leads(now) || this.#term === undefined) return
    this.working.clear()
    this.#term = undefined
  }

  leave(): void {
    this.working.clear()
    this.server.write(this.state.me, "", {})
    this.server.delete(this.state.me)
    this.gone = true
  }

  crash(): void {
    this.working.clear()
    this.gone = true
  }
}

const run = (seed: number, deliver: (replica: Replica, now: number, random: Prng) => void) => {
  const random = new Prng(seed)
  const server = new Leases()
  const replicas: Array<Replica> = []
  let now = 0
  let born = 0
  const add = () => replicas.push(new Replica(server, `r${born++}`))
  const living = () => replicas.filter(({ gone }) => !gone)
  add()
  add()
  const check = (what: string) => {
    for (const replica of living()) replica.expire(now)
    for (const key of keys) {
      const at = living().filter(({ working }) => working.has(key))
      if (at.length < 2) continue
      assert.fail(`seed ${seed}: ${key} is worked on by ${at.map(({ state }) => state.me).join(" and ")} after ${what}`)
    }
  }
  for (let turn = 0; turn < 400; turn++) {
    const alive = living()
    const replica = alive.length === 0 ? undefined : random.pick(alive)
    const actions: ReadonlyArray<readonly [string, number, () => void]> = [
      ["show", 30, () => deliver(replica!, now, random)],
      ["renew", 14, () => replica!.renew(now, random.chance(0.85))],
      ["step", 25, () => replica!.step(now, random.chance(0.8))],
      ["hear", 20, () => replica!.hear()],
      ["begin", 25, () => replica!.begin(random.pick(keys), now)],
      ["end", 12, () => replica!.working.delete(random.pick(keys))],
      ["join", 6, () => (replica!.state = Shards.joined(replica!.state))],
      ["time", 8, () => (now += random.int(1, 4_000))],
      ["long time", 1, () => (now += random.int(5_000, 40_000))],
      ["add", alive.length < 4 ? 3 : 0, add],
      ["leave", alive.length > 1 ? 1 : 0, () => replica!.leave()],
      ["crash", alive.length > 1 ? 1 : 0, () => replica!.crash()]
    ]
    let at = random.int(0, actions.reduce((sum, [, weight]) => sum + weight, 0) - 1)
    for (const [what, weight, act] of actions) {
      at -= weight
      if (at >= 0) continue
      act()
      check(what)
      break
    }
  }
  return { replicas: living(), now }
}

describe("shardState", () => {
  it("never has two replicas work on one object, whatever is late, lost, or dies (2,000 random runs)", () => {
    for (let seed = 1; seed <= 2_000; seed++) {
      run(seed, (replica, now, random) => replica.show(now, random.chance(0.05)))
    }
  })

  it("has every object worked on by one replica once nothing changes any more (500 random runs)", () => {
    for (let seed = 1; seed <= 500; seed++) {
      const { now: then, replicas } = run(seed, (replica, now) => replica.show(now))
      let now = then
      for (let round = 0; round < 120; round++) {
        now += 1_000
        for (const replica of replicas) {
          replica.expire(now)
          replica.state = Shards.joined(replica.state)
          replica.renew(now, true)
          replica.hear()
          while (replica.isBehind || !replica.state.listed) replica.show(now)
          replica.working.clear()
          replica.step(now, true)
        }
      }
      for (const key of keys) {
        const owners = replicas.filter((replica) => replica.owns(key, now))
        assert.strictEqual(owners.length, 1, `seed ${seed}: ${key} of ${replicas.map(({ state }) => state.me).join()}`)
      }
      const claims = new Set(replicas.map(({ state }) => state.confirmed?.members.join()))
      assert.strictEqual(claims.size, 1, `seed ${seed}`)
    }
  })

  describe("a replica that works alone, and sees another come", () => {
    const server = new Leases()
    server.write("a", "a", { [Shards.annotations.members]: "a", [Shards.annotations.claim]: "1.1" })
    const claimed = Shards.released(
      Shards.releasing(Shards.joined(Shards.led(Shards.listed(Shards.initial("a"), [], 0), 1)), ["a"]),
      ["a"]
    )
    const alone = Shards.saw(claimed, server.now.get("a")!, 0)
    const [going, kept] = [
      keys.find((key) => Shards.ownerOf(["a", "b"], key) === "b")!,
      keys.find((key) => Shards.ownerOf(["a", "b"], key) === "a")!
    ]
    const narrowed = Shards.releasing(alone, ["a", "b"])
    const ownsOf = (state: Shards.State) => [going, kept].map((key) => Shards.owns(Shards.ground(state), key))

    it("owns everything once the watch has shown its claim, and not before", () => {
      assert.deepStrictEqual(ownsOf(claimed), [false, false])
      assert.deepStrictEqual(ownsOf(alone), [true, true])
    })

    it("starts nothing that moves away as soon as it knows, and continues with what stays", () => {
      assert.deepStrictEqual(ownsOf(narrowed), [false, true])
      assert.deepStrictEqual(ownsOf(Shards.released(narrowed, ["a", "b"])), [false, true])
    })

    it("publishes the new members when it has stopped, unless it lost its lease or the members changed meanwhile", () => {
      const after = Shards.released(narrowed, ["a", "b"])
      assert.deepStrictEqual(Shards.said(after, 1), {
        [Shards.annotations.members]: "a,b",
        [Shards.annotations.claim]: "1.2"
      })
      assert.isUndefined(Shards.released(Shards.lost(narrowed), ["a", "b"]).claim)
      const otherwise = Shards.releasing(narrowed, ["a", "b", "c"])
      assert.strictEqual(Shards.released(otherwise, ["a", "b"]), otherwise)
    })

    it("publishes nothing of an earlier term: others have taken that over", () => {
      assert.deepStrictEqual(JSON.stringify(Shards.said(alone, 2)), "{}")
      assert.deepStrictEqual(ownsOf(Shards.led(alone, 2)), [false, false])
    })
  })

  describe("what a replica waits for", () => {
    const lease = (identity: string, rv: number, holder = identity): Lease => {
      const server = new Leases()
      for (let i = 0; i < rv; i++) server.write(identity, holder, { [Shards.annotations.members]: "a,b,c" })
      return server.now.get(identity)!
    }
    const begun = Shards.joined(Shards.led(Shards.listed(Shards.initial("a"), [lease("b", 1)], 0), 1))
    const members = ["a", "b"]
    const idle = Shards.released(Shards.releasing(begun, members), members)
    const due = { _tag: "Ask", name: "op-b", lease: lease("b", 1) } as const
    const ofB = (state: Shards.State): Shards.Subject => ({ name: "op-b", lease: state.others.get("op-b")!.lease })

    it("is the first lease that may have expired, which it checks at the server, and again without an answer", () => {
      assert.deepStrictEqual(Shards.next(idle, 0), { _tag: "Wait", until: duration })
      const two = Shards.saw(idle, lease("c", 1), 1_000)
      const both = Shards.released(Shards.releasing(two, ["a", "b", "c"]), ["a", "b", "c"])
      assert.deepStrictEqual(Shards.next(both, 1_000), { _tag: "Wait", until: duration })
      assert.deepStrictEqual(Shards.next(both, duration), due)
      const later = Shards.unanswered(both, ofB(both), duration + 2_000)
      assert.deepStrictEqual(Shards.next(later, duration), { _tag: "Wait", until: duration + 1_000 })
      assert.strictEqual(Shards.unanswered(both, { ...ofB(both), name: "op-d" }, 0), both)
    })

    it("restarts with each change of a lease, but not with a list that shows it unchanged", () => {
      const again = Shards.listed(idle, [lease("b", 1)], 10_000)
      assert.deepStrictEqual(Shards.next(again, duration), due)
      const renewed = Shards.saw(idle, lease("b", 2), 10_000)
      assert.deepStrictEqual(Shards.next(renewed, duration), { _tag: "Wait", until: 10_000 + duration })
    })

    it("is over at once if a replica says that it has stopped", () => {
      const left = Shards.saw(idle, lease("b", 2, ""), 1_000)
      assert.deepStrictEqual(Shards.next(left, 1_000), { _tag: "Release", members: ["a"] })
    })

    it("includes the return of a dead one, whose lease is removed after ten times as long", () => {
      const dead = Shards.asked(idle, ofB(idle), lease("b", 1), duration)
      assert.deepStrictEqual(Shards.next(dead, duration), { _tag: "Release", members: ["a"] })
      const alone = Shards.released(Shards.releasing(dead, ["a"]), ["a"])
      assert.deepStrictEqual(Shards.next(alone, duration), { _tag: "Wait", until: 11 * duration })
      assert.deepInclude(Shards.next(alone, 11 * duration), { _tag: "Sweep", name: "op-b" })
      assert.deepStrictEqual(Shards.next(Shards.swept(alone, ofB(alone)), 11 * duration), {
        _tag: "Wait",
        until: Infinity
      })
      const refused = Shards.unanswered(alone, ofB(alone), 11 * duration)
      assert.deepStrictEqual(
        Shards.next(Shards.listed(refused, [lease("b", 1)], 11 * duration), 11 * duration),
        { _tag: "Wait", until: 21 * duration },
        "it is dead whether or not its lease can be swept away"
      )
      const back = Shards.saw(alone, lease("b", 2), 2 * duration)
      assert.deepStrictEqual(Shards.next(back, 2 * duration), { _tag: "Release", members: ["a", "b"] })
    })
  })

  it("learns nothing about a lease from a request about its predecessor", () => {
    const [first, second] = [1, 2].map((rv) => {
      const server = new Leases()
      for (let i = 0; i < rv; i++) server.write("b", "b", { [Shards.annotations.members]: "a,b" })
      return server.now.get("b")!
    }) as [Lease, Lease]
    const joined = Shards.joined(Shards.led(Shards.listed(Shards.initial("a"), [first], 0), 1))
    const subject = { name: "op-b", lease: first }
    // It renewed its lease while the server was asked.
    const renewed = Shards.saw(joined, second, duration + 1_000)
    assert.strictEqual(Shards.unanswered(renewed, subject, duration + 2_000), renewed, "it has all its time again")
    assert.strictEqual(Shards.asked(renewed, subject, undefined, duration + 2_000), renewed, "it has come back since")
    assert.strictEqual(Shards.asked(renewed, subject, first, duration + 2_000), renewed)
    assert.strictEqual(Shards.swept(renewed, subject), renewed)
  })

  it("has news only if its own lease shows another claim", () => {
    const idle = Shards.released(
      Shards.releasing(Shards.joined(Shards.led(Shards.listed(Shards.initial("a"), [], 0), 1)), ["a"]),
      ["a"]
    )
    const server = new Leases()
    server.write("a", "a", Shards.said(idle, 1))
    const confirmed = Shards.saw(idle, server.now.get("a")!, 0)
    assert.strictEqual(confirmed.confirmed, idle.claim)
    server.write("a", "a", Shards.said(idle, 1))
    assert.strictEqual(Shards.saw(confirmed, server.now.get("a")!, 2_000), confirmed, "a renewal is none")
    const anew = Shards.led(Shards.initial("a"), 1)
    assert.strictEqual(
      Shards.saw(anew, server.now.get("a")!, 0),
      anew,
      "nor is the claim of somebody before of its name"
    )
  })

  it("distributes evenly, and moves only what it must", () => {
    const many = Array.from({ length: 9_000 }, (_, i) => `shop-${i % 30}/order-${i}`)
    const three = ["a", "b", "c"]
    const counts = new Map<string, number>()
    for (const key of many) {
      const owner = Shards.ownerOf(three, key)!
      counts.set(owner, (counts.get(owner) ?? 0) + 1)
      const later = Shards.ownerOf([...three, "d"], key)
      assert.isTrue(later === owner || later === "d")
      assert.strictEqual(Shards.ownerOf(three.toReversed(), key), owner)
    }
    for (const [member, count] of counts) {
      assert.isAbove(count, 2_700, member)
      assert.isBelow(count, 3_300, member)
    }
    assert.strictEqual(Shards.ownerOf(["a"], "x"), "a")
    assert.isUndefined(Shards.ownerOf([], "x"))
  })

  it("distributes like any other version: during a rolling update both work", () => {
    const members = ["web-7d4b9c8f6d-x2v0q", "web-7d4b9c8f6d-zz9kp", "ü"]
    for (let i = 0; i < 1_000; i++) {
      const key = `shop-${i % 30}/order-${i}`
      const weights = members.map((member) => fingerprint(`${member} ${key}`))
      assert.strictEqual(Shards.ownerOf(members, key), members[weights.indexOf(Math.max(...weights))])
    }
    assert.strictEqual(fingerprint("web-7d4b9c8f6d-x2v0q shop-1/order-1"), 4_273_964_818_609_398)
  })
})
