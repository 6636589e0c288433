import type { Delta, KubeObject, WatchEvent } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Chance } from "../differential/Chance.ts"
import * as Oracle from "./Oracle.ts"

const object = (name: string, revision: number): KubeObject.KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "n", uid: name, resourceVersion: String(revision), creationTimestamp: "" }
})

const log: ReadonlyArray<Oracle.Change> = [
  { revision: 10, type: "ADDED", key: "n/a" },
  { revision: 12, type: "ADDED", key: "n/b" },
  { revision: 15, type: "MODIFIED", key: "n/a" },
  { revision: 17, type: "DELETED", key: "n/b" },
  { revision: 20, type: "ADDED", key: "n/b" }
]

const list = (revision: number, ...items: ReadonlyArray<KubeObject.KubeObject>): Oracle.Entry => ({
  _tag: "Replaced",
  resourceVersion: String(revision),
  items
})
const event = (type: "ADDED" | "MODIFIED" | "DELETED", name: string, revision: number): WatchEvent.WatchEvent => ({
  type,
  object: object(name, revision)
})
const bookmark = (revision: number): WatchEvent.WatchEvent => ({
  type: "BOOKMARK",
  object: { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion: String(revision) } }
})
const applied = (...events: ReadonlyArray<WatchEvent.WatchEvent>): Oracle.Entry => ({ _tag: "Applied", events })

describe("Oracle.judge", () => {
  const first = list(13, object("a", 10), object("b", 12))
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<Oracle.Entry>, string | undefined]> = [
    [
      "a list and every change after it",
      [first, applied(event("MODIFIED", "a", 15)), applied(event("DELETED", "b", 17), event("ADDED", "b", 20))],
      undefined
    ],
    [
      "a list that skips what nobody could deliver",
      [first, list(18, object("a", 15)), applied(bookmark(19), event("ADDED", "b", 20))],
      undefined
    ],
    ["a change that is lost", [first, applied(event("MODIFIED", "a", 15), event("ADDED", "b", 20))], "instead of"],
    ["the last change lost", [first, applied(event("MODIFIED", "a", 15), event("DELETED", "b", 17))], "never arrived"],
    [
      "a change that comes twice",
      [first, applied(event("MODIFIED", "a", 15)), applied(event("MODIFIED", "a", 15))],
      "twice"
    ],
    ["a bookmark that passes over a change", [first, applied(bookmark(15))], "passes over MODIFIED n/a of 15"],
    ["a list that misses an object", [list(13, object("a", 10))], "n/b is missing"],
    ["a list with an old object", [list(16, object("a", 10), object("b", 12))], "n/a is at 10 instead of 15"],
    ["a list with an object that has gone", [list(17, object("a", 15), object("b", 12))], "n/b should not be there"],
    ["an object twice in a list", [list(13, object("a", 10), object("a", 10), object("b", 12))], "twice"],
    ["a list older than what was known", [list(17, object("a", 15)), list(13)], "a list of 13 after 17"],
    ["events before a list", [applied(event("ADDED", "a", 10))], "before the first list"],
    [
      "an event that never happened",
      [list(20, object("a", 15), object("b", 20)), applied(event("ADDED", "c", 21))],
      "never happened"
    ]
  ]
  for (const [name, entries, expected] of cases) {
    it(name, () => {
      const verdict = Oracle.judge(log, entries)
      if (expected === undefined) assert.isUndefined(verdict)
      else assert.include(verdict, expected)
    })
  }

  it("finds every single loss and repetition in a long history (seed printed)", () => {
    const seed = Number(process.env["SEED"] ?? 1)
    const chance = new Chance(seed)
    const alive = new Set<string>()
    const history: Array<Oracle.Change> = []
    for (let revision = 1; revision <= 300; revision++) {
      const key = `n/o${chance.int(20)}`
      const type = !alive.has(key) ? "ADDED" : chance.chance(0.3) ? "DELETED" : "MODIFIED"
      if (type === "DELETED") alive.delete(key)
      else alive.add(key)
      history.push({ revision: revision * 2, type, key })
    }
    const events = history.map(({ key, revision, type }) => event(type, key.slice(2), revision))
    const faithful = [list(1), ...events.map((one) => applied(one))]
    assert.isUndefined(Oracle.judge(history, faithful))
    for (let i = 0; i < 200; i++) {
      const at = 1 + chance.int(events.length)
      const lost = faithful.filter((_, index) => index !== at)
      const twice = faithful.flatMap((entry, index) => index === at ? [entry, entry] : [entry])
      assert.isDefined(Oracle.judge(history, lost), `SEED=${seed} lost ${at}`)
      assert.isDefined(Oracle.judge(history, twice), `SEED=${seed} twice ${at}`)
    }
  })
})

describe("Oracle.replay", () => {
  const added = (name: string, revision: number): Delta.Delta => ({ _tag: "Added", object: object(name, revision) })
  it("gives the state that deltas lead to", () => {
    const state = Oracle.replay([
      added("a", 1),
      added("b", 2),
      { _tag: "Updated", old: object("a", 1), object: object("a", 3) },
      { _tag: "Deleted", object: object("b", 2) }
    ])
    assert.deepStrictEqual(state, new Map([["n/a", 3]]))
  })
  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<Delta.Delta>]> = [
    ["it was there", [added("a", 1), added("a", 2)]],
    ["but it was at 1", [added("a", 1), { _tag: "Updated", old: object("a", 2), object: object("a", 3) }]],
    ["no change", [added("a", 1), { _tag: "Updated", old: object("a", 1), object: object("a", 1) }]],
    ["it was not there", [{ _tag: "Deleted", object: object("a", 1) }]]
  ]
  for (const [what, deltas] of wrong) {
    it(`says: ${what}`, () => assert.include(Oracle.replay(deltas) as string, what))
  }
})
