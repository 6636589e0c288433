import { assert, describe, it } from "@effect/vitest"
import { mask } from "./Mask.ts"
import type { Answer } from "./Step.ts"

const today = Date.parse("2026-06-01T00:00:00Z")
const none: ReadonlySet<number> = new Set()

const answer = (body: unknown): Answer => ({ status: 200, headers: {}, body })

const masked = (...bodies: ReadonlyArray<unknown>) =>
  [...mask(new Map(bodies.map((body, index) => [index, answer(body)])), today, none, none, none).values()].map((
    { body }
  ) => body)

const object = (name: string, uid: number, resourceVersion: number, more: object = {}) => ({
  metadata: {
    name,
    uid: `00000000-0000-4000-8000-00000000000${uid}`,
    resourceVersion: String(resourceVersion),
    ...more
  }
})

describe("Mask", () => {
  it("names uids by their appearance, versions by their rank", () => {
    assert.deepStrictEqual(masked(object("a", 7, 100), object("b", 3, 250), object("a", 7, 300)), [
      { metadata: { name: "a", uid: "<uid 1>", resourceVersion: "<version 1>" } },
      { metadata: { name: "b", uid: "<uid 2>", resourceVersion: "<version 2>" } },
      { metadata: { name: "a", uid: "<uid 1>", resourceVersion: "<version 3>" } }
    ])
  })

  it("what is seen later changes nothing before it, however old it is", () => {
    const before = [object("a", 1, 100), object("b", 2, 300)]
    assert.deepStrictEqual(masked(...before, object("c", 3, 200)).slice(0, 2), masked(...before))
  })

  it("what a watch begins with comes in the order of the masked names where names are made up", () => {
    const made = (name: string, uid: number) => ({
      type: "ADDED",
      object: object(name, uid, uid, { generateName: "a-" })
    })
    const events = (...all: ReadonlyArray<object>) => {
      const created = [object("a-x4b7z", 1, 1, { generateName: "a-" }), object("a-b2c4d", 2, 2, { generateName: "a-" })]
      const answers = new Map([...created.map(answer), { ...answer(null), events: all }].entries())
      return mask(answers, today, none, none, none).get(2)!.events
    }
    const [one, two] = [made("a-x4b7z", 1), made("a-b2c4d", 2)]
    assert.deepStrictEqual(events(one, two), events(two, one))
  })

  it("a list has the version of the newest object it can know, however far the server has gone on", () => {
    const list = (resourceVersion: string) => ({ metadata: { resourceVersion }, items: [] })
    const [, early, late] = masked(object("a", 1, 100), list("100"), list("99999")) as ReadonlyArray<any>
    assert.strictEqual(early.metadata.resourceVersion, "<version 1>")
    assert.strictEqual(late.metadata.resourceVersion, "<version 1>")
  })

  it("hides the time of the run and generated names, and nothing a client gave", () => {
    const body = object("a-x4b7z", 1, 5, { generateName: "a-", creationTimestamp: "2026-06-01T00:00:03Z" })
    const told = { message: "a-x4b7z is at 2020-01-01T00:00:00Z (resource version: 17)" }
    assert.deepStrictEqual(masked(body, told), [
      {
        metadata: {
          name: "a-<name 1>",
          uid: "<uid 1>",
          resourceVersion: "<version 1>",
          generateName: "a-",
          creationTimestamp: "<now>"
        }
      },
      { message: "a-<name 1> is at 2020-01-01T00:00:00Z (resource version: <version>)" }
    ])
  })

  it("hides the name that a refused object was given, whatever its prefix, and no name that was asked for", () => {
    const refused = (name: string) => answer({ message: `"${name}" is invalid`, details: { name } })
    const answers = new Map([[1, refused("a..bljs6k")], [2, refused("éhgl42")], [3, refused("b-x4b7z")]])
    const bodies = [...mask(answers, today, none, none, new Set([1, 2])).values()].map(({ body }) => body)
    assert.deepStrictEqual(bodies, [
      { message: `"a..b<name 1>" is invalid`, details: { name: "a..b<name 1>" } },
      { message: `"é<name 2>" is invalid`, details: { name: "é<name 2>" } },
      { message: `"b-x4b7z" is invalid`, details: { name: "b-x4b7z" } }
    ])
  })

  it("names made up from one prefix are listed in the order in which they were made up", () => {
    const list = (...names: ReadonlyArray<string>) => ({
      metadata: { resourceVersion: "9" },
      rows: names.map((name) => ({ cells: [name, "1"] }))
    })
    const made = ["b-x4b7z", "b-c5d6f"].map((name, index) => object(name, index, index, { generateName: "b-" }))
    const names = (body: any) => body.rows.map(({ cells }: any) => cells[0])
    assert.deepStrictEqual(names(masked(...made, list("b-c5d6f", "b-x4b7z"))[2]), ["b-<name 1>", "b-<name 2>"])
    // The order of all other names is the server's.
    assert.deepStrictEqual(names(masked(...made, list("z", "b-x4b7z", "a"))[2]), ["z", "b-<name 1>", "a"])
  })

  it("a list from a cache has no version to compare, also where there is nothing in it", () => {
    const lists = [[], null].map((items) => answer({ metadata: { resourceVersion: "7" }, items }))
    const bodies = [...mask(new Map(lists.entries()), today, new Set([0, 1]), none, none).values()]
    assert.deepStrictEqual(bodies.map(({ body }) => body), [{ metadata: {}, items: [] }, { metadata: {}, items: null }])
  })
})
