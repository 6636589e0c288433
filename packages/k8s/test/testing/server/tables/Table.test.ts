import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as PodColumns from "../../../../src/testing/server/tables/PodColumns.ts"
import {
  type Answer,
  call,
  configMap,
  configMaps,
  crds,
  get,
  layer,
  patch,
  pod,
  pods,
  post,
  watch,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const table = {
  accept:
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
}
const onlyTables = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }
const metadataOnly = (list: boolean) => ({
  accept: `application/json;as=PartialObjectMetadata${list ? "List" : ""};v=v1;g=meta.k8s.io`
})

const columns = ({ body }: Answer) =>
  body.columnDefinitions.filter(({ priority }: any) => priority === 0).map(({ name }: any) => name)
const cells = ({ body }: Answer) => body.rows.map((row: any) => row.cells)

describe("tables", () => {
  it.effect("of flow schemas, in the order in which they are tried", () =>
    Effect.gen(function*() {
      const answer = yield* get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", table)
      const rows = cells(answer).map((row: ReadonlyArray<unknown>) => row[0])
      assert.deepStrictEqual([rows[0], rows.at(-1)], ["exempt", "catch-all"])
      const precedences = cells(answer).map((row: ReadonlyArray<unknown>) => row[2])
      assert.deepStrictEqual(precedences, precedences.toSorted((a: number, b: number) => a - b))
    }).pipe(Effect.provide(layer)))

  it.effect("of Pods", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      yield* TestClock.adjust("65 seconds")
      const answer = yield* get(pods, table)
      assert.strictEqual(answer.body.kind, "Table")
      assert.deepStrictEqual(columns(answer), ["Name", "Ready", "Status", "Restarts", "Age"])
      assert.deepStrictEqual(cells(answer)[0].slice(0, 5), ["a", "0/1", "Pending", "0", "65s"])
      assert.strictEqual(answer.body.rows[0].object.kind, "PartialObjectMetadata")
      assert.isDefined(answer.body.metadata.resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("of custom resources follow additionalPrinterColumns", () =>
    Effect.gen(function*() {
      const definition: any = widgetDefinition()
      definition.spec.versions[0].additionalPrinterColumns = [
        { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
        { name: "Phase", type: "string", jsonPath: ".status.phase" },
        { name: "Color", type: "integer", jsonPath: ".spec.color" },
        { name: "All", type: "string", jsonPath: ".spec", priority: 1 },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        { name: "No date", type: "date", jsonPath: ".spec.color" },
        { name: "No path", type: "string", jsonPath: ".spec[" },
        { name: "After it", type: "integer", jsonPath: ".spec.replicas" }
      ]
      yield* post(crds, definition)
      yield* post(widgets, widget("a", { spec: { replicas: 3, color: "red" } }))
      const answer = yield* get(widgets, table)
      assert.deepStrictEqual(columns(answer), ["Name", "Replicas", "Phase", "Color", "Age", "No date"])
      const all = "{\"color\":\"red\",\"replicas\":3}"
      assert.deepStrictEqual(cells(answer), [["a", 3, null, null, all, "0s", "<invalid>"]])
    }).pipe(Effect.provide(layer)))

  it.effect("of kinds without columns of their own say when they were created", () =>
    Effect.gen(function*() {
      const answer = yield* get(crds, table)
      assert.deepStrictEqual(columns(answer), ["Name", "Created At"])
      yield* post(crds, widgetDefinition())
      assert.deepStrictEqual(columns(yield* get(widgets, table)), ["Name", "Age"])
      const capacities = yield* get("/apis/storage.k8s.io/v1/csistoragecapacities", table)
      assert.deepStrictEqual(columns(capacities), ["Name", "Created At"])
      assert.deepStrictEqual(columns(yield* get("/api/v1/serviceaccounts", table)), ["Name", "Age"])
    }).pipe(Effect.provide(layer)))

  it.effect("of CronJobs call their suspension a boolean; of IPAddresses have a cell without a column", () =>
    Effect.gen(function*() {
      const jobs = yield* get("/apis/batch/v1/cronjobs", table)
      assert.strictEqual(jobs.body.columnDefinitions[3].type, "boolean")
      const url = "/apis/networking.k8s.io/v1/ipaddresses"
      const spec = { parentRef: { resource: "services", namespace: "default", name: "s" } }
      yield* post(url, { metadata: { name: "10.96.0.9" }, spec })
      const addresses = yield* get(url, table)
      assert.deepStrictEqual(columns(addresses), ["Name", "ParentRef"])
      assert.deepStrictEqual(cells(addresses), [["10.96.0.9", "services/default/s", "0s"]])
    }).pipe(Effect.provide(layer)))

  it.effect("hold as much of the object as is asked for", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      const none = yield* get(`${configMaps}?includeObject=None`, table)
      assert.isNull(none.body.rows[0].object)
      const whole = yield* get(`${configMaps}/a?includeObject=Object`, table)
      assert.deepStrictEqual(whole.body.rows[0].object.data, { k: "v" })
      assert.strictEqual((yield* get(`${configMaps}?includeObject=x`, table)).status, 400)
    }).pipe(Effect.provide(layer)))

  it.effect("of Events name what they are about, as far as it has a name", () =>
    Effect.gen(function*() {
      const events = "/api/v1/namespaces/default/events"
      const about = (name: string, involvedObject: object) =>
        post(events, { metadata: { name }, involvedObject: { kind: "Pod", namespace: "default", ...involvedObject } })
      yield* about("a", { name: "web" })
      yield* about("b", {})
      const { body } = yield* get(events, table)
      assert.deepStrictEqual(body.rows.map(({ cells }: any) => cells[3]), ["pod/web", "pod"])
    }).pipe(Effect.provide(layer)))

  it.effect("of a watch define their columns once", () =>
    Effect.gen(function*() {
      for (const name of ["a", "b"]) yield* post(configMaps, configMap(name))
      const events = yield* Stream.runCollect(Stream.take(watch(configMaps, table), 2))
      const tables = events.map(({ object }) => object as any)
      assert.deepStrictEqual(tables.map(({ columnDefinitions }) => columnDefinitions?.length), [3, undefined])
      assert.deepStrictEqual(tables.map(({ rows }) => rows[0].cells[0]), ["a", "b"])
    }).pipe(Effect.provide(layer)))

  it.effect("the status of a definition is no table", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      assert.strictEqual((yield* get(`${crds}/widgets.example.com`, table)).body.kind, "Table")
      assert.strictEqual((yield* get(`${crds}/widgets.example.com/status`, onlyTables)).status, 406)
      const { body } = yield* get(`${crds}/widgets.example.com/status`, table)
      assert.strictEqual(body.kind, "CustomResourceDefinition")
    }).pipe(Effect.provide(layer)))

  it.effect("errors are never tables", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* get(`${pods}/none`, table)).body.kind, "Status")
    }).pipe(Effect.provide(layer)))
})

describe("metadata only", () => {
  it.effect("for objects and lists, each by its name", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      const one = yield* get(`${configMaps}/a`, metadataOnly(false))
      assert.deepStrictEqual(Object.keys(one.body).sort(), ["apiVersion", "kind", "metadata"])
      const list = yield* get(configMaps, metadataOnly(true))
      assert.strictEqual(list.body.items[0].kind, "PartialObjectMetadata")
      const wrong = yield* get(configMaps, metadataOnly(false))
      assert.strictEqual(
        `${wrong.status} ${wrong.body.message}`,
        "406 you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a client that reads nothing the server writes is refused before anything is done", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* get(`${configMaps}/none`, { accept: "text/html" })).status, 406)
      // The router before built-in resources takes this literally.
      assert.strictEqual((yield* get(configMaps, { accept: "application/*" })).status, 406)
      assert.strictEqual((yield* get(configMaps, { accept: "application/*, application/json" })).status, 200)
      yield* post(pods, pod("a"))
      assert.strictEqual((yield* patch(`${pods}/a`, "merge", {})).status, 200)
      // What there is no verb for is told first.
      for (const [method, url] of [["GET", `${pods}/a/eviction`], ["PUT", pods], ["DELETE", "/api/v1"]] as const) {
        assert.strictEqual((yield* call(method, url, undefined, { accept: "text/html" })).status, 405, url)
      }
    }).pipe(Effect.provide(layer)))
})

describe("Pods in one line", () => {
  const summary = (status: object, rest: object = {}) =>
    PodColumns.summary({
      ...pod("a", { spec: { initContainers: [{ name: "init", image: "i" }] } }),
      status,
      ...rest
    } as unknown as KubeObject)
  const running = { ready: true, restartCount: 2, state: { running: {} } }

  it("counts what is ready", () => {
    const { ready, reason, restarts, total } = summary({ phase: "Running", containerStatuses: [running] })
    assert.deepStrictEqual([ready, total, reason, restarts], [1, 1, "Running", 2])
  })

  it.each<[string, object]>([
    ["CrashLoopBackOff", { containerStatuses: [{ state: { waiting: { reason: "CrashLoopBackOff" } } }] }],
    ["ExitCode:3", { containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] }],
    ["Signal:9", { containerStatuses: [{ state: { terminated: { exitCode: 137, signal: 9 } } }] }],
    ["Init:0/1", { initContainerStatuses: [{ name: "init", state: { running: {} } }] }],
    ["Init:Error", {
      initContainerStatuses: [{ name: "init", state: { terminated: { exitCode: 1, reason: "Error" } } }]
    }],
    ["Running", { initContainerStatuses: [{ name: "init", state: { terminated: { exitCode: 0 } } }] }]
  ])("%s", (reason, status) => assert.strictEqual(summary({ phase: "Running", ...status }).reason, reason))

  it("of the containers before its own only those up to the one that holds up the others count", () => {
    const sidecar = { name: "side", image: "i", restartPolicy: "Always" }
    const summaryOf = (status: object) =>
      PodColumns.summary({
        ...pod("a", { spec: { initContainers: [sidecar, { name: "init", image: "i" }] } }),
        status: { phase: "Running", ...status }
      } as unknown as KubeObject)
    const side = { name: "side", ready: true, restartCount: 3, state: { running: {} } }
    const init = { name: "init", restartCount: 4, state: { running: {} } }
    const told = (status: object) => {
      const { ready, reason, restarts, total } = summaryOf(status)
      return `${ready}/${total} ${reason} ${restarts}`
    }
    assert.strictEqual(told({ initContainerStatuses: [side, init] }), "0/2 Init:0/2 3")
    assert.strictEqual(told({ initContainerStatuses: [{ ...side, started: true }, init] }), "1/2 Init:1/2 7")
    const over = { ...init, state: { terminated: { exitCode: 0 } } }
    const containerStatuses = [running]
    assert.strictEqual(
      told({ initContainerStatuses: [{ ...side, started: true }, over], containerStatuses }),
      "2/2 Running 5"
    )
  })

  it.each<[string, ReadonlyArray<object>]>([
    ["NotReady", [{ state: { terminated: { exitCode: 0, reason: "Completed" } } }, running]],
    ["Completed", [{ state: { terminated: { exitCode: 1, reason: "Completed" } } }, running]],
    ["Error", [
      { state: { terminated: { exitCode: 0, reason: "Completed" } } },
      { state: { terminated: { exitCode: 2, reason: "Error" } } }
    ]]
  ])(
    "what has failed is told before what has ended well: %s",
    (reason, containerStatuses) => assert.strictEqual(summary({ phase: "Running", containerStatuses }).reason, reason)
  )

  it("waits for its gates only if it was not scheduled for them", () => {
    const conditions = (type: string) => [{ type, status: "False", reason: "SchedulingGated" }]
    assert.strictEqual(summary({ phase: "Pending", conditions: conditions("PodScheduled") }).reason, "SchedulingGated")
    assert.strictEqual(summary({ phase: "Pending", conditions: conditions("Other") }).reason, "Pending")
  })

  it("is Terminating once deletion was asked for", () =>
    assert.strictEqual(
      summary({ phase: "Running" }, { metadata: { name: "a", deletionTimestamp: "1970-01-01T00:00:00Z" } }).reason,
      "Terminating"
    ))
})
