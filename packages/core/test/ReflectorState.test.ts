import { KubeError, type KubeObject, type WatchEvent } from "@effect-operator/core"
import * as ReflectorState from "@effect-operator/core/ReflectorState"
import { assert, describe, it } from "@effect/vitest"
import { Prng } from "./support/Prng.ts"

const { defaults, step } = ReflectorState

const item = (name: string, rv: number): KubeObject.KubeObject => ({
  apiVersion: "v1",
  kind: "Part",
  metadata: { name, namespace: "default", uid: name, resourceVersion: String(rv), creationTimestamp: "" }
})
const added = (rv: number): WatchEvent.WatchEvent => ({ type: "ADDED", object: item(`o${rv}`, rv) })
const bookmark = (rv: number): WatchEvent.WatchEvent => ({
  type: "BOOKMARK",
  object: { kind: "Part", apiVersion: "v1", metadata: { resourceVersion: String(rv) } }
})
const gone: KubeError.Reason = new KubeError.Gone({ message: "too old resource version", code: 410 })
const invalid: KubeError.Reason = new KubeError.Invalid({ message: "forbidden", code: 422 })
const broken: KubeError.Reason = new KubeError.Transport({ message: "connection reset" })

describe("ReflectorState.step", () => {
  const watching = (failures = 0, relisted = false, since = 0): ReflectorState.State => ({
    _tag: "Watching",
    failures,
    lists: "Pages",
    relisted,
    resourceVersion: "10",
    since
  })
  const [listing] = ReflectorState.begin()
  const [streaming] = ReflectorState.begin("Stream")

  it("collects pages, then swaps in the whole list and watches from its resourceVersion", () => {
    const page = (name: string, token?: string): ReflectorState.Input => ({
      _tag: "Page",
      at: 5,
      page: { items: [item(name, 1)], resourceVersion: "10", ...(token === undefined ? {} : { continue: token }) }
    })
    const [half, first] = step(listing, page("a", "t"))
    assert.deepStrictEqual(first, { next: { _tag: "List", continue: "t" } })
    const [state, second] = step(half, page("b"))
    assert.deepStrictEqual(second, {
      replace: { items: [item("a", 1), item("b", 1)], resourceVersion: "10" },
      next: { _tag: "Watch", resourceVersion: "10" }
    })
    assert.deepStrictEqual(state, {
      _tag: "Watching",
      failures: 0,
      lists: "Pages",
      relisted: false,
      resourceVersion: "10",
      since: 5
    })
  })

  const cases: ReadonlyArray<readonly [string, ReflectorState.State, ReflectorState.Input, unknown]> = [
    [
      "an end resumes at once from the last resourceVersion",
      watching(),
      { _tag: "Ended", at: 400_000, lasted: 400_000, quiet: true },
      { _tag: "Watch", resourceVersion: "10" }
    ],
    [
      "an end at once and without an event is a failure",
      watching(2),
      { _tag: "Ended", at: 999, lasted: 999, quiet: true },
      { _tag: "Pause", failures: 3 }
    ],
    [
      "an end at once after an event is none",
      watching(2),
      { _tag: "Ended", at: 10, lasted: 10, quiet: false },
      { _tag: "Watch", resourceVersion: "10" }
    ],
    [
      "a failure pauses",
      watching(),
      { _tag: "Failed", at: 10, reason: broken },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "a failure after two minutes of health counts from one again",
      watching(7),
      { _tag: "Failed", at: defaults.resetAfter, reason: broken },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "a failure just before does not",
      watching(7),
      { _tag: "Failed", at: defaults.resetAfter - 1, reason: broken },
      { _tag: "Pause", failures: 8 }
    ],
    [
      "two minutes of waiting for an answer are no health",
      watching(7),
      { _tag: "Failed", at: defaults.resetAfter, reason: broken, unanswered: true },
      { _tag: "Pause", failures: 8 }
    ],
    [
      "410 lists at once",
      watching(),
      { _tag: "Failed", at: 10, reason: gone },
      { _tag: "List" }
    ],
    [
      "410 after other failures lists at once, too",
      watching(7),
      { _tag: "Failed", at: 10, reason: gone },
      { _tag: "List" }
    ],
    [
      "410 over and over pauses before it lists",
      watching(0, true),
      { _tag: "Failed", at: 10, reason: gone },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "410 two minutes after another lists at once",
      watching(3, true),
      { _tag: "Failed", at: defaults.resetAfter, reason: gone },
      { _tag: "List" }
    ],
    [
      "a failed list pauses",
      listing,
      { _tag: "Failed", at: 10, reason: broken },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "a first page that is too old pauses",
      listing,
      { _tag: "Failed", at: 10, reason: gone },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "a continue token that expired asks for everything in one piece",
      { ...listing, failures: 3, pages: [[item("a", 1)]] } as ReflectorState.State,
      { _tag: "Failed", at: 10, reason: gone },
      { _tag: "List", whole: true }
    ],
    [
      "a stream that is refused is followed by pages at once",
      streaming,
      { _tag: "Failed", at: 10, reason: invalid },
      { _tag: "List" }
    ],
    [
      "a stream that fails pauses",
      streaming,
      { _tag: "Failed", at: 10, reason: broken },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "a stream that ends before its list is complete has failed",
      streaming,
      { _tag: "Ended", at: 10, lasted: 5_000, quiet: false },
      { _tag: "Pause", failures: 1 }
    ],
    [
      "a resourceVersion that goes back pauses before it lists",
      watching(),
      { _tag: "Events", events: [added(11), added(9)] },
      { _tag: "Pause", failures: 1 }
    ]
  ]
  for (const [name, state, input, next] of cases) {
    it(name, () => {
      const [, output] = step(state, input)
      const { reason: _, ...rest } = output.next as { readonly reason?: unknown }
      assert.deepStrictEqual<unknown>(rest, next)
      assert.isUndefined(output.apply)
    })
  }

  it("compares resourceVersions as numbers, and accepts equal ones (a bookmark after an event)", () => {
    const [state, output] = step({ ...watching(), resourceVersion: "9" } as ReflectorState.State, {
      _tag: "Events",
      events: [added(10), bookmark(10)]
    })
    assert.strictEqual(output.apply?.length, 2)
    assert.strictEqual(state._tag === "Watching" ? state.resourceVersion : "", "10")
  })

  it("a streamed list is continued by its own watch, and later lists are streamed again", () => {
    const page: ReflectorState.Input = { _tag: "Page", at: 5, open: true, page: { items: [], resourceVersion: "10" } }
    const [state, output] = step(streaming, page)
    assert.deepStrictEqual(output, { replace: { items: [], resourceVersion: "10" }, next: { _tag: "Read" } })
    const [, again] = step(state, { _tag: "Failed", at: 10, reason: gone })
    assert.deepStrictEqual(again.next, { _tag: "Stream" })
  })

  it("one paged list follows a failed stream; a refused stream is not requested again", () => {
    const after = (reason: KubeError.Reason) => {
      const [failed] = step(streaming, { _tag: "Failed", at: 10, reason })
      const [listed, first] = step(failed, { _tag: "Resumed", at: 20 })
      const [watched] = step(listed, { _tag: "Page", at: 30, page: { items: [], resourceVersion: "10" } })
      const [, second] = step(watched, { _tag: "Failed", at: 30 + defaults.resetAfter, reason: gone })
      return [first.next._tag, second.next._tag]
    }
    assert.deepStrictEqual(after(broken), ["List", "Stream"])
    const [paged] = step(streaming, { _tag: "Failed", at: 10, reason: invalid })
    assert.strictEqual(paged.lists, "Pages")
    assert.deepStrictEqual(after(invalid)[1], "List")
  })

  it("successive watches that end in time count as healthy", () => {
    const end = (at: number): ReflectorState.Input => ({ _tag: "Ended", at, lasted: 60_000, quiet: false })
    const [once] = step(watching(5), end(60_000))
    const [twice] = step(once, end(120_000))
    assert.deepStrictEqual([once, twice].map(({ failures }) => failures), [5, 0])
  })

  it("is total, and loses the last resourceVersion only to a list (50,000 random inputs)", () => {
    const seed = Number(process.env["SEED"] ?? 1)
    const random = new Prng(seed)
    let [state] = ReflectorState.begin(random.chance(0.5) ? "Stream" : "Pages")
    let last: string | undefined
    let at = 0
    const inputs: ReadonlyArray<() => ReflectorState.Input> = [
      () => {
        const resourceVersion = String(random.int(1, 1000))
        const token = random.chance(0.3) ? { continue: "t" } : {}
        const open = random.chance(0.3) ? { open: true } as const : {}
        return { _tag: "Page", at, page: { items: [item("a", 1)], resourceVersion, ...token }, ...open }
      },
      () => {
        const from = Number(last ?? 0) + (random.chance(0.05) ? -1 : 0)
        return { _tag: "Events", events: [random.chance(0.5) ? added(from) : bookmark(from + random.int(0, 3))] }
      },
      () => ({ _tag: "Ended", at, lasted: random.int(0, 400_000), quiet: random.chance(0.5) }),
      () => ({ _tag: "Failed", at, reason: random.pick([gone, broken, broken, invalid]) }),
      () => ({ _tag: "Resumed", at })
    ]
    for (let i = 0; i < 50_000; i++) {
      at += random.int(0, 60_000)
      const before: ReflectorState.State = state
      const input = random.pick(inputs)()
      const [after, output] = step(before, input)
      const why = `SEED=${seed} step ${i}: ${before._tag} ${input._tag} -> ${after._tag} ${output.next._tag}`
      state = after
      if (output.replace !== undefined) last = output.replace.resourceVersion
      if (output.apply !== undefined) last = output.apply.at(-1)!.object.metadata.resourceVersion
      switch (after._tag) {
        case "Listing":
          assert.isTrue(["List", "Stream"].includes(output.next._tag) || after === before, why)
          if (output.next._tag === "Stream") assert.strictEqual(after.lists, "Stream", why)
          break
        case "Watching":
          assert.strictEqual(after.resourceVersion, last, why)
          assert.isTrue(output.next._tag === "Watch" || output.next._tag === "Read", why)
          if (output.next._tag === "Watch") assert.strictEqual(output.next.resourceVersion, last, why)
          break
        case "Pausing":
          assert.isTrue(output.next._tag === "Pause" || after === before, why)
          if (after.resume !== "list") assert.strictEqual(after.resume.resourceVersion, last, why)
      }
      if (after === before) assert.deepStrictEqual(output, { next: { _tag: "Read" } }, why)
      if (before._tag === "Watching" && after._tag === "Watching") {
        assert.isAtLeast(Number(after.resourceVersion), Number(before.resourceVersion), why)
      }
    }
  })
})
