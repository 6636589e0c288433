import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import {
  configMap,
  configMaps,
  crds,
  get,
  patch,
  pod,
  pods,
  post,
  put,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const layer = ApiServer.layer

/** Manager, operation, subresource and fields of every entry. */
const owners = ({ body }: { readonly body: any }): ReadonlyArray<unknown> =>
  (body.metadata.managedFields ?? []).map((entry: any) => [
    entry.manager,
    entry.operation,
    entry.subresource ?? "",
    entry.fieldsV1
  ])

const fieldsOf = (answer: { readonly body: any }, manager: string): any =>
  answer.body.metadata.managedFields.find((entry: any) => entry.manager === manager)?.fieldsV1

const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

describe("Ownership", () => {
  it.effect("defaults belong to who wrote the object, what admission and the kind set to nobody", () =>
    Effect.gen(function*() {
      const created = yield* post(`${pods}?fieldManager=m`, pod("a"))
      const { "f:spec": spec, ...others } = fieldsOf(created, "m")
      assert.deepStrictEqual(others, {})
      assert.include(Object.keys(spec), "f:enableServiceLinks")
      assert.include(Object.keys(spec), "f:restartPolicy")
      for (const nobodys of ["f:tolerations", "f:priority", "f:preemptionPolicy"]) {
        assert.notInclude(Object.keys(spec), nobodys)
        assert.property(created.body.spec, nobodys.slice(2))
      }
      const container = spec["f:containers"][`k:{"name":"main"}`]
      assert.deepStrictEqual(container["f:resources"], {})
      assert.notProperty(spec["f:containers"], ".")
    }).pipe(Effect.provide(layer)))

  it.effect("an empty list that is told though it is empty is of whoever sent it", () =>
    Effect.gen(function*() {
      const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
      const role = { metadata: { name: "a" }, rules: [] }
      const created = yield* post(`${roles}?fieldManager=c`, role)
      assert.isNull(created.body.rules)
      assert.deepStrictEqual(owners(created), [["c", "Update", "", { "f:rules": {} }]])
      const type = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" }
      const refused = yield* patch(`${roles}/a?fieldManager=a`, "apply", { ...type, ...role })
      assert.strictEqual(
        refused.body.message,
        `Apply failed with 1 conflict: conflict with "c" using rbac.authorization.k8s.io/v1: .rules`
      )
      const taken = yield* patch(`${roles}/a?fieldManager=m`, "merge", { rules: [] })
      assert.deepStrictEqual(owners(taken), [["m", "Update", "", { "f:rules": {} }]])
      assert.deepStrictEqual(owners(yield* patch(`${roles}/a?fieldManager=n`, "merge", { rules: null })), owners(taken))
      const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
      const slice = { metadata: { name: "a" }, addressType: "IPv4", endpoints: [], ports: [] }
      assert.deepStrictEqual(owners(yield* post(`${slices}?fieldManager=c`, slice)), [
        ["c", "Update", "", { "f:addressType": {}, "f:endpoints": {}, "f:ports": {} }]
      ])
      const ranges = "/api/v1/namespaces/default/limitranges"
      const range = { metadata: { name: "a" }, spec: { limits: [] } }
      assert.deepStrictEqual(owners(yield* post(`${ranges}?fieldManager=c`, range)), [
        ["c", "Update", "", { "f:spec": { "f:limits": {} } }]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("times change with what is owned, and only then", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 hour")
      const created = yield* post(`${configMaps}?fieldManager=m`, configMap("a", { data: { k: "v" } }))
      const timeOf = (answer: { readonly body: any }) => answer.body.metadata.managedFields[0].time
      assert.strictEqual(timeOf(created), "1970-01-01T01:00:00Z")
      yield* TestClock.adjust("1 hour")
      const same = yield* put(`${configMaps}/a?fieldManager=m`, created.body)
      assert.deepStrictEqual(same.body, created.body)
      const changed = yield* put(`${configMaps}/a?fieldManager=m`, { ...created.body, data: { k: "w" } })
      assert.strictEqual(timeOf(changed), "1970-01-01T02:00:00Z")
    }).pipe(Effect.provide(layer)))

  it.effect("the fields of an entry are put into form when they are looked at, once", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      const [entry] = body.metadata.managedFields
      assert.strictEqual(entry.fieldsV1, entry.fieldsV1)
      assert.isTrue(Object.isFrozen(entry) && Object.isFrozen(entry.fieldsV1))
      assert.strictEqual(
        JSON.stringify(entry),
        `{"manager":"${entry.manager}","operation":"Update","apiVersion":"v1","time":"1970-01-01T00:00:00Z",` +
          `"fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{}}}}`
      )
    }).pipe(Effect.provide(layer)))

  it.effect("the server owns the status of definitions and budgets that it writes itself", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const definition = yield* get(`${crds}/widgets.example.com`)
      const server = definition.body.metadata.managedFields.find(({ manager }: any) => manager === "kube-apiserver")
      assert.deepStrictEqual([server.manager, server.operation, server.subresource], [
        "kube-apiserver",
        "Update",
        "status"
      ])
      assert.deepStrictEqual(Object.keys(server.fieldsV1), ["f:status"])
      assert.include(Object.keys(server.fieldsV1["f:status"]), "f:acceptedNames")

      yield* post(budgets, {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "b" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "x" } } }
      })
      const budget = (yield* get(`${budgets}/b`)).body
      const status = { ...budget.status, observedGeneration: 1, disruptionsAllowed: 2 }
      yield* put(`${budgets}/b/status?fieldManager=m`, { ...budget, status })
      const created = yield* post(pods, pod("a", { metadata: { labels: { app: "x" } } }))
      yield* put(`${pods}/a/status`, { ...created.body, status: { ...created.body.status, phase: "Running" } })
      const evicted = yield* post(`${pods}/a/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: "a" }
      })
      assert.strictEqual(evicted.status, 201)
      const spent = yield* get(`${budgets}/b`)
      assert.deepStrictEqual(fieldsOf(spent, "kube-apiserver"), {
        "f:status": { "f:disruptedPods": { ".": {}, "f:a": {} }, "f:disruptionsAllowed": {} }
      })
    }).pipe(Effect.provide(layer)))

  it.effect("fields are tracked in the version they were written in", () =>
    Effect.gen(function*() {
      const [v1] = widgetDefinition().spec.versions
      const versions = [v1, { ...v1, name: "v2", storage: false }]
      yield* post(crds, widgetDefinition({ versions }))
      const v2 = widgets.replace("v1", "v2")
      const send = (url: string, version: string, spec: object | undefined, manager: string) =>
        patch(`${url}/a?fieldManager=${manager}`, "apply", {
          ...widget("a", { spec }),
          apiVersion: `example.com/${version}`
        })
      yield* send(widgets, "v1", { replicas: 2 }, "one")
      const both = yield* send(v2, "v2", { color: "red" }, "two")
      assert.deepStrictEqual(
        both.body.metadata.managedFields.map(({ apiVersion, manager }: any) => [manager, apiVersion]),
        [["one", "example.com/v1"], ["two", "example.com/v2"]]
      )
      const refused = yield* send(v2, "v2", { replicas: 3 }, "two")
      assert.strictEqual(
        refused.body.message,
        `Apply failed with 1 conflict: conflict with "one": .spec.replicas`
      )
      const moved = yield* send(v2, "v2", { color: "blue" }, "one")
      assert.strictEqual(moved.status, 409)
      const left = yield* send(v2, "v2", undefined, "one")
      assert.deepStrictEqual(left.body.spec, { color: "red", replicas: 1 })
      assert.deepStrictEqual(owners(left), [["two", "Apply", "", { "f:spec": { "f:color": {} } }]])
    }).pipe(Effect.provide(layer)))

  it.effect("nobody owns an object any more of which a part was sent that does not fit and is not written", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const made = (name: string, status: unknown) =>
        post(`${widgets}?fieldManager=m`, widget(name, { spec: { replicas: 1 }, status }))
      const [fits, misfits] = [yield* made("a", { replicas: 1 }), yield* made("b", { replicas: "one" })]
      assert.strictEqual(misfits.status, 201)
      assert.deepStrictEqual(fieldsOf(fits, "m"), { "f:spec": { ".": {}, "f:replicas": {} } })
      assert.deepStrictEqual(owners(misfits), [])
      const patched = yield* patch(`${widgets}/a?fieldManager=m`, "merge", { spec: { replicas: 2 }, status: 3 })
      assert.strictEqual(patched.body.spec.replicas, 2)
      assert.deepStrictEqual(owners(patched), [])
    }).pipe(Effect.provide(layer)))
})
