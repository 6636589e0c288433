import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Tables from "../../../src/kinds/tables.ts"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as RuntimeConfig from "../../../src/testing/server/RuntimeConfig.ts"
import { get, post, put } from "../support/server.ts"

const served = (config: RuntimeConfig.RuntimeConfig, group: string) => [
  ...new Set(
    Tables.resources.filter((resource) => resource.group === group && RuntimeConfig.serves(config, resource))
      .map(({ version }) => version)
  )
]

const coordination = "coordination.k8s.io"
const candidates = `/apis/${coordination}/v1beta1/namespaces/default/leasecandidates`
const candidate = {
  metadata: { name: "a" },
  spec: { leaseName: "l", binaryVersion: "1.35.0", strategy: "OldestEmulationVersion" }
}

describe("RuntimeConfig", () => {
  it("stable versions are served, others if they are asked for; what is said of one counts most", () => {
    const cases: ReadonlyArray<readonly [RuntimeConfig.RuntimeConfig, ReadonlyArray<string>]> = [
      [{}, ["v1"]],
      [{ "api/all": true }, ["v1", "v1beta1", "v1alpha2"]],
      [{ "api/beta": true }, ["v1", "v1beta1"]],
      [{ "api/all": true, "api/alpha": false }, ["v1", "v1beta1"]],
      [{ "api/all": false, "coordination.k8s.io/v1beta1": true }, ["v1beta1"]],
      [{ "coordination.k8s.io/v1": false }, []]
    ]
    for (const [config, versions] of cases) assert.deepStrictEqual(served(config, coordination), versions)
  })

  it("mutating policies are not stable in 1.35", () => {
    const mutating = Tables.resources.filter(({ plural }) => plural === "mutatingadmissionpolicies")
    assert.deepStrictEqual(
      mutating.filter((resource) => RuntimeConfig.serves({ "api/all": true }, resource)).map(({ version }) => version),
      ["v1beta1", "v1alpha1"]
    )
  })

  it.effect("is what discovery tells, API services too, and groups without a version are not there", () =>
    Effect.gen(function*() {
      const { body: { groups } } = yield* get("/apis")
      const names = groups.map(({ name }: any) => name)
      assert.notInclude(names, "storagemigration.k8s.io")
      assert.strictEqual((yield* get(candidates)).status, 404)
      const { body: { items } } = yield* get("/apis/apiregistration.k8s.io/v1/apiservices")
      assert.deepStrictEqual(
        items.map(({ spec }: any) => spec.version).filter((version: string) => !/^v\d$/.test(version)),
        []
      )
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("what is asked for is there", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* post(candidates, candidate)).status, 201)
      assert.strictEqual((yield* get(`/apis/${coordination}/v1alpha2/leasecandidates`)).status, 404)
      const { body } = yield* get(`/apis/${coordination}`)
      assert.deepStrictEqual(body.versions.map(({ version }: any) => version), ["v1", "v1beta1"])
    }).pipe(Effect.provide(ApiServer.layerOptions({ runtimeConfig: { "api/beta": true } }))))

  it.effect("who owns fields in a version that is not served keeps them", () =>
    Effect.gen(function*() {
      const path = "/apis/storage.k8s.io/v1/volumeattributesclasses"
      const entry = {
        manager: "old",
        operation: "Update",
        apiVersion: "storage.k8s.io/v1beta1",
        time: "2020-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:driverName": {} }
      }
      const { body: made } = yield* post(path, { metadata: { name: "a" }, driverName: "d", parameters: { a: "b" } })
      const next = { ...made, metadata: { ...made.metadata, labels: { a: "b" }, managedFields: [entry] } }
      const { body } = yield* put(`${path}/a`, next)
      const owners = body.metadata.managedFields.map(({ apiVersion, manager }: any) => `${manager} ${apiVersion}`)
      assert.include(owners, "old storage.k8s.io/v1beta1")
    }).pipe(Effect.provide(ApiServer.layer)))
})
