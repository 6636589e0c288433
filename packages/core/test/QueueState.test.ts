import type { Trigger } from "@effect-operator/core"
import { QueueState } from "@effect-operator/core/QueueState"
import { assert, describe, it } from "@effect/vitest"
import { DelayHeap, type Slot } from "../src/internal/DelayHeap.ts"
import { Prng } from "./support/Prng.ts"

const reasons: ReadonlyArray<Trigger.Reason> = [
  { _tag: "Added", kind: "Pod", object: "d/a" },
  { _tag: "Updated", kind: "Pod", object: "d/a" },
  { _tag: "Resync" }
]
const again: Trigger.Reason = { _tag: "Retry" }
const text = (reason: Trigger.Reason): string => JSON.stringify(reason)

/** What the queue is to do, in arrays and linear scans. */
class Model {
  ready: Array<{ readonly key: string; readonly lane: string; readonly tag: number; readonly rank: number }> = []
  /** The last tag given in a lane, as long as something waits in it. */
  lanes = new Map<string, number>()
  turn = 0
  priorities = new Map<string, number>()
  waiting: Array<{ readonly key: string; readonly at: number; readonly order: number }> = []
  processing: Array<{ readonly key: string; readonly priority: number; dirty: boolean; at: number }> = []
  reasons: Array<{ readonly key: string; readonly text: string }> = []
  failures: Array<string> = []
  order = 0

  because(key: string, reason: Trigger.Reason): void {
    if (!this.reasons.some((r) => r.key === key && r.text === text(reason))) {
      this.reasons.push({ key, text: text(reason) })
    }
  }

  ask(key: string, priority: number): void {
    if (priority <= (this.priorities.get(key) ?? -Infinity)) return
    this.priorities.set(key, priority)
    if (this.ready.some((r) => r.key === key)) {
      this.leave(key)
      this.enter(key)
    }
  }

  enter(key: string): void {
    const priority = this.priorities.get(key) ?? 0
    const lane = `${key.split("/")[0]} ${priority}`
    const tag = Math.max(this.turn, this.lanes.get(lane) ?? 0) + 1
    this.lanes.set(lane, tag)
    this.ready.push({ key, lane, tag, rank: tag - priority })
  }

  leave(key: string): void {
    this.ready = this.ready.filter((r) => r.key !== key)
    for (const lane of this.lanes.keys()) if (!this.ready.some((r) => r.lane === lane)) this.lanes.delete(lane)
  }

  add(key: string, priority: number): void {
    this.ask(key, priority)
    const busy = this.processing.find((p) => p.key === key)
    if (busy !== undefined) busy.dirty = true
    else if (!this.ready.some((r) => r.key === key)) {
      this.waiting = this.waiting.filter((w) => w.key !== key)
      this.enter(key)
    }
  }

  addAt(key: string, at: number): void {
    const busy = this.processing.find((p) => p.key === key)
    if (busy !== undefined) busy.at = Math.min(busy.at, at)
    else if (!this.ready.some((r) => r.key === key)) {
      const earlier = this.waiting.find((w) => w.key === key)
      if (earlier !== undefined && earlier.at <= at) return
      this.waiting = this.waiting.filter((w) => w.key !== key)
      this.waiting.push({ key, at, order: this.order++ })
    }
  }

  promote(now: number): boolean {
    const due = this.waiting.filter((w) => w.at <= now).sort((a, b) => a.at - b.at || a.order - b.order)
    this.waiting = this.waiting.filter((w) => w.at > now)
    for (const { key } of due) this.enter(key)
    return due.length > 0
  }

  take() {
    const next = this.ready.toSorted((a, b) => a.rank - b.rank)[0]
    if (next === undefined) return undefined
    const { key } = next
    this.turn = Math.max(this.turn, next.tag)
    this.leave(key)
    const priority = this.priorities.get(key) ?? 0
    this.priorities.delete(key)
    const why = this.reasons.filter((r) => r.key === key).map((r) => r.text)
    this.reasons = this.reasons.filter((r) => r.key !== key)
    this.processing.push({ key, priority, dirty: false, at: Infinity })
    return { key, reasons: why, failures: this.failures.filter((f) => f === key).length, priority }
  }

  done(key: string, ok: boolean, at: number | undefined): void {
    const busy = this.processing.find((p) => p.key === key)!
    this.processing = this.processing.filter((p) => p !== busy)
    if (ok) this.failures = this.failures.filter((f) => f !== key)
    else this.failures.push(key)
    const next = Math.min(busy.at, at ?? Infinity)
    if (!this.priorities.has(key)) this.priorities.set(key, busy.priority)
    if (busy.dirty) this.enter(key)
    else if (next < Infinity) this.addAt(key, next)
    else if (ok) this.priorities.delete(key)
  }
}

/** One random sequence of operations on the queue and on the model. */
class Run {
  readonly random: Prng
  readonly state = new QueueState()
  readonly model = new Model()
  /** Per key what was asked since it was handed out last: the earliest time, minus infinity for at once. */
  readonly owed = new Map<string, number>()
  readonly trace: Array<string> = []
  now = 0

  constructor(seed: number) {
    this.random = new Prng(seed)
  }

  expect(holds: boolean, what: string): void {
    if (!holds) throw new Error(`${what}\n${this.trace.join("\n")}`)
  }

  owe(key: string, at: number): void {
    this.owed.set(key, Math.min(at, this.owed.get(key) ?? Infinity))
  }

  step(): void {
    const { random } = this
    const key = random.pick(["a", "m/b", "m/c", "n/d", "n/e", "n/f"])
    const priority = random.pick([0, 0, 0, -2, 3])
    const reason = random.pick(reasons)
    const at = this.now + random.int(-1, 6)
    switch (random.int(0, 7)) {
      case 0:
      case 1:
        this.trace.push(`add ${key} ${priority}`)
        this.state.add(key, reason, priority)
        this.model.because(key, reason)
        this.model.add(key, priority)
        return this.owe(key, -Infinity)
      case 2:
        this.trace.push(`addAt ${key} ${at} ${priority}`)
        this.state.addAt(key, at, reason, priority)
        this.model.because(key, reason)
        this.model.ask(key, priority)
        this.model.addAt(key, at)
        return this.owe(key, at)
      case 3:
        this.now += random.int(0, 4)
        this.trace.push(`promote ${this.now}`)
        return this.promote()
      case 4:
      case 5:
        this.trace.push("take")
        this.take()
        return
      default: {
        const busy = this.model.processing
        if (busy.length === 0) return
        const { key } = random.pick(busy)
        const ok = random.chance(0.5)
        return this.done(key, ok, random.chance(0.5) ? at : undefined)
      }
    }
  }

  promote(): void {
    this.expect(this.state.promote(this.now) === this.model.promote(this.now), "promote answered otherwise")
    const busy = new Set(this.model.processing.map(({ key }) => key))
    for (const [key, at] of this.owed) if (at <= this.now && !busy.has(key)) this.owed.set(key, -Infinity)
  }

  take(): boolean {
    const busy = new Set(this.model.processing.map(({ key }) => key))
    const item = this.state.take()
    const expected = this.model.take()
    this.expect(typeof item === typeof expected, "take answered otherwise")
    if (item === undefined || expected === undefined) return false
    this.expect(!busy.has(item.key), `${item.key} was handed out twice`)
    this.expect(item.key === expected.key, `${item.key} instead of ${expected.key}`)
    this.expect(item.failures === expected.failures, `${item.failures} failures instead of ${expected.failures}`)
    this.expect(item.priority === expected.priority, `priority ${item.priority} instead of ${expected.priority}`)
    this.expect(item.reasons.map(text).join() === expected.reasons.join(), "other reasons")
    this.expect(this.owed.get(item.key) === -Infinity, `${item.key} too early`)
    this.owed.delete(item.key)
    return true
  }

  done(key: string, ok: boolean, at: number | undefined): void {
    this.trace.push(`${ok ? "succeed" : "fail"} ${key} ${at}`)
    this.state[ok ? "succeed" : "fail"](key, at === undefined ? undefined : { at, reason: again })
    if (at !== undefined) this.model.because(key, again)
    this.model.done(key, ok, at)
    if (at !== undefined) this.owe(key, at)
  }

  check(): void {
    const { model, owed, state } = this
    this.expect(
      state.ready === model.ready.length && state.waiting === model.waiting.length &&
        state.processing === model.processing.length,
      `counts ${state.ready}/${state.waiting}/${state.processing}`
    )
    const due = model.waiting.length === 0 ? undefined : Math.min(...model.waiting.map(({ at }) => at))
    this.expect(state.nextAt === due, `next at ${state.nextAt} instead of ${due}`)
    const busy = new Set(model.processing.map(({ key }) => key))
    const idle = [...owed].filter(([key]) => !busy.has(key))
    this.expect(idle.filter(([, at]) => at === -Infinity).length === state.ready, "what is due at once is not ready")
    this.expect(idle.length === state.ready + state.waiting, "something is neither ready nor waiting")
  }

  /** Succeeds with everything until nothing is left. */
  finish(): void {
    for (const { key } of this.model.processing) this.done(key, true, undefined)
    this.now = Infinity
    this.promote()
    while (this.take()) this.done(this.model.processing[0]!.key, true, undefined)
    this.check()
    this.expect(this.owed.size === 0, `lost: ${[...this.owed.keys()].join()}`)
  }
}

describe("QueueState", () => {
  it("behaves like the naive model in 120,000 random sequences", () => {
    for (let seed = 1; seed <= 120_000; seed++) {
      const run = new Run(seed)
      try {
        const steps = run.random.int(4, 24)
        for (let i = 0; i < steps; i++) {
          run.step()
          run.check()
        }
        run.finish()
        // What rests after a failure is still known; after a success nothing is.
        run.model.failures = [...new Set(run.model.failures)]
        run.expect(run.state.size === run.model.failures.length, `${run.state.size} keys are left`)
        for (const key of run.model.failures) {
          run.state.add(key, again)
          run.state.take()
          run.state.succeed(key)
        }
        run.expect(run.state.size === 0, "something is left")
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    }
  }, 180_000)

  it("refuses to give back a key that is not being processed", () => {
    const state = new QueueState()
    assert.throws(() => state.succeed("a"), "WorkQueue: a is not being processed")
    state.add("a", again)
    assert.throws(() => state.fail("a"), "WorkQueue: a is not being processed")
  })

  it("keeps the reason of a delayed add for a key that is ready", () => {
    const state = new QueueState()
    state.add("a", { _tag: "Resync" })
    state.addAt("a", 10, { _tag: "Requeue" })
    assert.deepStrictEqual(state.take()?.reasons, [{ _tag: "Resync" }, { _tag: "Requeue" }])
  })

  it("returns a failed key that rests on the next add, with its failures", () => {
    const state = new QueueState()
    state.add("a", { _tag: "Resync" })
    state.take()
    state.fail("a")
    assert.deepStrictEqual([state.ready, state.waiting, state.size], [0, 0, 1])
    assert.isUndefined(state.take())
    state.add("a", { _tag: "Resync" })
    assert.deepInclude(state.take(), { key: "a", reasons: [{ _tag: "Resync" }], failures: 1, priority: 0 })
  })

  it("takes back a key that was never handed out, and then knows nothing of it", () => {
    const queue = new QueueState()
    queue.add("d/ready", reasons[0]!)
    queue.addAt("d/waiting", 5, reasons[0]!)
    queue.add("d/taken", reasons[0]!, 5)
    assert.strictEqual(queue.take()?.key, "d/taken")
    for (const key of ["d/ready", "d/waiting", "d/unknown"]) assert.isTrue(queue.withdraw(key))
    assert.isFalse(queue.withdraw("d/taken"))
    assert.deepStrictEqual([queue.size, queue.ready, queue.waiting, queue.nextAt, queue.take()], [
      1,
      0,
      0,
      undefined,
      undefined
    ])
    queue.succeed("d/taken", { at: 7, reason: again })
    assert.isFalse(queue.withdraw("d/taken"), "somebody may keep something about it")
    queue.promote(7)
    assert.strictEqual(queue.take()?.key, "d/taken")
    queue.succeed("d/taken")
    queue.add("d/taken", reasons[0]!)
    assert.isTrue(queue.withdraw("d/taken"), "it was forgotten meanwhile")
  })

  it("lets namespaces take turns, however much one of them has waiting", () => {
    const state = new QueueState()
    for (let i = 0; i < 1_000; i++) state.add(`loud/${i}`, again)
    for (let i = 0; i < 50; i++) take(state)
    for (let i = 0; i < 10; i++) state.add(`quiet/${i}`, again)
    const next = Array.from({ length: 20 }, () => take(state))
    assert.strictEqual(next.filter((key) => key.startsWith("quiet/")).length, 10)
  })

  it("gives a priority a head start of that many turns, and starves nothing", () => {
    const state = new QueueState()
    state.add("n/patient", again, -100)
    let turns = 0
    for (let i = 0;; i++, turns++) {
      state.add(`n/${i}`, again)
      if (take(state) === "n/patient") break
    }
    assert.strictEqual(turns, 100)
    state.add("n/ordinary", again)
    state.add("n/urgent", again, 10)
    assert.strictEqual(take(state), "n/urgent")
  })

  it("holds a key back until a time, whoever adds it, and forgets it if nobody did", () => {
    let now = 0
    const state = new QueueState(() => now)
    state.add("a", again)
    state.take()
    state.hold("a", 100)
    state.add("a", { _tag: "Resync" })
    state.succeed("a")
    state.addAt("a", 50, { _tag: "Requeue" })
    assert.deepStrictEqual([state.ready, state.waiting, state.nextAt], [0, 1, 100])
    now = 100
    state.promote(now)
    assert.deepInclude(state.take(), { key: "a", reasons: [{ _tag: "Resync" }, { _tag: "Requeue" }] })
    state.hold("a", 200)
    state.succeed("a")
    now = 200
    state.promote(now)
    assert.deepStrictEqual([state.size, state.take()], [0, undefined])
  })

  it("moves a ready key forward if it is added more urgently; a key that requeues itself keeps its priority", () => {
    const state = new QueueState()
    state.add("n/a", again)
    state.add("n/b", again)
    state.add("n/b", again, 5)
    assert.deepInclude(state.take(), { key: "n/b", priority: 5 })
    state.fail("n/b", { at: 0, reason: again })
    state.promote(0)
    assert.deepInclude(state.take(), { key: "n/b", priority: 5 })
  })
})

const take = (state: QueueState): string => {
  const { key } = state.take()!
  state.succeed(key)
  return key
}

describe("DelayHeap", () => {
  it("pops by time, by insertion for equal times, without removed entries", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = new Prng(seed)
      const heap = new DelayHeap<number>()
      let model: Array<Slot<number>> = []
      for (let i = 0; i < 80; i++) {
        if (random.chance(0.6)) model.push(heap.push(random.int(0, 9), i))
        else if (model.length > 0 && random.chance(0.4)) {
          const out = random.pick(model)
          heap.remove(out)
          heap.remove(out)
          model = model.filter((item) => item !== out)
        } else {
          const first = model.toSorted((a, b) => a.at - b.at || a.value - b.value)[0]
          assert.strictEqual(heap.peek()?.at, first?.at, `seed ${seed}`)
          assert.strictEqual(heap.pop(), first?.value, `seed ${seed}`)
          model = model.filter((item) => item !== first)
        }
        assert.strictEqual(heap.size, model.length, `seed ${seed}`)
      }
    }
  })
})
