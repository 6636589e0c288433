import { Unparsed } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import * as Heads from "../../src/live/Heads.ts"
import { random } from "../testing/support/random.ts"

const seed = 4_711
const strings = ["", "a", "web-1", "}]{[,:", "äöü €", "😀", "line\nfeed", "\"managedFields\":[", "back\\slash"]

/** A legal event in any style; `plain` if it is written as API servers do, so that it has to be understood. */
const eventOf = (seed: number) => {
  const { int, next, pick } = random(seed)
  const spacious = next() < 0.3
  const plain = next() < 0.7
  const blank = (): string => spacious && next() < 0.3 ? pick([" ", "\n", "\t", "\r\n "]) : ""
  const value = (depth: number): string => {
    const kind = int(depth > 3 ? 3 : 5)
    if (kind < 2) return JSON.stringify(pick(strings))
    if (kind < 3) return pick(["0", "-1.5e7", "true", "false", "null"])
    if (kind === 3) return `[${Array.from({ length: int(3) }, () => blank() + value(depth + 1)).join(",")}${blank()}]`
    return object(
      Array.from({ length: int(4) }, (_, n) => [pick(["metadata", "managedFields", "name", "x"]) + n, value(depth + 1)])
    )
  }
  const object = (members: ReadonlyArray<readonly [string, string]>): string =>
    `{${blank()}${
      members.map(([name, text]) => {
        const written = !plain && name !== "" && next() < 0.05
          ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}"`
          : JSON.stringify(name)
        return `${written}${blank()}:${blank()}${text}${blank()}`
      }).join(`,${blank()}`)
    }}`
  /** As API servers write it: a list of objects without a list in it, but with brackets in its names. */
  const owners = (): string => {
    const name = () => JSON.stringify(pick(["f:a", "k:{\"a\":[]}", "v:]}", "v:}],", ...strings]))
    const owner = () => `{"manager":${name()},${name()}:{${name()}:{}},"time":${name()}}`
    return `[${Array.from({ length: int(3) }, owner).join(",")}]`
  }
  const shuffled = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
    all.map((one) => [next(), one] as const).toSorted(([a], [b]) => a - b).map(([, one]) => one)
  const metadata: Array<readonly [string, string]> = [
    ["name", plain ? `"n-${seed}"` : JSON.stringify(pick(strings))],
    ["uid", `"u-${seed}"`],
    ["resourceVersion", String(plain || next() < 0.9 ? `"${seed}"` : seed)]
  ]
  if (next() < 0.7) metadata.push(["namespace", plain ? `"ns"` : JSON.stringify(pick(strings))])
  if (next() < 0.7) metadata.push(["managedFields", next() < 0.5 ? value(1) : owners()])
  if (next() < 0.5) metadata.push(["labels", `{"app":"web"}`])
  const members: Array<readonly [string, string]> = [["metadata", object(shuffled(metadata))]]
  for (const name of ["apiVersion", "kind", "spec", "status"]) if (next() < 0.7) members.push([name, value(0)])
  const text = object(
    shuffled([["type", `"${pick(["ADDED", "MODIFIED", "DELETED"])}"`], ["object", object(shuffled(members))]])
  )
  return { text: `${blank()}${text}${blank()}`, plain }
}

interface Event {
  readonly type: string
  readonly object: { readonly metadata: Record<string, unknown> }
}

const withoutManagedFields = (text: string): Event => {
  const event = JSON.parse(text) as Event
  delete event.object.metadata["managedFields"]
  return event
}

const isUnparsed = (value: unknown): value is { readonly type: string; readonly object: Unparsed.Unparsed } =>
  (value as { readonly object?: unknown } | undefined)?.object instanceof Unparsed.Unparsed

describe("Heads", () => {
  it("leaves of every legal event what JSON.parse gives, less managedFields, and knows what files it", () => {
    const read = Heads.line()
    let understood = 0
    for (let n = 0; n < 5_000; n++) {
      const { plain, text } = eventOf(seed + n)
      const padding = "#".repeat(n % 7)
      const bytes = Buffer.from(`${padding}${text}#`)
      const found = read(bytes, padding.length, bytes.length - 1)
      if (found === undefined) {
        assert.isFalse(plain, `seed ${seed + n}: ${text}`)
        continue
      }
      assert.isTrue(isUnparsed(found))
      if (!isUnparsed(found)) continue
      understood += 1
      const { object, type } = withoutManagedFields(text)
      const { name, namespace, resourceVersion, uid } = found.object.metadata
      assert.deepStrictEqual([type, name, namespace, resourceVersion, uid], [
        found.type,
        ...["name", "namespace", "resourceVersion", "uid"].map((field) => object.metadata[field])
      ])
      assert.deepStrictEqual(found.object.object as unknown, object, `seed ${seed + n}: ${text}`)
    }
    assert.isAbove(understood, 3_500)
  })

  it("leaves what is no event of an object, or no JSON, to the parser", () => {
    const read = Heads.line()
    const metadata = `{"name":"a","uid":"u","resourceVersion":"1"}`
    for (
      const text of [
        "",
        "null",
        "[]",
        "{}",
        `{"type":"BOOKMARK","object":{"metadata":${metadata}}}`,
        `{"type":"ERROR","object":{"kind":"Status"}}`,
        `{"type":"ADDED"}`,
        `{"type":"ADDED","object":null}`,
        `{"type":"ADDED","object":{"metadata":null}}`,
        `{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u"}}}`,
        `{"type":"ADDED","object":{"metadata":${metadata}}}x`,
        `{"object":{"metadata":${metadata},"spec":{"a":[}},"type":"ADDED"}`
      ]
    ) assert.isUndefined(read(Buffer.from(text), 0, Buffer.byteLength(text)), text)
  })

  it("reads a page", () => {
    const events = Array.from({ length: 50 }, (_, n) => eventOf(seed + n)).filter(({ plain }) => plain)
    const items = events.map(({ text }) => withoutManagedFields(text).object)
    const written = events.map(({ text }) => JSON.stringify((JSON.parse(text) as Event).object))
    const list = (text: string) => `{"kind":"List","items":[${text}],"metadata":{"continue":"x","resourceVersion":"1"}}`
    const found = Heads.page(Buffer.from(list(written.join(" , "))))!
    assert.deepStrictEqual(found.items.map(({ object }) => object) as unknown, items)
    assert.deepStrictEqual({ ...found, items: [] } as unknown, JSON.parse(list("")))
    assert.deepStrictEqual(Heads.page(Buffer.from(list(""))) as unknown, JSON.parse(list("")))
    for (const text of ["{}", "[]", `{"items":null}`, list("1"), list("{}"), `${list("")}]`]) {
      assert.isUndefined(Heads.page(Buffer.from(text)), text)
    }
  })
})
