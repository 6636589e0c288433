/** Definitions in the manner of well-known projects, over HTTP: what they serve, take and refuse. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Target from "../conformance/Target.ts"
import { run } from "./Outcome.ts"
import { samples } from "./projects/index.ts"
import { refusals } from "./refusals.ts"

const accepted = [
  "NamesAccepted=True NoConflicts: no conflicts found",
  "Established=True InitialNamesAccepted: the initial names have been accepted"
]

describe("definitions in the manner of", () => {
  for (const sample of samples) {
    it.live(sample.project, () =>
      Effect.gen(function*() {
        const outcome = yield* run(sample)
        const { names, versions } = sample.definition["spec"]
        assert.deepStrictEqual(outcome.conditions.slice(-2), accepted)

        for (const { name, schema, served, subresources = {} } of versions) {
          if (!served) continue
          const [main, ...parts] = outcome.resources[name].filter((entry: any) =>
            entry.name.split("/")[0] === names.plural
          )
          assert.deepInclude(main, { name: names.plural, kind: names.kind, singularName: names.kind.toLowerCase() })
          assert.deepStrictEqual(main.shortNames ?? [], names.shortNames ?? [])
          assert.deepStrictEqual(
            parts.map((part: any) => part.name.split("/")[1]).sort(),
            Object.keys(subresources).sort()
          )
          assert.isDefined(schema)
        }

        for (const [at, { cells, object, spec }] of sample.valid.entries()) {
          const made = outcome.taken[at]!
          assert.strictEqual(made.status, 201, JSON.stringify(object))
          assert.deepStrictEqual(made.spec, spec ?? object["spec"])
          if (cells !== undefined) assert.deepStrictEqual(made.cells, cells)
        }

        assert.isAtLeast(sample.invalid.length, 5)
        assert.deepStrictEqual(outcome.refused.map(({ causes }) => causes), refusals[sample.project] as never)
        // A conversion webhook that nobody answers is the only other reason.
        for (const { status } of outcome.refused) assert.strictEqual(status, 422)
      }).pipe(Effect.scoped, Effect.provide(Target.layer("http"))), 180_000)
  }

  it.live("all: in the OpenAPI documents while they are served", () =>
    Effect.gen(function*() {
      const { request, until } = yield* Target.Target
      for (const { definition } of samples) {
        const { group, names, versions } = definition["spec"]
        const [{ name }] = versions
        yield* request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: definition })
        yield* until(request("GET", `/apis/${group}/${name}`), ({ status }) => status === 200)
        const { object: document } = yield* request("GET", `/openapi/v3/apis/${group}/${name}`)
        const kinds = Object.values<any>(document["components"].schemas)
          .flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? []).map(({ kind }) => kind)
        assert.includeMembers(kinds, [names.kind, `${names.kind}List`], names.kind)
      }
      const { object: old } = yield* request("GET", "/openapi/v2")
      const kinds = new Set(
        Object.values<any>(old["definitions"]).flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? [])
          .map(({ group, kind }) => `${group}/${kind}`)
      )
      for (const { definition: { spec } } of samples) assert.isTrue(kinds.has(`${spec.group}/${spec.names.kind}`))
    }).pipe(Effect.scoped, Effect.provide(Target.layer("http"))), 180_000)
})
