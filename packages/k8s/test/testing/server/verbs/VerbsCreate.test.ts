import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import {
  type Answer,
  call,
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
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body.message}`

describe("create", () => {
  it.effect("a name with a generateName that is taken by what is being deleted is told of with both", () =>
    Effect.gen(function*() {
      const held = configMap("a", { metadata: { name: "a", finalizers: ["x.example.com/f"] } })
      yield* post(configMaps, held)
      yield* del(`${configMaps}/a`)
      assert.strictEqual(
        message(yield* post(configMaps, configMap("a"))),
        "409 object is being deleted: configmaps \"a\" already exists"
      )
      const both = yield* post(configMaps, configMap("a", { metadata: { name: "a", generateName: "a-" } }))
      assert.strictEqual(
        message(both),
        "409 object is being deleted: configmaps \"a\" already exists, the server was not able to generate a unique name " +
          "for the object"
      )
      assert.strictEqual(both.body.details.retryAfterSeconds, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("an Event with a generateName whose name is taken is told of in the group that it is stored in", () =>
    Effect.gen(function*() {
      const event = (metadata: object) =>
        Effect.map(
          post("/apis/events.k8s.io/v1/namespaces/default/events", {
            metadata: { name: "e", ...metadata },
            regarding: { namespace: "default" },
            eventTime: "2020-01-01T00:00:00.000000Z",
            reportingController: "a/b",
            reportingInstance: "x",
            action: "a",
            reason: "r",
            type: "Normal"
          }),
          message
        )
      yield* event({})
      assert.strictEqual(yield* event({}), "409 events.events.k8s.io \"e\" already exists")
      assert.match(yield* event({ generateName: "e-" }), /^409 events "e" already exists, the server was not able/)
    }).pipe(Effect.provide(layer)))

  it.effect("an account keeps nothing of its Secrets but their names", () =>
    Effect.gen(function*() {
      const accounts = "/api/v1/namespaces/default/serviceaccounts"
      const given = {
        metadata: { name: "a" },
        secrets: [{ name: "s", namespace: "x", uid: "u", apiVersion: "v1" }, {}]
      }
      assert.deepStrictEqual((yield* post(accounts, given)).body.secrets, [{ name: "s" }, {}])
      assert.deepStrictEqual((yield* put(`${accounts}/a`, given)).body.secrets, [{ name: "s" }, {}])
    }).pipe(Effect.provide(layer)))

  it.effect("stamps whole seconds of the clock and ignores what a client cannot set", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1500 millis")
      const { body } = yield* post(
        configMaps,
        configMap("a", {
          metadata: {
            uid: "mine",
            creationTimestamp: "2020-01-01T00:00:00Z",
            deletionTimestamp: "2020-01-01T00:00:00Z",
            deletionGracePeriodSeconds: 5,
            labels: {},
            finalizers: []
          }
        })
      )
      assert.strictEqual(body.metadata.creationTimestamp, "1970-01-01T00:00:01Z")
      assert.notStrictEqual(body.metadata.uid, "mine")
      assert.deepStrictEqual(
        Object.keys(body.metadata).sort(),
        ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("keeps nothing of the caller's object, and gives frozen ones", () =>
    Effect.gen(function*() {
      const mine = configMap("a", { data: { k: "1" } })
      const { body } = yield* post(configMaps, mine)
      mine["data"].k = "2"
      assert.strictEqual((yield* get(`${configMaps}/a`)).body.data.k, "1")
      assert.throws(() => {
        body.data.k = "3"
      })
    }).pipe(Effect.provide(layer)))

  it.effect("generates names of the base and five characters", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, { metadata: { generateName: "base-" } })
      assert.match(body.metadata.name, /^base-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      const long = yield* post(configMaps, { metadata: { generateName: "x".repeat(80) } })
      assert.lengthOf(long.body.metadata.name, 63)
      const both = yield* post(configMaps, { metadata: { generateName: "base-", name: "own" } })
      const again = yield* post(configMaps, { metadata: { generateName: "base-", name: "own" } })
      assert.deepStrictEqual([again.status, again.body.details.retryAfterSeconds], [409, 1])
      assert.strictEqual(both.body.metadata.name, "own")
    }).pipe(Effect.provide(layer)))

  it.effect("a LimitRange without any name has a uid for one", () =>
    Effect.gen(function*() {
      const { body, status } = yield* post("/api/v1/namespaces/default/limitranges", { spec: { limits: [] } })
      assert.strictEqual(status, 201)
      assert.match(body.metadata.name, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      assert.notStrictEqual(body.metadata.name, body.metadata.uid)
    }).pipe(Effect.provide(layer)))

  it.effect("gives up after eight generated names that are taken", () =>
    Effect.gen(function*() {
      const same = { nextIntUnsafe: () => 1, nextDoubleUnsafe: () => 0.5 }
      const again = Effect.provideService(
        post(configMaps, { metadata: { generateName: "base-" } }),
        Random.Random,
        same
      )
      assert.strictEqual((yield* again).status, 201)
      const refused = yield* again
      assert.strictEqual(refused.status, 409)
      assert.include(refused.body.message, "the server was not able to generate a unique name for the object")
    }).pipe(Effect.provide(layer)))

  it.effect("the same seed gives the same uids and names", () =>
    Effect.gen(function*() {
      const once = Effect.map(
        post(configMaps, { metadata: { generateName: "base-" } }),
        ({ body }) => [body.metadata.name, body.metadata.uid]
      ).pipe(Random.withSeed("seed"), Effect.provide(layer, { local: true }))
      assert.deepStrictEqual(yield* once, yield* once)
    }))

  it.effect("in a namespace that is not there, or going", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        message(yield* post("/api/v1/namespaces/none/configmaps", configMap("a"))),
        "404 namespaces \"none\" not found"
      )
      yield* post("/api/v1/namespaces", { metadata: { name: "going" } })
      yield* del("/api/v1/namespaces/going")
      const refused = yield* post("/api/v1/namespaces/going/configmaps", configMap("a"))
      assert.strictEqual(
        message(refused),
        "403 configmaps \"a\" is forbidden: unable to create new content in namespace going because it is being terminated"
      )
      assert.strictEqual(refused.body.details.causes[0].reason, "NamespaceTerminating")
    }).pipe(Effect.provide(layer)))

  it.effect("a name whose holder is going is still taken", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { metadata: { finalizers: ["x/y"] } }))
      yield* del(`${configMaps}/a`)
      assert.strictEqual(
        message(yield* post(configMaps, configMap("a"))),
        "409 object is being deleted: configmaps \"a\" already exists"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("what does not fit the URL", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        message(yield* post(configMaps, configMap("a", { metadata: { namespace: "other" } }))),
        "400 the namespace of the provided object does not match the namespace sent on the request"
      )
      assert.strictEqual(
        message(yield* post(configMaps, { ...configMap("a"), kind: "Secret" })),
        "400 Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): " +
          "unknown conversion"
      )
      assert.strictEqual((yield* post(configMaps, { metadata: { name: "b" } })).status, 201)
      assert.strictEqual((yield* post(`${configMaps}/c`, configMap("c"))).status, 405)
      yield* post(crds, widgetDefinition())
      assert.strictEqual(
        message(yield* post(widgets, { ...widget("a"), apiVersion: "example.com/v2" })),
        "400 the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)"
      )
      assert.strictEqual(
        message(yield* post(widgets, { ...widget("a"), kind: "Gadget" })),
        "422 Gadget.example.com \"a\" is invalid: kind: Invalid value: \"Gadget\": must be Widget"
      )
      assert.strictEqual((yield* post(`${widgets}/c`, widget("c"))).status, 201)
      assert.strictEqual(message(yield* put(widgets, widget("c"))), "400 name must be provided")
    }).pipe(Effect.provide(layer)))

  it.effect("a resourceVersion says that the object is not new", () =>
    Effect.gen(function*() {
      const refused = yield* post(configMaps, configMap("a", { metadata: { resourceVersion: "5" } }))
      assert.strictEqual(message(refused), "500 resourceVersion should not be set on objects to be created")
      assert.strictEqual((yield* post(configMaps, configMap("a", { metadata: { resourceVersion: "0" } }))).status, 201)
    }).pipe(Effect.provide(layer)))

  it.effect("dry run answers what would be, and stores nothing", () =>
    Effect.gen(function*() {
      const dry = yield* post(`${configMaps}?dryRun=All`, configMap("a"))
      assert.strictEqual(dry.status, 201)
      assert.isString(dry.body.metadata.uid)
      assert.isUndefined(dry.body.metadata.resourceVersion)
      assert.strictEqual((yield* get(`${configMaps}/a`)).status, 404)
      assert.strictEqual((yield* post(`${configMaps}?dryRun=x`, configMap("a"))).status, 422)
    }).pipe(Effect.provide(layer)))

  it.effect("fieldValidation decides what becomes of unknown fields", () =>
    Effect.gen(function*() {
      const strict = yield* post(`${pods}?fieldValidation=Strict`, pod("a", { spec: { nodename: "x" } }))
      assert.strictEqual(
        message(strict),
        "400 Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"spec.nodename\""
      )
      const warned = yield* post(pods, pod("a", { spec: { nodename: "x" } }))
      assert.strictEqual(warned.headers["warning"], "299 - \"unknown field \\\"spec.nodename\\\"\"")
      assert.isUndefined(warned.body.spec.nodename)
      const ignored = yield* post(`${pods}?fieldValidation=Ignore`, pod("b", { spec: { nodename: "x" } }))
      assert.isUndefined(ignored.headers["warning"])
      const patched = yield* call("PATCH", `${pods}/a?fieldValidation=Strict`, { spec: { nodename: "x" } }, {
        "content-type": "application/merge-patch+json"
      })
      assert.strictEqual(patched.status, 422)
      assert.include(patched.body.message, "strict decoding error: unknown field \"spec.nodename\"")
    }).pipe(Effect.provide(layer)))

  it.effect("values of a wrong type are no object of the kind", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        message(yield* post(configMaps, configMap("a", { data: { k: 5 } }))),
        "400 ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct " +
          "field ConfigMap.data of type string"
      )
      assert.strictEqual((yield* call("POST", configMaps, [])).status, 400)
    }).pipe(Effect.provide(layer)))

  it.effect("merges owner references that are given twice, and says so", () =>
    Effect.gen(function*() {
      const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "1" }
      const { body, headers } = yield* post(
        configMaps,
        configMap("a", { metadata: { ownerReferences: [owner, owner] } })
      )
      assert.deepStrictEqual(body.metadata.ownerReferences, [owner])
      assert.include(headers["warning"], "duplicate UID(s) observed: 1")
    }).pipe(Effect.provide(layer)))

  it.effect("custom resources keep their status only where it has no endpoint of its own", () =>
    Effect.gen(function*() {
      const definition: any = widgetDefinition()
      definition.spec.versions[0].subresources = undefined
      yield* post(crds, definition)
      const { body } = yield* post(widgets, widget("a", { status: { phase: "x" } }))
      assert.deepStrictEqual(body.status, { phase: "x" })
      assert.strictEqual((yield* get(`${widgets}/a/status`)).status, 404)
      const { body: touched } = yield* patch(`${widgets}/a`, "merge", { status: { phase: "y" } })
      assert.strictEqual(touched.metadata.generation, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("a Job is told from others by labels made of its uid", () =>
    Effect.gen(function*() {
      const { body } = yield* post("/apis/batch/v1/namespaces/default/jobs", {
        metadata: { name: "j" },
        spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } }
      })
      const uid = body.metadata.uid
      assert.deepStrictEqual(body.spec.selector, { matchLabels: { "batch.kubernetes.io/controller-uid": uid } })
      assert.strictEqual(body.spec.template.metadata.labels["batch.kubernetes.io/job-name"], "j")
      assert.strictEqual(body.spec.completions, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("volumes get the defaults of what they are", () =>
    Effect.gen(function*() {
      const { body } = yield* post("/api/v1/namespaces/default/podtemplates", {
        metadata: { name: "t" },
        template: {
          spec: {
            containers: [{ name: "c", image: "i" }],
            volumes: [{ name: "e" }, { name: "h", hostPath: { path: "/tmp" } }, {
              name: "s",
              secret: { secretName: "x" }
            }]
          }
        }
      })
      assert.deepStrictEqual(body.template.spec.volumes, [
        { name: "e", emptyDir: {} },
        { name: "h", hostPath: { path: "/tmp", type: "" } },
        { name: "s", secret: { secretName: "x", defaultMode: 420 } }
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("POST to the URL of a name creates custom resources only, under the name in the body", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      assert.strictEqual((yield* post(`${configMaps}/a`, configMap("a"))).status, 405)
      const created = yield* post(`${widgets}/a`, widget("b"))
      assert.deepStrictEqual([created.status, created.body.metadata.name], [201, "b"])
    }).pipe(Effect.provide(layer)))

  it.effect("a Service gets an address, a Secret its data, a Namespace its label", () =>
    Effect.gen(function*() {
      const services = "/api/v1/namespaces/default/services"
      const { body: service } = yield* post(services, { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } })
      assert.match(service.spec.clusterIP, /^10\.\d+\.\d+\.\d+$/)
      assert.strictEqual(service.spec.ports[0].targetPort, 80)
      const headless = yield* post(services, {
        metadata: { name: "h" },
        spec: { clusterIP: "None", ports: [{ port: 80 }] }
      })
      assert.strictEqual(headless.body.spec.clusterIP, "None")
      const { spec: { clusterIP: _, clusterIPs: __, ...spec }, ...rest } = service
      const kept = yield* put(`${services}/s`, { ...rest, spec })
      assert.strictEqual(kept.body.spec.clusterIP, service.spec.clusterIP)
      const secret = yield* post("/api/v1/namespaces/default/secrets", {
        metadata: { name: "s" },
        stringData: { k: "ä" }
      })
      assert.deepStrictEqual([secret.body.data, secret.body.type], [{ k: "w6Q=" }, "Opaque"])
      assert.isUndefined(secret.body.stringData)
      const namespace = yield* post("/api/v1/namespaces", { metadata: { name: "n" } })
      assert.deepStrictEqual(namespace.body.metadata.labels, { "kubernetes.io/metadata.name": "n" })
      assert.deepStrictEqual(namespace.body.spec.finalizers, ["kubernetes"])
    }).pipe(Effect.provide(layer)))
})

describe("depth", () => {
  /** As it comes off the wire: so many levels below the body's own. */
  const nested = (levels: number, [open, shut]: readonly [string, string]): unknown =>
    JSON.parse(`${open.repeat(levels)}0${shut.repeat(levels)}`)
  const shapes = [["[", "]"], ["{\"a\":", "}"]] as const
  const patches = ["merge", "strategic", "apply"] as const

  it.effect("of what a built-in kind does not know is no matter", () =>
    Effect.gen(function*() {
      for (const [index, shape] of shapes.entries()) {
        const body = (levels: number) => configMap(`a${index}`, { x: nested(levels, shape) })
        assert.strictEqual((yield* post(configMaps, body(9_999))).status, 201)
        const replaced = yield* put(`${configMaps}/a${index}`, body(9_999))
        assert.deepStrictEqual([replaced.status, replaced.body.x], [200, undefined])
      }
    }).pipe(Effect.provide(layer)))

  const preserving = () => {
    const definition: any = widgetDefinition()
    definition.spec.versions[0].schema.openAPIV3Schema.properties.spec["x-kubernetes-preserve-unknown-fields"] = true
    return definition
  }

  it.effect("of what is kept or patched has a limit, which everything that is done with it survives", () =>
    Effect.gen(function*() {
      yield* post(crds, preserving())
      const refused = "400 Widget in version \"v1\" cannot be handled as a Widget: exceeded max depth"
      for (const [index, shape] of shapes.entries()) {
        const path = `${widgets}/a${index}`
        const body = (levels: number) => widget(`a${index}`, { spec: { any: nested(levels, shape) } })
        assert.strictEqual(message(yield* post(widgets, body(9_998))), refused)
        assert.strictEqual(message(yield* post(widgets, body(499))), refused)
        assert.strictEqual((yield* post(widgets, body(498))).status, 201)
        assert.strictEqual(message(yield* patch(path, "merge", { spec: { any: nested(497, shape) } })), "200 undefined")
        assert.strictEqual((yield* patch(path, "merge", { metadata: { labels: { a: "b" } } })).status, 200)
        assert.strictEqual((yield* patch(path, "merge", { spec: { other: nested(498, shape) } })).status, 200)
        const same = yield* get(path)
        const copied = [{ op: "copy", from: "/spec/other", path: "/spec/any/a" }]
        if (index === 1) assert.match(message(yield* patch(path, "json", copied)), /^422 .*: exceeded max depth$/)
        assert.deepStrictEqual(same.body.spec.any, nested(497, shape))
        assert.strictEqual(
          (yield* put(path, same.body)).body.metadata.resourceVersion,
          same.body.metadata.resourceVersion
        )
        const applied = {
          apiVersion: "example.com/v1",
          kind: "Widget",
          metadata: {},
          spec: { any: nested(498, shape) }
        }
        assert.strictEqual((yield* patch(`${path}?fieldManager=m&force=true`, "apply", applied)).status, 200)
        assert.strictEqual((yield* del(path)).status, 200)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("of a patch has that limit too, whatever becomes of it", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      for (const shape of shapes) {
        for (const kind of patches) {
          const deep = configMap("a", { x: nested(9_998, shape) })
          const answer = yield* patch(`${configMaps}/a?fieldManager=m`, kind, deep)
          assert.match(message(answer), /^400 .*exceeded max depth$/)
        }
        const json = [{ op: "add", path: "/x", value: nested(9_998, shape) }]
        assert.match(message(yield* patch(`${configMaps}/a`, "json", json)), /^400 .*exceeded max depth$/)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("of YAML has a limit, too", () =>
    Effect.gen(function*() {
      const text = `x: ${"[".repeat(9_000)}${"]".repeat(9_000)}`
      const answer = yield* patch(`${configMaps}/a?fieldManager=m`, "apply", text)
      assert.match(message(answer), /^400 error decoding YAML: .*exceeded max depth/)
    }).pipe(Effect.provide(layer)))
})
