import { KubeClient, ObjectStatus } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Widget } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"

/** RFC 7386, as the server has it. */
const apply = (target: unknown, patch: unknown): unknown => {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch
  const out: Record<string, unknown> = typeof target === "object" && target !== null && !Array.isArray(target)
    ? { ...target }
    : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key]
    else out[key] = apply(out[key], value)
  }
  return out
}

const value = (random: Prng, depth: number): unknown => {
  const kind = random.int(0, depth > 0 ? 5 : 3)
  if (kind <= 1) return random.int(0, 3)
  if (kind === 2) return random.pick(["a", "b"])
  if (kind === 3) return Array.from({ length: random.int(0, 2) }, () => random.int(0, 2))
  return Object.fromEntries(
    ["x", "y", "z"].filter(() => random.chance(0.6)).map((key) => [key, value(random, depth - 1)])
  )
}

describe("ObjectStatus.mergePatch", () => {
  it("brings one status to the other, and is nothing where they are equal", () => {
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const from = { s: value(random, 3), t: value(random, 2) }
      const to = random.chance(0.3) ? structuredClone(from) : { s: value(random, 3), t: value(random, 2) }
      const patch = ObjectStatus.mergePatch(from, to)
      const result = patch === undefined ? from : apply(from, patch)
      assert.deepStrictEqual(result, to, `seed ${seed}`)
      assert.strictEqual(patch === undefined, JSON.stringify(from) === JSON.stringify(to), `seed ${seed}`)
    }
  })

  it("leaves out what is undefined, and takes away what is not there any more", () => {
    assert.deepStrictEqual(ObjectStatus.mergePatch({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 }, e: undefined }), {
      a: null,
      b: { d: null }
    })
    assert.isUndefined(ObjectStatus.mergePatch({ a: { c: 1, b: 2 } }, { a: { b: 2, c: 1 } }), "the order of keys")
  })
})

type Status = Record<string, unknown>

const widget = (status: unknown, uid = "u") =>
  ({ metadata: { namespace: "default", name: "a", uid }, status }) as unknown as typeof Widget.Type

/** Writes a status from an old read, and tells what was sent and what there is then. */
const written = (read: Status, live: Status, status: Status, uid?: string) => {
  const sent: Array<unknown> = []
  let now: unknown = live
  const client = {
    patch: (_: unknown, __: unknown, patch: KubeClient.Patch) =>
      Effect.sync(() => {
        const { status } = patch.body as { readonly status: unknown }
        sent.push(status)
        now = apply(now, status)
        return widget(now, uid)
      })
  }
  Effect.runSync(
    ObjectStatus.write(Widget, widget(read), status as never).pipe(
      Effect.provideService(KubeClient.KubeClient, client as never)
    )
  )
  return { sent, now }
}

/** Whether all that is wanted is there, whatever else there is. */
const holds = (wanted: unknown, now: unknown): boolean =>
  typeof wanted === "object" && wanted !== null && !Array.isArray(wanted)
    ? Object.entries(wanted).every(([key, part]) => holds(part, (now as Status | undefined)?.[key]))
    : JSON.stringify(wanted) === JSON.stringify(now)

describe("ObjectStatus.write", () => {
  it("writes what was right in an old read, too, once the answer shows that it is not", () => {
    const read = { available: 2, ready: true, extra: "ours" }
    const { now, sent } = written(read, { available: 5, ready: false, other: 1 }, { available: 5, ready: true })
    assert.deepStrictEqual(sent, [{ available: 5, extra: null }, { ready: true }])
    assert.deepStrictEqual(now, { available: 5, ready: true, other: 1 })
  })

  it("writes once where the read was not old, and never of another object with that name", () => {
    assert.lengthOf(written({ a: 1, b: 2 }, { a: 1, b: 2, c: 3 }, { a: 2, b: 2 }).sent, 1)
    assert.lengthOf(written({ a: 1, b: 2 }, {}, { a: 2, b: 2 }, "another").sent, 1)
    assert.lengthOf(written({ a: 1 }, { a: 2 }, { a: 1 }).sent, 0)
  })

  it("all that is wanted is there after two requests at most, and what is not ours is left alone", () => {
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const some = () => ({ s: value(random, 3), t: value(random, 2), u: value(random, 1) }) as Status
      const [read, wanted] = [some(), some()]
      const live = { ...(random.chance(0.5) ? some() : structuredClone(read)), others: 1 }
      const { now, sent } = written(read, live, wanted)
      assert.isAtMost(sent.length, 2, `seed ${seed}`)
      assert.strictEqual((now as Status)["others"], 1, `seed ${seed}`)
      if (sent.length > 0) {
        assert.isTrue(holds(wanted, now), `seed ${seed}: ${JSON.stringify({ read, live, wanted, now })}`)
      }
    }
  })
})
