import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { configMap, configMaps, crds, layer, patch, post, widgetDefinition } from "../../support/server.ts"

const fields = ({ body }: { readonly body: any }): ReadonlyArray<string> =>
  (body.details?.causes ?? []).map(({ field }: { readonly field: string }) => field)

const finalizers = { metadata: { finalizers: ["x"] } }

describe("JudgedMetadata", () => {
  it.effect("a fault of metadata is told as often as the kind looks for it", () =>
    Effect.gen(function*() {
      const found = Effect.fnUntraced(function*(url: string, name: string, body: object, part = "") {
        yield* post(url, body)
        return fields(yield* patch(`${url}/${name}${part}`, "merge", finalizers)).length
      })
      const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } }
      const deployment = { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } }
      const revision = { metadata: { name: "r" }, revision: 1, data: {} }
      assert.strictEqual(yield* found(configMaps, "a", configMap("a")), 2)
      assert.strictEqual(yield* found("/apis/apps/v1/namespaces/default/deployments", "d", deployment), 1)
      assert.strictEqual(yield* found("/apis/apps/v1/namespaces/default/controllerrevisions", "r", revision), 3)
      const runs = { ...template, spec: { ...template.spec, restartPolicy: "Never" } }
      const cron = {
        metadata: { name: "c" },
        spec: { schedule: "* * * * *", jobTemplate: { spec: { template: runs } } }
      }
      const crons = "/apis/batch/v1/namespaces/default/cronjobs"
      assert.strictEqual(yield* found(crons, "c", cron), 1)
      assert.strictEqual((yield* patch(`${crons}/c/status?dryRun=All`, "merge", finalizers)).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("a status keeps metadata where the kind says so, which definitions mean to and do not", () =>
    Effect.gen(function*() {
      const labels = { metadata: { labels: { a: "b" } } }
      const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
      const resourceRules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }]
      const spec = { matchConstraints: { resourceRules }, validations: [{ expression: "true" }] }
      yield* post(policies, { metadata: { name: "p" }, spec })
      const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
      const requests = [{ name: "r", exactly: { deviceClassName: "c" } }]
      yield* post(claims, { metadata: { name: "c" }, spec: { devices: { requests } } })
      yield* post(crds, widgetDefinition())
      const written = (url: string) =>
        Effect.map(patch(`${url}/status`, "merge", labels), ({ body }) => body.metadata.labels)
      assert.isUndefined(yield* written(`${policies}/p`))
      assert.isUndefined(yield* written(`${claims}/c`))
      assert.deepStrictEqual(yield* written(`${crds}/widgets.example.com`), { a: "b" })
    }).pipe(Effect.provide(layer)))
})
