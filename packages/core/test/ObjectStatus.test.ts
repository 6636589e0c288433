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

/** Writes a status from a read, maybe an old one; tells what was sent, what there is then, and how it ended. */
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
  const ended = Effect.runSync(
    ObjectStatus.write(Widget, widget(read), status as never).pipe(
      Effect.provideService(KubeClient.KubeClient, client as never),
      Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: () => "written" })
    )
  )
  return { sent, now: now as Status, ended }
}

/** Whether all that is wanted is there, whatever else there is. */
const holds = (wanted: unknown, now: unknown): boolean =>
  typeof wanted === "object" && wanted !== null && !Array.isArray(wanted)
    ? Object.entries(wanted).every(([key, part]) => holds(part, (now as Status | undefined)?.[key]))
    : JSON.stringify(wanted) === JSON.stringify(now)

describe("ObjectStatus.write", () => {
  it("asks for another look where what was right in an old read is not: it does not know who is right", () => {
    const read = { available: 2, ready: true, extra: "ours" }
    const { ended, now, sent } = written(read, { available: 5, ready: false, other: 1 }, { available: 5, ready: true })
    assert.deepStrictEqual(sent, [{ available: 5, extra: null }])
    assert.deepStrictEqual(now, { available: 5, ready: false, other: 1 })
    assert.strictEqual(ended, "Conflict")
    assert.deepStrictEqual(written(now, now, { available: 5, ready: true, other: 1 }).sent, [{ ready: true }])
  })

  it("asks for none where others keep fields of their own, or the name is that of another object", () => {
    assert.strictEqual(written({ a: 1, b: 2 }, { a: 1, b: 2, c: 3 }, { a: 2, b: 2 }).ended, "written")
    assert.strictEqual(written({ a: 1, b: 2 }, {}, { a: 2, b: 2 }, "another").ended, "written")
    assert.lengthOf(written({ a: 1 }, { a: 2 }, { a: 1 }).sent, 0)
  })

  it("all that is wanted is there, after another look if one is asked for, and what is not ours is left alone", () => {
    let looks = 0
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const some = () => ({ s: value(random, 3), t: value(random, 2), u: value(random, 1) }) as Status
      const [read, wanted] = [some(), some()]
      const live = { ...(random.chance(0.5) ? some() : structuredClone(read)), others: 1 }
      const first = written(read, live, wanted)
      const again = { ...wanted, others: 1 }
      const last = first.ended === "Conflict" ? written(first.now, first.now, again) : first
      if (last !== first) looks += 1
      const told = `seed ${seed}: ${JSON.stringify({ read, live, wanted, now: last.now })}`
      assert.strictEqual(last.ended, "written", told)
      assert.strictEqual(last.now["others"], 1, told)
      if (first.sent.length > 0) assert.isTrue(holds(wanted, last.now), told)
    }
    assert.isAbove(looks, 100)
  })
})
