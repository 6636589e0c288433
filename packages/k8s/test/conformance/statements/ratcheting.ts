/** Invalid values that an update leaves alone: statement 107. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { type Answer, type Kind, Target } from "../Target.ts"

const mergePatch = "application/merge-patch+json"
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const fields = ({ error }: Answer): ReadonlyArray<string> =>
  (error.details?.causes ?? []).map(({ field }) => field ?? "")

/** Installs a kind without rules, an object of it, and then the rules that the object breaks. */
const outdated = Effect.fnUntraced(function*(object: object, spec: object) {
  const { kind, namespace, request } = yield* Target
  const ns = yield* namespace
  const loose = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const widgets: Kind = yield* kind({ spec: loose })
  const created = yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec: object }) })
  assert.strictEqual(created.status, 201)
  const path = `${definitions}/widgets.${widgets.group}`
  const { object: definition } = yield* request("GET", path)
  const [version] = definition.spec.versions
  const strictly = { ...version, schema: { openAPIV3Schema: { type: "object", properties: { spec } } } }
  const body = { ...definition, spec: { ...definition.spec, versions: [strictly] } }
  assert.strictEqual((yield* request("PUT", path, { body })).status, 200)
  const { until } = yield* Target
  const strict = request("POST", widgets.path(ns), {
    body: widgets.object("b", { spec: object }),
    query: { dryRun: "All" }
  })
  yield* until(strict, ({ status }) => status === 422)
  const change = (body: object) => request("PATCH", widgets.path(ns, "a"), { contentType: mergePatch, body })
  return { change, strict }
})

export const ratcheting = [
  statement("107a", "values that were invalid before are tolerated while they stay as they are", {
    since: 30,
    note: "CRDValidationRatcheting: beta in 1.30, GA in 1.33"
  }, function*() {
    const { change, strict } = yield* outdated(
      { color: "green", count: -1, other: "x" },
      {
        type: "object",
        properties: {
          color: { type: "string", enum: ["red", "blue"] },
          count: { type: "integer", minimum: 0 },
          other: { type: "string", maxLength: 5 }
        }
      }
    )
    assert.sameMembers([...fields(yield* strict)], ["spec.color", "spec.count"])
    assert.strictEqual((yield* change({ metadata: { labels: { a: "b" } } })).status, 200)
    assert.strictEqual((yield* change({ spec: { other: "y" } })).status, 200)
    const worse = yield* change({ spec: { count: -2 } })
    assert.strictEqual(worse.status, 422)
    assert.deepStrictEqual(fields(worse), ["spec.count"])
    assert.strictEqual((yield* change({ spec: { count: 1 } })).status, 200)
    assert.deepStrictEqual(fields(yield* change({ spec: { count: -1 } })), ["spec.count"])
  }),

  statement("107b", "items are found again by their keys, in lists of type map alone", { since: 30 }, function*() {
    const item = {
      type: "object",
      properties: { k: { type: "string" }, v: { type: "integer", maximum: 5 } },
      required: ["k"]
    }
    const { change } = yield* outdated(
      { byKey: [{ k: "a", v: 9 }, { k: "b", v: 1 }], plain: [{ k: "a", v: 9 }] },
      {
        type: "object",
        properties: {
          byKey: {
            type: "array",
            items: item,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"]
          },
          plain: { type: "array", items: item }
        }
      }
    )
    assert.strictEqual((yield* change({ spec: { byKey: [{ k: "b", v: 2 }, { k: "a", v: 9 }] } })).status, 200)
    const other = yield* change({ spec: { byKey: [{ k: "b", v: 2 }, { k: "c", v: 9 }] } })
    assert.deepStrictEqual(fields(other), ["spec.byKey[1].v"])
    const longer = yield* change({ spec: { plain: [{ k: "a", v: 9 }, { k: "b", v: 1 }] } })
    assert.deepStrictEqual(fields(longer), ["spec.plain[0].v"])
  }),

  statement("107c", "rules are tolerated like schemas, but not transitions", { since: 30 }, function*() {
    const { change } = yield* outdated(
      { inner: { a: -1, b: 1 }, fixed: 1, other: 1 },
      {
        type: "object",
        properties: {
          inner: {
            type: "object",
            properties: { a: { type: "integer" }, b: { type: "integer" } },
            "x-kubernetes-validations": [{ rule: "self.a >= 0" }]
          },
          fixed: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf && self > 5" }] },
          other: { type: "integer" }
        }
      }
    )
    // A rule about a transition is asked even where nothing changed.
    assert.deepStrictEqual(fields(yield* change({ spec: { other: 2 } })), ["spec.fixed"])
    const inner = yield* change({ spec: { fixed: null, inner: { b: 2 } } })
    assert.deepStrictEqual(fields(inner), ["spec.inner"])
    assert.strictEqual((yield* change({ spec: { fixed: null, other: 2 } })).status, 200)
    assert.strictEqual((yield* change({ spec: { inner: { a: 0 } } })).status, 200)
  }),

  statement("107d", "what is missing is missed, and sets stay sets", { since: 30 }, function*() {
    const { change } = yield* outdated(
      { set: ["a", "a"], other: 1 },
      {
        type: "object",
        properties: {
          set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
          need: { type: "string" },
          other: { type: "integer" }
        },
        required: ["need"]
      }
    )
    const answer = yield* change({ spec: { other: 2 } })
    assert.strictEqual(answer.status, 422)
    assert.include(fields(answer), "spec.need")
    assert.include(answer.error.message, "Required value")
    assert.strictEqual((yield* change({ spec: { need: "x", set: ["a"] } })).status, 200)
  })
]
