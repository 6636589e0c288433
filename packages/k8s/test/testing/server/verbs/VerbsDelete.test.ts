import type { WireEvent } from "@effect-operator/core/WatchEvent"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import {
  type Answer,
  configMap,
  configMaps,
  crds,
  del,
  get,
  layer,
  patch,
  pod,
  pods,
  post,
  put,
  watch,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body.message}`

/** The events of a collection while something is done. */
const eventsOf = <A, E, R>(url: string, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const server = yield* ApiServer
    const fiber = yield* Effect.forkChild(
      Stream.runCollect(watch(`${url}?resourceVersion=${yield* server.revision}&timeoutSeconds=1`))
    )
    yield* effect
    yield* TestClock.adjust("1 second")
    return [...yield* Fiber.join(fiber)] as ReadonlyArray<Extract<WireEvent, { type: "DELETED" }>>
  })

const summary = (events: ReadonlyArray<{ type: string; object: any }>) =>
  events.map(({ object: { metadata }, type }) =>
    [type, ...(metadata.finalizers ?? []), metadata.deletionGracePeriodSeconds].filter((part) => part !== undefined)
      .join(" ")
  )

describe("delete", () => {
  it.effect("an Event is told of as it is stored, whichever group was asked", () =>
    Effect.gen(function*() {
      const events = "/apis/events.k8s.io/v1/namespaces/default/events"
      yield* post("/api/v1/namespaces/default/events", {
        metadata: { name: "a", namespace: "default" },
        involvedObject: { kind: "Pod", name: "p", namespace: "default" }
      })
      const refused = yield* del(`${events}/a`, { preconditions: { uid: "x" } })
      assert.match(message(refused), /^409 Operation cannot be fulfilled on Event "a": the UID in the precondition/)
    }).pipe(Effect.provide(layer)))

  it.effect("a Service takes the Endpoints of its name along, whether it goes at once or with its last finalizer", () =>
    Effect.gen(function*() {
      const [services, endpoints] = ["services", "endpoints"].map((kind) => `/api/v1/namespaces/default/${kind}`)
      const service = (name: string, finalizers: ReadonlyArray<string> = []) => ({
        metadata: { name, finalizers },
        spec: { ports: [{ port: 80 }] }
      })
      yield* post(services!, service("a"))
      yield* post(services!, service("b", ["example.com/hold"]))
      for (const name of ["a", "b", "c"]) yield* post(endpoints!, { metadata: { name } })
      const left = Effect.map(get(endpoints!), ({ body }) => body.items.map(({ metadata }: any) => metadata.name))

      yield* del(`${services}/a?dryRun=All`)
      assert.deepStrictEqual(yield* left, ["a", "b", "c"])
      yield* del(`${services}/a`)
      yield* del(`${services}/b`)
      assert.deepStrictEqual(yield* left, ["b", "c"])
      yield* patch(`${services}/b`, "merge", { metadata: { finalizers: null } })
      assert.deepStrictEqual(yield* left, ["c"])
    }).pipe(Effect.provide(layer)))

  it.effect("a custom object that waits is written in the form of today, once, and not where it has it", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* TestClock.adjust("1 second")
      yield* post(widgets, widget("a", { metadata: { finalizers: ["example.com/hold"] }, spec: {} }))
      yield* del(`${widgets}/a`)
      const version = Effect.map(get(`${widgets}/a`), ({ body }) => body.metadata.resourceVersion)
      const marked = yield* version
      yield* del(`${widgets}/a`)
      assert.strictEqual(yield* version, marked)
      const properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"
      const color = { type: "string", default: "red" }
      yield* patch(`${crds}/widgets.example.com`, "json", [{ op: "add", path: `${properties}/color`, value: color }])
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* del(`${widgets}/a?dryRun=All`)).body.spec.color, "red")
      assert.strictEqual(yield* version, marked)
      yield* del(`${widgets}/a`)
      const written = yield* version
      assert.notStrictEqual(written, marked)
      yield* del(`${widgets}/a`)
      assert.strictEqual(yield* version, written)
    }).pipe(Effect.provide(layer)))

  it.effect("at once, with the last state and the deletion's resourceVersion", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      const server = yield* ApiServer
      const [event] = yield* eventsOf(configMaps, del(`${configMaps}/a`))
      assert.strictEqual(event?.type, "DELETED")
      assert.deepStrictEqual((event?.object as { data?: unknown } | undefined)?.data, { k: "v" })
      assert.strictEqual(event?.object.metadata.resourceVersion, String(yield* server.revision))
      assert.strictEqual(message(yield* del(`${configMaps}/a`)), "404 configmaps \"a\" not found")
    }).pipe(Effect.provide(layer)))

  it.effect("a dry run that takes back what an earlier request has asked for answers with the object", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      yield* del(`${configMaps}/a`, { propagationPolicy: "Orphan" })
      const dry = yield* del(`${configMaps}/a`, { propagationPolicy: "Background", dryRun: ["All"] })
      assert.strictEqual(dry.body.kind, "ConfigMap")
      assert.isUndefined(dry.body.metadata.finalizers)
      assert.isDefined(dry.body.metadata.deletionTimestamp)
      assert.deepStrictEqual((yield* get(`${configMaps}/a`)).body.metadata.finalizers, ["orphan"])
      const real = yield* del(`${configMaps}/a`, { propagationPolicy: "Background" })
      assert.strictEqual(real.body.status, "Success")
    }).pipe(Effect.provide(layer)))

  it.effect("an object with finalizers goes with the last of them", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 minute")
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a", { metadata: { finalizers: ["x/y", "x/z"] } }))
      const events = yield* eventsOf(
        widgets,
        Effect.gen(function*() {
          const first = yield* del(`${widgets}/a`)
          assert.strictEqual(first.body.metadata.deletionTimestamp, "1970-01-01T00:01:00Z")
          yield* TestClock.adjust("500 millis")
          const again = yield* del(`${widgets}/a`)
          assert.deepStrictEqual(again.body, first.body)
          assert.strictEqual(
            message(yield* patch(`${widgets}/a`, "merge", { metadata: { finalizers: ["x/y", "x/new"] } })),
            "422 Widget.example.com \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if " +
              "the object is being deleted, found new finalizers []string{\"x/new\"}"
          )
          yield* patch(`${widgets}/a`, "merge", { metadata: { finalizers: ["x/z"] } })
          const last = yield* patch(`${widgets}/a`, "merge", { metadata: { finalizers: [], labels: { k: "v" } } })
          assert.strictEqual(last.status, 200)
          assert.deepStrictEqual(last.body.metadata.labels, { k: "v" })
        })
      )
      assert.deepStrictEqual(summary(events), ["MODIFIED x/y x/z 0", "MODIFIED x/z 0", "DELETED x/z 0"])
      assert.isUndefined(events.at(-1)?.object.metadata.labels)
    }).pipe(Effect.provide(layer)))

  it.effect("the deletion of what claims devices, and offers them, answers with the object", () =>
    Effect.gen(function*() {
      const [group, claims] = ["/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"]
      const requests = [{ name: "r", exactly: { deviceClassName: "c" } }]
      yield* post(`${group}/deviceclasses`, { metadata: { name: "a" }, spec: {} })
      yield* post(claims, { metadata: { name: "a" }, spec: { devices: { requests } } })
      assert.strictEqual((yield* del(`${group}/deviceclasses/a`)).body.kind, "DeviceClass")
      assert.strictEqual((yield* del(`${claims}/a`)).body.kind, "ResourceClaim")
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod that no node has goes at once, marked first", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const events = yield* eventsOf(pods, del(`${pods}/a`))
      assert.deepStrictEqual(summary(events), ["MODIFIED 0", "DELETED 0"])
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod on a node is given its grace period, which can only be shortened", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a", { spec: { nodeName: "n" } }))
      const first = yield* del(`${pods}/a`)
      assert.strictEqual(first.body.kind, "Pod")
      assert.strictEqual(first.body.metadata.deletionGracePeriodSeconds, 30)
      assert.strictEqual(first.body.metadata.deletionTimestamp, "1970-01-01T00:00:30Z")
      assert.strictEqual(first.body.metadata.generation, 2)
      const longer = yield* del(`${pods}/a`, { gracePeriodSeconds: 100 })
      assert.deepStrictEqual(longer.body, first.body)
      const shorter = yield* del(`${pods}/a`, { gracePeriodSeconds: 5 })
      assert.strictEqual(shorter.body.metadata.deletionTimestamp, "1970-01-01T00:00:05Z")
      assert.strictEqual(shorter.body.metadata.generation, 2)
      yield* del(`${pods}/a`, { gracePeriodSeconds: 0 })
      assert.strictEqual((yield* get(`${pods}/a`)).status, 404)
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod in its grace period can still be written", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a", { spec: { nodeName: "n" } }))
      yield* del(`${pods}/a`)
      yield* patch(`${pods}/a/status`, "merge", { status: { phase: "Running" } })
      assert.strictEqual((yield* get(`${pods}/a`)).body.status.phase, "Running")
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod that is over goes at once", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a", { spec: { nodeName: "n" } }))
      yield* patch(`${pods}/a/status`, "merge", { status: { phase: "Succeeded" } })
      yield* del(`${pods}/a`)
      assert.strictEqual((yield* get(`${pods}/a`)).status, 404)
    }).pipe(Effect.provide(layer)))

  it.effect("preconditions name both values", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      const { resourceVersion, uid } = body.metadata
      assert.strictEqual(
        message(yield* del(`${configMaps}/a`, { preconditions: { uid: "x" } })),
        `409 Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in ` +
          `record (${uid}). The object might have been deleted and then recreated`
      )
      assert.include(
        message(yield* del(`${configMaps}/a`, { preconditions: { resourceVersion: "1" } })),
        `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion})`
      )
      assert.strictEqual((yield* del(`${configMaps}/a`, { preconditions: { uid, resourceVersion } })).status, 200)
    }).pipe(Effect.provide(layer)))

  // Asked of a real server: it loses the precondition with the finalizers, and then does not find it met.
  it.effect("a precondition on the resourceVersion is never met where the policy takes finalizers away", () =>
    Effect.gen(function*() {
      for (const finalizer of ["foregroundDeletion", "orphan"]) {
        const made = configMap("a", { metadata: { name: "a", finalizers: [finalizer] } })
        const { body: { metadata: { resourceVersion } } } = yield* post(configMaps, made)
        const asked = { propagationPolicy: "Background", preconditions: { resourceVersion } }
        assert.strictEqual((yield* del(`${configMaps}/a`, { ...asked, dryRun: ["All"] })).status, 200)
        assert.strictEqual(
          message(yield* del(`${configMaps}/a`, asked)),
          `409 Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, ` +
            `Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ` +
            `ResourceVersion in precondition: , ResourceVersion in object meta: ${resourceVersion}`
        )
        const { body: { metadata } } = yield* get(`${configMaps}/a`)
        assert.deepStrictEqual([metadata.finalizers, metadata.resourceVersion], [[finalizer], resourceVersion])
        assert.strictEqual((yield* del(`${configMaps}/a`, { propagationPolicy: "Background" })).status, 200)
        assert.strictEqual((yield* get(`${configMaps}/a`)).status, 404)
      }
      // What somebody else's finalizer keeps is only marked, and that checks the precondition.
      const held = configMap("b", { metadata: { name: "b", finalizers: ["foregroundDeletion", "test.io/hold"] } })
      const { body } = yield* post(configMaps, held)
      const { resourceVersion } = body.metadata
      const asked = { propagationPolicy: "Background", preconditions: { resourceVersion } }
      assert.deepStrictEqual((yield* del(`${configMaps}/b`, asked)).body.metadata.finalizers, ["test.io/hold"])
    }).pipe(Effect.provide(layer)))

  it.effect("propagation policies leave finalizers for the garbage collector", () =>
    Effect.gen(function*() {
      for (const name of ["a", "b", "c"]) yield* post(configMaps, configMap(name))
      const foreground = yield* del(`${configMaps}/a`, { propagationPolicy: "Foreground" })
      assert.deepStrictEqual(foreground.body.metadata.finalizers, ["foregroundDeletion"])
      const orphan = yield* del(`${configMaps}/b`, { propagationPolicy: "Orphan" })
      assert.deepStrictEqual(orphan.body.metadata.finalizers, ["orphan"])
      const changed = yield* del(`${configMaps}/b`, { propagationPolicy: "Background" })
      assert.strictEqual(changed.body.kind, "Status")
      assert.strictEqual((yield* del(`${configMaps}/c`, { propagationPolicy: "Background" })).body.kind, "Status")
      assert.strictEqual((yield* del(`${configMaps}/a`, { propagationPolicy: "x" })).status, 422)
      const both = yield* del(`${configMaps}/a`, { propagationPolicy: "Orphan", orphanDependents: true })
      assert.include(both.body.message, "orphanDependents and deletionPropagation cannot be both set")
    }).pipe(Effect.provide(layer)))

  it.effect("a deletion without a policy keeps the one asked for before", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      const first = yield* del(`${configMaps}/a`, { propagationPolicy: "Foreground" })
      assert.deepStrictEqual((yield* del(`${configMaps}/a`)).body, first.body)
    }).pipe(Effect.provide(layer)))

  it.effect("a definition does not hear what becomes of its objects", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      for (const query of ["?dryRun=All&propagationPolicy=Orphan", "?propagationPolicy=Foreground"]) {
        const { body } = yield* del(`${crds}/widgets.example.com${query}`)
        assert.deepStrictEqual(body.metadata.finalizers, ["customresourcecleanup.apiextensions.k8s.io"])
      }
    }).pipe(Effect.provide(layer)))

  it.effect("a Job leaves its Pods behind unless told otherwise", () =>
    Effect.gen(function*() {
      const jobs = "/apis/batch/v1/namespaces/default/jobs"
      yield* post(jobs, {
        metadata: { name: "j" },
        spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } }
      })
      const deleted = yield* del(`${jobs}/j`)
      assert.deepStrictEqual(deleted.body.metadata.finalizers, ["orphan"])
    }).pipe(Effect.provide(layer)))

  it.effect("dry run deletes nothing", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      assert.strictEqual((yield* del(`${configMaps}/a`, { dryRun: ["All"] })).status, 200)
      assert.strictEqual((yield* del(`${configMaps}/a?dryRun=All`)).status, 200)
      assert.strictEqual((yield* get(`${configMaps}/a`)).status, 200)
    }).pipe(Effect.provide(layer)))
})

describe("deletecollection", () => {
  it.effect("takes what the selector matches and answers a list", () =>
    Effect.gen(function*() {
      for (const name of ["a", "b"]) yield* post(configMaps, configMap(name, { metadata: { labels: { k: "v" } } }))
      yield* post(configMaps, configMap("c"))
      const deleted = yield* del(`${configMaps}?labelSelector=k%3Dv`)
      assert.strictEqual(deleted.body.kind, "ConfigMapList")
      assert.deepStrictEqual(deleted.body.items.map((item: any) => item.metadata.name), ["a", "b"])
      const left = yield* get(configMaps)
      assert.deepStrictEqual(left.body.items.map((item: any) => item.metadata.name), ["c"])
    }).pipe(Effect.provide(layer)))

  it.effect("is read as lists are: a page of it, and as it was", () =>
    Effect.gen(function*() {
      const names = ({ body }: any) => body.items.map((item: any) => item.metadata.name)
      const before = (yield* get(configMaps)).body.metadata.resourceVersion
      for (const name of ["a", "b", "c"]) yield* post(configMaps, configMap(name))
      const page = yield* del(`${configMaps}?limit=1&dryRun=All`)
      assert.deepStrictEqual(names(page), ["a"])
      assert.strictEqual(page.body.metadata.remainingItemCount, 2)
      const rest = yield* del(`${configMaps}?dryRun=All&continue=${page.body.metadata.continue}`)
      assert.deepStrictEqual(names(rest), ["b", "c"])
      assert.deepStrictEqual(names(yield* del(`${configMaps}?dryRun=All&limit=-1`)), ["a", "b", "c"])
      assert.deepStrictEqual(names(yield* del(`${configMaps}?dryRun=All&resourceVersion=${before}`)), [])
      assert.strictEqual((yield* del(`${configMaps}?continue=x`)).status, 400)
      assert.lengthOf(names(yield* get(configMaps)), 3)
    }).pipe(Effect.provide(layer)))

  it.effect("is not there for namespaces", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* del("/api/v1/namespaces")).status, 405)
    }).pipe(Effect.provide(layer)))
})

describe("namespaces", () => {
  it.effect("some cannot be deleted", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        message(yield* del("/api/v1/namespaces/default")),
        "403 namespaces \"default\" is forbidden: this namespace may not be deleted"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("the others end with their spec's finalizers", () =>
    Effect.gen(function*() {
      yield* post("/api/v1/namespaces", { metadata: { name: "n" } })
      const deleted = yield* del("/api/v1/namespaces/n")
      assert.strictEqual(deleted.body.status.phase, "Terminating")
      assert.isUndefined(deleted.body.metadata.deletionGracePeriodSeconds)
      const kept = yield* patch("/api/v1/namespaces/n", "merge", { spec: { finalizers: [] } })
      assert.deepStrictEqual(kept.body.spec.finalizers, ["kubernetes"])
      assert.strictEqual((yield* del("/api/v1/namespaces/n")).body.status.phase, "Terminating")
      const { spec: _, ...namespace } = kept.body
      const finalized = yield* put("/api/v1/namespaces/n/finalize", { ...namespace, spec: { finalizers: [] } })
      assert.strictEqual(finalized.status, 200)
      assert.strictEqual((yield* get("/api/v1/namespaces/n")).status, 404)
    }).pipe(Effect.provide(layer)))
})
