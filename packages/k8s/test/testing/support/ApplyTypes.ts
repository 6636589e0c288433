/** Types, and values that fit them, for laws over what server-side apply does. */
import * as CustomTypes from "../../../src/testing/apply/CustomTypes.ts"
import type { RandomJson } from "./RandomJson.ts"

const text = { type: "string" }

/** Every kind of list and map. */
export const type = CustomTypes.ofSchema({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        x: { type: "integer" },
        set: { type: "array", "x-kubernetes-list-type": "set", items: text },
        list: { type: "array", items: text },
        map: { type: "object", additionalProperties: text },
        whole: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: text },
        mixed: { "x-kubernetes-int-or-string": true },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        deep: { type: "object", properties: { a: text, b: { type: "object", properties: { c: text } } } },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name", "port"],
          items: {
            type: "object",
            properties: {
              name: text,
              port: { type: "integer", default: 1 },
              value: text,
              tags: { type: "array", "x-kubernetes-list-type": "set", items: text }
            }
          }
        }
      }
    }
  }
})

type Json = Record<string, unknown>

const some = <A>(random: RandomJson, items: ReadonlyArray<A>): Array<A> => items.filter(() => random.chance(0.5))

const value = (random: RandomJson): string => random.pick(["1", "2"])

const fields: Readonly<Record<string, (random: RandomJson) => unknown>> = {
  x: (random) => random.pick([1, 2]),
  set: (random) => some(random, ["a", "b", "c"]),
  list: (random) => some(random, ["a", "b"]),
  map: (random) => Object.fromEntries(some(random, ["k", "l"]).map((key) => [key, value(random)])),
  whole: (random) => ({ k: value(random) }),
  mixed: (random) => random.pick([1, "50%"]),
  open: (random) => random.pick([{ a: 1 }, { a: { b: [1] } }, { c: "x" }, {}]),
  deep: (random) => ({
    ...(random.chance(0.5) ? { a: value(random) } : {}),
    ...(random.chance(0.5) ? { b: { c: "v" } } : {})
  }),
  items: (random) =>
    some(random, ["a", "b", "c"]).map((name) => ({
      name,
      ...(random.chance(0.5) ? { port: random.pick([1, 2]) } : {}),
      ...(random.chance(0.5) ? { value: value(random) } : {}),
      ...(random.chance(0.3) ? { tags: some(random, ["t", "u"]) } : {})
    }))
}

/** A value of the type, without repetitions. */
export const object = (random: RandomJson): Json => ({
  apiVersion: "g/v1",
  kind: "K",
  metadata: { name: "a", ...(random.chance(0.5) ? { labels: { l: value(random) } } : {}) },
  ...(random.chance(0.9)
    ? { spec: Object.fromEntries(some(random, Object.keys(fields)).map((key) => [key, fields[key]!(random)])) }
    : {})
})
