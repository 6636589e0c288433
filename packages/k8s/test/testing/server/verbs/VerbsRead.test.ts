import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
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
  watch,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const names = ({ body }: Answer): ReadonlyArray<string> => body.items.map((item: any) => item.metadata.name)

const message = ({ body, status }: Answer) => `${status} ${body.message}`

const many = Effect.gen(function*() {
  for (const name of ["c", "a", "d", "b"]) yield* post(configMaps, configMap(name))
})

describe("get", () => {
  it.effect("says what is missing", () =>
    Effect.gen(function*() {
      const missing = yield* get(`${configMaps}/a`)
      assert.strictEqual(message(missing), "404 configmaps \"a\" not found")
      assert.deepStrictEqual(missing.body.details, { name: "a", kind: "configmaps" })
      assert.strictEqual(message(yield* get("/api/v1/namespaces/none/configmaps/a")), "404 configmaps \"a\" not found")
      assert.deepStrictEqual((yield* get("/api/v1/namespaces/none/configmaps")).body.items, [])
    }).pipe(Effect.provide(layer)))

  it.effect("waits three seconds for a resourceVersion that is not there yet", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      yield* post(configMaps, configMap("a"))
      const next = (yield* server.revision) + 1
      const early = yield* Effect.forkChild(get(`${configMaps}/a?resourceVersion=${next}`))
      yield* TestClock.adjust("2 seconds")
      yield* post(configMaps, configMap("b"))
      assert.strictEqual((yield* Fiber.join(early)).status, 200)
      const late = yield* Effect.forkChild(get(`${configMaps}?resourceVersion=${next + 5}`))
      yield* TestClock.adjust("3 seconds")
      const refused = yield* Fiber.join(late)
      assert.strictEqual(message(refused), `504 Timeout: Too large resource version: ${next + 5}, current: ${next}`)
      assert.strictEqual(refused.body.details.causes[0].reason, "ResourceVersionTooLarge")
      assert.strictEqual(refused.headers["retry-after"], "1")
    }).pipe(Effect.provide(layer)))

  it.effect("exports nothing", () =>
    Effect.gen(function*() {
      const refused = "400 the export parameter, deprecated since v1.14, is no longer supported"
      assert.strictEqual(message(yield* get(`${configMaps}/none?export=true`)), refused)
      assert.strictEqual(message(yield* get("/apis/apps/v1/namespaces/default/deployments/d/scale?export=")), refused)
      yield* post(configMaps, configMap("a"))
      assert.strictEqual((yield* get(`${configMaps}/a?export=0`)).status, 200)
      assert.strictEqual((yield* get(`${configMaps}?export=true`)).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("refuses a resourceVersion that is no number", () =>
    Effect.gen(function*() {
      const why = "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax"
      const refused = yield* get(`${configMaps}?resourceVersion=abc`)
      assert.deepStrictEqual([message(refused), refused.body.reason], [
        `400 invalid resource version: ${why}`,
        "BadRequest"
      ])
      const one = yield* get(`${configMaps}/a?resourceVersion=abc`)
      assert.deepStrictEqual([message(one), one.body.reason], [`500 ${why}`, undefined])
    }).pipe(Effect.provide(layer)))
})

describe("list", () => {
  it.effect("sorts by key and carries a resourceVersion that a watch can start from", () =>
    Effect.gen(function*() {
      yield* many
      const server = yield* ApiServer
      const list = yield* get(configMaps)
      assert.deepStrictEqual(names(list), ["a", "b", "c", "d"])
      assert.strictEqual(list.body.kind, "ConfigMapList")
      assert.strictEqual(list.body.metadata.resourceVersion, String(yield* server.revision))
      assert.isUndefined(list.body.items[0].kind)
    }).pipe(Effect.provide(layer)))

  it.effect("items of a custom list say what they are", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a"))
      const list = yield* get(widgets)
      assert.strictEqual(list.body.items[0].kind, "Widget")
      assert.strictEqual(list.body.metadata.continue, "")
    }).pipe(Effect.provide(layer)))

  it.effect("pages of one list do not change while they are read", () =>
    Effect.gen(function*() {
      yield* many
      const first = yield* get(`${configMaps}?limit=2`)
      assert.strictEqual(first.body.metadata.remainingItemCount, 2)
      yield* del(`${configMaps}/c`)
      yield* patch(`${configMaps}/d`, "merge", { data: { k: "new" } })
      yield* post(configMaps, configMap("bb"))
      const second = yield* get(`${configMaps}?limit=2&continue=${first.body.metadata.continue}`)
      assert.deepStrictEqual(names(second), ["c", "d"])
      assert.isUndefined(second.body.items[1].data)
      assert.isUndefined(second.body.metadata.continue)
      assert.isUndefined(second.body.metadata.remainingItemCount)
      assert.strictEqual(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("from version 0 a limit is ignored, but for Events, which no cache has", () =>
    Effect.gen(function*() {
      const events = "/api/v1/namespaces/default/events"
      for (const name of ["a", "b"]) {
        yield* post(configMaps, configMap(name))
        const metadata = { name, namespace: "default" }
        yield* post(events, { apiVersion: "v1", kind: "Event", metadata, involvedObject: { namespace: "default" } })
      }
      assert.lengthOf((yield* get(`${configMaps}?resourceVersion=0&limit=1`)).body.items, 2)
      const page = yield* get(`${events}?resourceVersion=0&limit=1`)
      assert.lengthOf(page.body.items, 1)
      assert.isString(page.body.metadata.continue)
    }).pipe(Effect.provide(layer)))

  it.effect("a continue token is judged before a version, and goes with none", () =>
    Effect.gen(function*() {
      yield* many
      const { body: { metadata } } = yield* get(`${configMaps}?limit=1`)
      const asked = (token: string, version: string) =>
        Effect.map(get(`${configMaps}?continue=${token}&resourceVersion=${version}`), message)
      for (const version of ["abc", "1"]) {
        assert.match(yield* asked("abc", version), /^400 invalid continue token: continue key is not valid: /)
        assert.strictEqual(
          yield* asked(metadata.continue, version),
          "400 specifying resource version is not allowed when using continue"
        )
      }
    }).pipe(Effect.provide(layer)))

  it.effect("a compacted continue token is 410, and offers to go on inconsistently", () =>
    Effect.gen(function*() {
      yield* many
      const server = yield* ApiServer
      const first = yield* get(`${configMaps}?limit=1`)
      yield* del(`${configMaps}/b`)
      yield* server.compact()
      const gone = yield* get(`${configMaps}?limit=1&continue=${first.body.metadata.continue}`)
      assert.strictEqual(gone.status, 410)
      assert.strictEqual(gone.body.reason, "Expired")
      const rest = yield* get(`${configMaps}?continue=${gone.body.metadata.continue}`)
      assert.deepStrictEqual(names(rest), ["c", "d"])
      const exact = yield* get(`${configMaps}?resourceVersionMatch=Exact&resourceVersion=2`)
      assert.strictEqual(message(exact), "410 The resourceVersion for the provided list is too old.")
    }).pipe(Effect.provide(layer)))

  it.effect("shows any state that is not compacted", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      yield* post(configMaps, configMap("b"))
      yield* del(`${configMaps}/a`)
      const version = body.metadata.resourceVersion
      const then = yield* get(`${configMaps}?resourceVersionMatch=Exact&resourceVersion=${version}`)
      assert.deepStrictEqual(names(then), ["a"])
      assert.strictEqual(then.body.metadata.resourceVersion, version)
      assert.deepStrictEqual((yield* get(`${configMaps}?limit=5&resourceVersion=${version}`)).body, then.body)
      assert.deepStrictEqual(names(yield* get(`${configMaps}?limit=5&resourceVersion=0`)), ["b"])
      assert.deepStrictEqual(names(yield* get(`${configMaps}?resourceVersion=${version}`)), ["b"])
    }).pipe(Effect.provide(layer)))

  it.effect.each<[string, string]>([
    ["resourceVersionMatch=Exact", "forbidden unless resourceVersion is provided"],
    ["resourceVersionMatch=Foo&resourceVersion=1", "Unsupported value: \"Foo\""],
    ["resourceVersionMatch=Exact&resourceVersion=0", "forbidden for resourceVersion \"0\""],
    ["sendInitialEvents=true", "sendInitialEvents is forbidden for list"],
    [
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
      "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, " +
      "sendInitialEvents: Forbidden: "
    ]
  ])("refuses %s", ([query, why]) =>
    Effect.gen(function*() {
      const refused = yield* get(`${configMaps}?${query}`)
      assert.strictEqual(refused.status, 422)
      assert.include(refused.body.message, `ListOptions.meta.k8s.io "" is invalid: `)
      assert.include(refused.body.message, why)
    }).pipe(Effect.provide(layer)))

  it.effect("a watch asks for initial events in one way only", () =>
    Effect.gen(function*() {
      const bare = yield* get(`${configMaps}?watch=true&sendInitialEvents=true`)
      assert.strictEqual(bare.status, 422)
      const match = yield* get(`${configMaps}?watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1`)
      assert.strictEqual(match.status, 422)
    }).pipe(Effect.provide(layer)))

  it.effect("slices of resources are selected by their node and driver", () =>
    Effect.gen(function*() {
      const slices = "/apis/resource.k8s.io/v1/resourceslices"
      const slice = (name: string, nodeName: string) =>
        post(slices, {
          metadata: { name },
          spec: { driver: "a.b", nodeName, pool: { name, generation: 1, resourceSliceCount: 1 } }
        })
      yield* slice("a", "n")
      yield* slice("b", "m")
      assert.deepStrictEqual(names(yield* get(`${slices}?fieldSelector=spec.nodeName%3Dm,spec.driver%3Da.b`)), ["b"])
      assert.strictEqual(
        message(yield* get(`${slices}?fieldSelector=metadata.namespace%3Da`)),
        "400 field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a watch that begins with what there is tells that it cannot be had yet", () =>
    Effect.gen(function*() {
      const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1000000"
      const asking = yield* Effect.forkChild(Stream.runCollect(watch(`${configMaps}?${query}`)))
      yield* TestClock.adjust("3 seconds")
      const [event, ...more] = yield* Fiber.join(asking)
      assert.strictEqual(event!.type, "ERROR")
      assert.match((event!.object as any).message, /^Timeout: Too large resource version: 1000000, current: /)
      assert.deepStrictEqual(more, [])
    }).pipe(Effect.provide(layer)))

  it.effect("selects by labels and fields", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a", { metadata: { labels: { app: "x" } }, spec: { nodeName: "n" } }))
      yield* post(pods, pod("b", { metadata: { labels: { app: "y" } } }))
      yield* post(pods, pod("c"))
      const select = (query: string) => Effect.map(get(`${pods}?${query}`), names)
      assert.deepStrictEqual(yield* select("labelSelector=app"), ["a", "b"])
      assert.deepStrictEqual(yield* select("labelSelector=app!%3Dx"), ["b", "c"])
      assert.deepStrictEqual(yield* select("labelSelector=app in (x,z)"), ["a"])
      assert.deepStrictEqual(yield* select("fieldSelector=spec.nodeName%3Dn"), ["a"])
      assert.deepStrictEqual(yield* select("fieldSelector=spec.nodeName%3D,metadata.name!%3Dc"), ["b"])
      assert.deepStrictEqual(yield* select("fieldSelector=status.phase%3DPending&labelSelector=app%3Dy"), ["b"])
      const counted = yield* get(`${pods}?labelSelector=app&limit=1`)
      assert.isUndefined(counted.body.metadata.remainingItemCount)
      assert.strictEqual(
        message(yield* get(`${pods}?fieldSelector=spec.x%3Dy`)),
        "400 field label not supported: spec.x"
      )
      assert.strictEqual(
        message(yield* get(`${configMaps}?fieldSelector=data.x%3Dy`)),
        "400 \"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a watch of one object takes selectors that name it, with more beside", () =>
    Effect.gen(function*() {
      const watched = (fieldSelector: string) =>
        get(configMaps.replace("/v1/", "/v1/watch/") + `/a?fieldSelector=${encodeURIComponent(fieldSelector)}`)
      assert.strictEqual((yield* watched("metadata.namespace=default,metadata.name=a")).status, 200)
      for (const other of ["metadata.name=b", "metadata.name!=a", "metadata.namespace=default"]) {
        assert.strictEqual(
          message(yield* watched(other)),
          "400 fieldSelector metadata.name doesn't match requested name"
        )
      }
    }).pipe(Effect.provide(layer)))

  it.effect("the old prefix takes no method but GET, and leads to nothing that is not watched", () =>
    Effect.gen(function*() {
      const old = configMaps.replace("/v1/", "/v1/watch/")
      yield* post(configMaps, configMap("a"))
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const) {
        for (const path of [old, `${old}/a`, "/api/v1/watch/nodes", "/apis/apps/v1/watch/deployments"]) {
          const refused = yield* call(method, path, {})
          const words = "405 the server does not allow this method on the requested resource"
          assert.strictEqual(message(refused), words, `${method} ${path}`)
        }
        for (
          const path of ["namespaces/default/nope", "namespaces/default/pods/a/status", "namespaces/default/bindings"]
        ) {
          assert.strictEqual((yield* call(method, `/api/v1/watch/${path}`, {})).status, 404, `${method} ${path}`)
        }
      }
      assert.deepStrictEqual(names(yield* get(configMaps)), ["a"])
    }).pipe(Effect.provide(layer)))

  it.effect("the old prefix watches custom resources whatever the method, and so changes nothing", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a"))
      const old = widgets.replace("/v1/", "/v1/watch/")
      for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
        for (const path of [old, `${old}/a`]) assert.strictEqual((yield* call(method, path, {})).status, 200)
        const refused = yield* call(method, `${old}/a/status`, {})
        const words = "405 watch is not supported on resources of kind \"widgets.example.com\""
        assert.strictEqual(message(refused), words)
      }
      assert.deepStrictEqual(names(yield* get(widgets)), ["a"])
    }).pipe(Effect.provide(layer)))

  it.effect("custom resources offer the fields their definition names", () =>
    Effect.gen(function*() {
      const definition: any = widgetDefinition()
      definition.spec.versions[0].selectableFields = [{ jsonPath: ".spec.color" }]
      yield* post(crds, definition)
      yield* post(widgets, widget("a", { spec: { color: "red" } }))
      yield* post(widgets, widget("b", { spec: { color: "blue" } }))
      assert.deepStrictEqual(names(yield* get(`${widgets}?fieldSelector=spec.color%3Dblue`)), ["b"])
      assert.strictEqual(
        message(yield* get(`${widgets}?fieldSelector=spec.replicas%3D1`)),
        "400 field label not supported: spec.replicas"
      )
    }).pipe(Effect.provide(layer)))
})

const Step = Schema.Struct({
  name: Schema.Literals(["a", "b", "c"]),
  action: Schema.Literals(["create", "label", "unlabel", "touch", "delete"])
})

/** What a cache of labelled objects holds after a list and the events that followed it. */
const replay = (list: ReadonlyArray<any>, events: Iterable<any>) => {
  const held = new Map<string, string>(list.map(({ metadata }) => [metadata.name, metadata.resourceVersion]))
  for (const { object, type } of events) {
    if (type === "DELETED") held.delete(object.metadata.name)
    else {
      assert.strictEqual(type === "MODIFIED", held.has(object.metadata.name), `${type} of ${object.metadata.name}`)
      held.set(object.metadata.name, object.metadata.resourceVersion)
    }
  }
  return Object.fromEntries([...held].sort())
}

describe("list and watch", () => {
  it.effect.prop(
    "after any changes, list plus watch is the list of now, with and without a selector",
    { before: Schema.Array(Step), after: Schema.Array(Step) },
    ({ after, before }) =>
      Effect.gen(function*() {
        const perform = ({ action, name }: typeof Step.Type) => {
          switch (action) {
            case "create":
              return post(configMaps, configMap(name))
            case "delete":
              return del(`${configMaps}/${name}`)
            case "label":
              return patch(`${configMaps}/${name}`, "merge", { metadata: { labels: { k: "1" } } })
            case "unlabel":
              return patch(`${configMaps}/${name}`, "merge", { metadata: { labels: { k: null } } })
            case "touch":
              return patch(`${configMaps}/${name}`, "merge", { data: { [`k${String(after.length)}`]: "v" } })
          }
        }
        for (const step of before) yield* perform(step)
        const urls = [`${configMaps}?x=y`, `${configMaps}?labelSelector=k`]
        const lists = yield* Effect.forEach(urls, (url) => get(url))
        for (const step of after) yield* perform(step)
        for (const [index, url] of urls.entries()) {
          const from = lists[index]!.body
          const fiber = yield* Effect.forkChild(
            Stream.runCollect(watch(`${url}&resourceVersion=${from.metadata.resourceVersion}&timeoutSeconds=1`))
          )
          yield* TestClock.adjust("1 second")
          const now = yield* get(url)
          assert.deepStrictEqual(replay(from.items, yield* Fiber.join(fiber)), replay(now.body.items, []))
        }
      }).pipe(Effect.provide(layer)),
    { arbitrary: { runs: 100, seed: 1 } }
  )
})
