import { assert, describe, it } from "@effect/vitest"
import * as State from "../src/internal/electionState.ts"
import { DelayHeap } from "../src/internal/DelayHeap.ts"
import { Prng } from "./support/Prng.ts"

const timing: State.Timing = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 }

const lease = (holderIdentity: string, resourceVersion: number, leaseDurationSeconds = 15): State.Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    name: "l",
    namespace: "n",
    uid: "u",
    resourceVersion: String(resourceVersion),
    creationTimestamp: "2026-01-01T00:00:00Z"
  },
  spec: { holderIdentity, leaseDurationSeconds }
})

const standby = (seen: State.Lease | null, at: number) => State.seen(State.initial, "me", seen, at, 0)

describe("electionState", () => {
  it("reads first, and takes a lease that is free, absent, or its own, at once", () => {
    assert.deepStrictEqual(State.next(State.initial, "me", timing, 0), { _tag: "Look" })
    for (const found of [null, lease("", 1), lease("me", 1)]) {
      assert.deepStrictEqual(State.next(standby(found, 7), "me", timing, 7), { _tag: "Acquire", lease: found })
    }
  })

  it("takes a held lease only after it was unchanged for the duration that the holder promised", () => {
    const state = standby(lease("other", 1, 20), 1_000)
    assert.deepStrictEqual(State.next(state, "me", timing, 1_000), { _tag: "Wait", until: 21_000 })
    const renewed = State.seen(state, "me", lease("other", 2, 20), 20_999, 0)
    assert.deepStrictEqual(State.next(renewed, "me", timing, 21_000), { _tag: "Wait", until: 40_999 })
    assert.strictEqual(State.seen(renewed, "me", lease("other", 2, 20), 30_000, 0), renewed, "nothing new")
    assert.strictEqual(State.seen(renewed, "me", lease("third", 1), 30_000, 0), renewed, "something old")
    assert.strictEqual(State.next(renewed, "me", timing, 40_999)._tag, "Acquire")
  })

  it("renews in time, reads before it retries after a failure, and resigns at the deadline", () => {
    let state = State.wrote(lease("me", 3), 0)
    assert.deepStrictEqual(State.next(state, "me", timing, 0), { _tag: "Wait", until: 2_000 })
    assert.strictEqual(State.next(state, "me", timing, 2_000)._tag, "Renew")
    state = State.failed(state, 4_000, 0)
    assert.deepStrictEqual(State.next(state, "me", timing, 4_000), { _tag: "Wait", until: 6_000 })
    assert.strictEqual(State.next(state, "me", timing, 6_000)._tag, "Look")
    assert.isTrue(State.leads(state, timing, 9_999))
    assert.isFalse(State.leads(state, timing, 10_000))
    assert.strictEqual(State.next(state, "me", timing, 10_000)._tag, "Resign")
    const accepted = State.seen(state, "me", lease("me", 4), 6_000, 0)
    assert.deepStrictEqual(State.next(accepted, "me", timing, 6_000), { _tag: "Renew", lease: lease("me", 4) })
    assert.strictEqual(State.seen(state, "me", lease("other", 9), 6_000, 0)._tag, "Standby")
  })

  it("after a request without an answer, a leader reads at once if that took longer than the time between two", () => {
    const state = State.failed(State.wrote(lease("me", 3), 0), 2_000, 9_000)
    assert.deepStrictEqual(State.next(state, "me", timing, 3_000), { _tag: "Wait", until: 4_000 })
    assert.strictEqual(State.next(state, "me", timing, 7_000)._tag, "Look")
    const waiting = State.failed(standby(lease("other", 1), 0), 16_000, 18_000)
    assert.deepStrictEqual(State.next(waiting, "me", timing, 17_000), { _tag: "Wait", until: 18_000 })
  })

  it("counts from the sending of a renewal: a response that comes too late does not count", () => {
    const state = State.wrote(lease("me", 3), 0)
    assert.isFalse(State.leads(state, timing, 12_000))
    assert.strictEqual(State.next(state, "me", timing, 12_000)._tag, "Resign")
  })

  it("writes the lease as client-go does", () => {
    const first = State.claimed(null, "me", timing, 0)
    assert.deepStrictEqual(first, {
      holderIdentity: "me",
      leaseDurationSeconds: 15,
      acquireTime: "1970-01-01T00:00:00.000000Z",
      renewTime: "1970-01-01T00:00:00.000000Z",
      leaseTransitions: 0
    })
    const mine: State.Lease = { ...lease("me", 1), spec: first }
    assert.deepInclude(State.claimed(mine, "me", timing, 2_000), {
      acquireTime: first.acquireTime!,
      renewTime: "1970-01-01T00:00:02.000000Z",
      leaseTransitions: 0
    })
    assert.deepInclude(State.claimed(mine, "you", timing, 2_000), { holderIdentity: "you", leaseTransitions: 1 })
    assert.deepInclude(State.released(mine, 5_000), { holderIdentity: "", leaseDurationSeconds: 1 })
  })
})

/** How long a request takes at most to be carried out: what lies between renew deadline and lease duration. */
const slowest = 4_900

/**
 * Replicas, a network and a server in discrete events. Each replica has a clock of its own, up to five seconds off.
 * Requests and answers are delayed or lost, watches lag or break, replicas crash and come back. A leader writes all the
 * time; what the server accepts is judged.
 */
class World {
  readonly random: Prng
  readonly events = new DelayHeap<() => void>()
  readonly accepted: Array<{ readonly at: number; readonly term: number; readonly process: string }> = []
  lease: State.Lease | null = null
  readonly replicas: ReadonlyArray<Replica>
  now = 0
  rv = 0
  terms = 0
  healthy = false

  constructor(seed: number) {
    this.random = new Prng(seed)
    this.replicas = [0, 1, 2].map((id) => new Replica(this, id))
  }

  after(delay: number, run: () => void): void {
    this.events.push(this.now + Math.max(0, delay), run)
  }

  /** A way through the network; undefined where it is lost. */
  delay(): number | undefined {
    if (this.healthy) return this.random.int(0, 50)
    return this.random.chance(0.1) ? undefined : this.random.chance(0.2) ? this.random.int(0, slowest) : 20
  }

  until(time: number): void {
    for (let first = this.events.peek(); first !== undefined && first.at <= time; first = this.events.peek()) {
      this.now = first.at
      this.events.pop()!()
    }
    this.now = time
  }

  /** The server takes a write of the lease if it is of the version it has. */
  put(seen: State.Lease | null, spec: NonNullable<State.Lease["spec"]>): State.Lease | "Conflict" {
    if ((this.lease?.metadata.resourceVersion ?? "") !== (seen?.metadata.resourceVersion ?? "")) return "Conflict"
    const metadata = { ...lease("", ++this.rv).metadata }
    this.lease = { ...lease("", this.rv), metadata, spec }
    for (const replica of this.replicas) {
      const told = this.lease
      const lag = this.delay()
      if (lag !== undefined) this.after(lag, () => replica.see(told))
    }
    return this.lease
  }
}

class Replica {
  readonly world: World
  readonly id: number
  readonly skew: number
  state: State.State = State.initial
  alive = true
  life = 0
  busy = false
  /** Which time of leading it is, over all replicas. */
  term = 0
  draining = false

  constructor(world: World, id: number) {
    this.world = world
    this.id = id
    this.skew = world.random.int(-5_000, 5_000)
    this.tick()
    this.work()
  }

  get identity(): string {
    return `${this.id}/${this.life}`
  }

  clock(): number {
    return this.world.now + this.skew
  }

  see(lease: State.Lease | null): void {
    if (!this.alive) return
    this.state = State.seen(this.state, this.identity, lease, this.clock(), this.world.random.int(0, 300))
    this.tick()
  }

  crash(down: number): void {
    this.alive = false
    this.life += 1
    this.busy = false
    this.draining = false
    this.state = State.initial
    this.world.after(down, () => {
      this.alive = true
      this.tick()
    })
  }

  /** An orderly stop: what is under way comes to its end, then the lease is given back, and the process is gone. */
  stop(): void {
    this.draining = true
    const { life } = this
    this.world.after(slowest, () => {
      if (this.life !== life) return
      // A renewal may be under way: what is given back is the lease as it is, if it is still this one's.
      const { lease } = this.world
      if (lease?.spec?.holderIdentity === this.identity) this.world.put(lease, State.released(lease, this.clock()))
      this.crash(10_000)
    })
  }

  /** What the loop of `LeaderElection` does. */
  tick(): void {
    if (!this.alive || this.busy) return
    const step = State.next(this.state, this.identity, timing, this.clock())
    const { life, world } = this
    if (step._tag === "Wait") {
      if (step.until < Infinity) {
        world.after(step.until - this.clock(), () => {
          if (this.life === life) this.tick()
        })
      }
      return
    }
    if (step._tag === "Resign") {
      this.state = State.resigned(this.state, this.clock())
      return this.tick()
    }
    this.busy = true
    const sentAt = this.clock()
    let answered = false
    const answer = (then: () => void) => {
      if (answered || !this.alive || this.life !== life) return
      answered = true
      this.busy = false
      then()
      this.tick()
    }
    const left = this.state._tag === "Leading" ? this.state.renewedAt + timing.renewDeadline - sentAt : Infinity
    world.after(Math.min(left, timing.renewDeadline / 2), () =>
      answer(() => {
        this.state = State.failed(this.state, sentAt, this.clock() + 2_000)
      }))
    const there = world.delay()
    if (there === undefined) return
    const spec = step._tag === "Look" ? undefined : State.claimed(step.lease, this.identity, timing, sentAt)
    world.after(there, () => {
      const back = world.delay()
      const found = step._tag === "Look"
        ? world.lease
        : world.put(step.lease, spec!)
      if (back === undefined) return
      world.after(back, () =>
        answer(() => {
          this.state = step._tag === "Look"
            ? State.seen(this.state, this.identity, found as State.Lease | null, this.clock(), 0)
            : found === "Conflict"
            ? State.refused(this.state, this.clock())
            : this.lead(found as State.Lease, sentAt)
        }))
    })
  }

  lead(lease: State.Lease, sentAt: number): State.State {
    if (this.state._tag !== "Leading") this.term = ++this.world.terms
    return State.wrote(lease, sentAt)
  }

  get leads(): boolean {
    return this.alive && State.leads(this.state, timing, this.clock())
  }

  /** A leader writes every 400 ms; the write is under way for up to `slowest`. */
  work(): void {
    if (this.leads && !this.draining) {
      const { identity: process, term } = this
      const delay = this.world.delay()
      if (delay !== undefined) {
        this.world.after(delay, () => this.world.accepted.push({ at: this.world.now, term, process }))
      }
    }
    this.world.after(400, () => this.work())
  }
}

/** Terms are numbered in the order of their beginning: no process writes after one that led later. */
const twoWriters = (accepted: World["accepted"]): string | undefined => {
  let latest = { term: 0, process: "" }
  for (const { at, process, term } of accepted) {
    if (term < latest.term && process !== latest.process) {
      return `${process} in term ${term} at ${at}, after ${latest.process} in term ${latest.term}`
    }
    if (term > latest.term) latest = { term, process }
  }
  return undefined
}

describe("electionState: schedules", () => {
  it(
    "never lets two write, and finds a leader in time, in 10,000 schedules of crashes, losses, delays and skew",
    () => {
      let handovers = 0
      for (let seed = 1; seed <= 10_000; seed++) {
        const world = new World(seed)
        const { random } = world
        for (let i = 0; i < 6; i++) {
          world.until(world.now + random.int(1_000, 20_000))
          const replica = random.pick(world.replicas)
          if (random.chance(0.5)) replica.crash(random.int(100, 20_000))
          else if (random.chance(0.3)) replica.stop()
        }
        handovers += world.terms
        // The network heals: within a lease there is a leader again.
        world.healthy = true
        for (const replica of world.replicas) replica.see(world.lease)
        world.until(world.now + 40_000)
        const leader = world.replicas.find(({ leads }) => leads)
        if (leader === undefined) return assert.fail(`seed ${seed}: nobody leads after the network healed`)
        leader.crash(100_000)
        world.until(world.now + 17_000)
        const successor = world.replicas.find(({ leads }) => leads)
        if (successor === undefined) return assert.fail(`seed ${seed}: nobody leads 17 s after the crash`)
        successor.stop()
        world.until(world.now + slowest + 1_000)
        if (!world.replicas.some(({ leads }) => leads)) {
          return assert.fail(`seed ${seed}: nobody leads 1 s after the release`)
        }
        const fault = twoWriters(world.accepted)
        if (fault !== undefined) return assert.fail(`seed ${seed}: two writers: ${fault}`)
      }
      assert.isAbove(handovers, 20_000)
    }
  )
})
