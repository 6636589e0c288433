/** Entries of managedFields that outlive the version or the schema they were written in: statements 89e to 89h. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { contentType, merge, owners } from "../Applying.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

type Properties = Readonly<Record<string, unknown>>

const text = { type: "string" }

interface Version {
  readonly name: string
  readonly served?: boolean
  readonly spec: Properties
}

/** Versions of a definition, the last of which is stored. */
const versionsOf = (versions: ReadonlyArray<Version>) =>
  versions.map(({ name, served = true, spec }, index) => ({
    name,
    served,
    storage: index === versions.length - 1,
    schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: spec } } } }
  }))

/** A kind whose versions change, and three ways to write to it. */
const changing = Effect.fnUntraced(function*(first: Version) {
  const { kind, namespace, request, unique, until } = yield* Target
  const ns = yield* namespace
  const { group } = yield* kind({ version: versionsOf([first])[0]! })
  const definition = `${definitions}/widgets.${group}`
  const collection = (version: string, namespace = ns) => `/apis/${group}/${version}/namespaces/${namespace}/widgets`
  const path = (version: string, name: string) => `${collection(version)}/${name}`
  return {
    group,
    ns,
    get: (version: string, name: string) => request("GET", path(version, name)),
    put: (version: string, name: string, body: unknown) => request("PUT", path(version, name), { body }),
    apply: (version: string, name: string, spec: Properties, manager: string) =>
      request("PATCH", path(version, name), {
        body: { apiVersion: `${group}/${version}`, kind: "Widget", metadata: { name }, spec },
        contentType,
        query: { fieldManager: manager }
      }),
    label: (version: string, name: string) =>
      request("PATCH", path(version, name), {
        body: { metadata: { labels: { l: "x" } } },
        contentType: merge,
        query: { fieldManager: "labeller" }
      }),
    /** Changes the versions, and waits until a column of tables shows that they are served so. */
    redefine: Effect.fnUntraced(function*(...versions: ReadonlyArray<Version>) {
      const column = unique("column")
      const additionalPrinterColumns = [{ name: column, type: "string", jsonPath: ".spec.none" }]
      const changed = versionsOf(versions).map((version) => ({ ...version, additionalPrinterColumns }))
      const body = { spec: { versions: changed } }
      const answer = yield* request("PATCH", definition, { contentType: merge, body })
      assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
      yield* until(
        request("GET", collection(versions.at(-1)!.name, unique("none")), { headers }),
        ({ object }) => object["columnDefinitions"]?.some(({ name }: { readonly name: string }) => name === column)
      )
    }),
    /** Says that nothing is stored in other versions any more. */
    stored: (version: string) =>
      request("PATCH", `${definition}/status`, { contentType: merge, body: { status: { storedVersions: [version] } } })
  }
})

const refused = (answer: Answer): string => {
  assert.strictEqual(answer.status, 500, JSON.stringify(answer.body))
  assert.notProperty(answer.body, "reason")
  return answer.error.message!
}

const names = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
  return owners(answer).map(([name]) => name)
}

export const staleEntries = [
  statement(
    "89e",
    "an object that an entry's version cannot hold is not applied to, and loses its entries if updated",
    { note: "nothing is pruned on the way to the version of an entry; that it is not served does not matter" },
    function*() {
      const { apply, label, redefine } = yield* changing({ name: "v1", spec: { a: text } })
      for (const name of ["a", "b", "c", "d"]) yield* apply("v1", name, { a: "x" }, "old")
      const filled = { a: text, b: { type: "string", default: "b" } }
      yield* redefine({ name: "v1", spec: { a: text } }, { name: "v2", spec: filled })
      // What the new version fills in is the updater's.
      assert.deepStrictEqual(names(yield* label("v2", "a")), [])
      assert.deepStrictEqual(names(yield* label("v1", "b")), ["old", "labeller"])
      yield* redefine({ name: "v1", served: false, spec: { a: text } }, { name: "v2", spec: filled })
      yield* label("v2", "c")
      assert.deepStrictEqual(names(yield* label("v2", "d")), [])
      assert.deepStrictEqual(names(yield* apply("v2", "d", { a: "x" }, "new")), ["new", "before-first-apply"])
    }
  ),

  statement(
    "89f",
    "entries of versions that are not served count; those of versions that are gone forbid every apply",
    {},
    function*() {
      const { apply, group, label, redefine, stored } = yield* changing({ name: "v1", spec: { a: text } })
      for (const name of ["a", "b"]) yield* apply("v1", name, { a: "x" }, "old")
      yield* redefine({ name: "v1", served: false, spec: { a: text } }, { name: "v2", spec: { a: text } })
      for (const name of ["a", "b"]) {
        // In which order they are depends on whether they are of one second.
        assert.sameMembers(names(yield* apply("v2", name, { a: "x" }, "new")).slice(), ["new", "old"])
      }
      assert.strictEqual((yield* apply("v2", "a", { a: "y" }, "new")).status, 409)
      yield* stored("v2")
      yield* redefine({ name: "v2", spec: { a: text } })
      assert.strictEqual(
        refused(yield* apply("v2", "a", { a: "x" }, "new")),
        `request to convert CR to an invalid group/version: ${group}/v1`
      )
      assert.deepStrictEqual(names(yield* label("v2", "b")), [])
    }
  ),

  statement(
    "89g",
    "what is new in a version is not applied while there are entries of one that lacks it",
    {},
    function*() {
      const { apply, redefine } = yield* changing({ name: "v1", spec: { a: text } })
      yield* apply("v1", "a", { a: "x" }, "one")
      yield* redefine({ name: "v1", spec: { a: text } }, { name: "v2", spec: { a: text, b: text } })
      const problem = ".spec.b: field not declared in schema"
      assert.strictEqual(
        refused(yield* apply("v2", "a", { b: "y" }, "two")),
        `failed to convert new object: ${problem}`
      )
      assert.strictEqual(
        refused(yield* apply("v2", "a", { b: "y" }, "one")),
        `failed to prune fields: failed to convert merged object to last applied version: ${problem}`
      )
    }
  ),

  statement(
    "89h",
    "an object that does not fit its schema any more is not applied to, and loses its entries if updated",
    {
      since: 30,
      note: "that it may be updated at all is CRDValidationRatcheting"
    },
    function*() {
      const { apply, group, label, ns, redefine } = yield* changing({ name: "v1", spec: { a: text } })
      yield* apply("v1", "a", { a: "x" }, "one")
      yield* redefine({ name: "v1", spec: { a: { type: "integer" } } })
      for (const manager of ["one", "two"]) {
        assert.strictEqual(
          refused(yield* apply("v1", "a", { a: 1 }, manager)),
          `failed to create typed live object (${ns}/a; ${group}/v1, Kind=Widget): ` +
            ".spec.a: expected numeric (int or float), got string"
        )
      }
      assert.deepStrictEqual(names(yield* label("v1", "a")), [])
    }
  ),

  statement(
    "89i",
    "an entry of a version that the kind never had leaves a custom object without entries",
    {},
    function*() {
      const { apply, get, group, put } = yield* changing({ name: "v1", spec: { a: text } })
      yield* apply("v1", "a", { a: "x" }, "one")
      for (const apiVersion of ["v1", "apps/v1", `${group}/v9`]) {
        const { object } = yield* get("v1", "a")
        const fieldsV1 = { "f:spec": { "f:a": {} } }
        const entry = { manager: "odd", operation: "Update", apiVersion, fieldsType: "FieldsV1", fieldsV1 }
        const spec = { a: apiVersion }
        const metadata = { ...object.metadata, managedFields: [entry] }
        assert.deepStrictEqual(names(yield* put("v1", "a", { ...object, metadata, spec })), [], apiVersion)
      }
    }
  )
]
