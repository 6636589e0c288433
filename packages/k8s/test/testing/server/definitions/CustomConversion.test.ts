import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import * as Backends from "../../../../src/testing/Backends.ts"
import { del, get, patch, post, put } from "../../support/server.ts"

type Json = any

const group = "example.com"
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const widgets = (version: string, name = "") =>
  `/apis/${group}/${version}/namespaces/default/widgets${name === "" ? "" : `/${name}`}`

const version = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties: { [`size${name}`]: { type: "integer" } } }
      }
    }
  },
  selectableFields: [{ jsonPath: `.spec.size${name}` }]
})

const definition = (versions = [version("v1", true), version("v2", false)]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions,
    conversion: {
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1"],
        clientConfig: { service: { namespace: "default", name: "converter" } }
      }
    }
  }
})

const widget = (of: string, name: string, size: number) => ({
  apiVersion: `${group}/${of}`,
  kind: "Widget",
  metadata: { name },
  spec: { [`size${of}`]: size }
})

/** The size under the name of the other version. */
const converted = (review: Json): Json => ({
  apiVersion: review.apiVersion,
  kind: review.kind,
  response: {
    uid: review.request.uid,
    result: { status: "Success" },
    convertedObjects: review.request.objects.map(({ apiVersion, spec, ...object }: Json) => {
      const [from, to] = [apiVersion, review.request.desiredAPIVersion].map((name: string) => name.split("/")[1])
      return { ...object, apiVersion: review.request.desiredAPIVersion, spec: { [`size${to}`]: spec[`size${from}`] } }
    })
  }
})

interface Webhook {
  calls: number
  answer: (review: Json) => unknown
}

/** A server whose webhook is a function that tests may change. */
const served = <E>(run: (webhook: Webhook) => Effect.Effect<void, E, ApiServer>) => {
  const webhook: Webhook = { calls: 0, answer: converted }
  const converter = Backends.answering((body) => {
    webhook.calls += 1
    return webhook.answer(body)
  })
  return Effect.gen(function*() {
    yield* post("/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "converter" },
      spec: { ports: [{ port: 443 }] }
    })
    assert.strictEqual((yield* post(crds, definition())).status, 201)
    yield* run(webhook)
  }).pipe(Effect.provide(
    ApiServer.layer.pipe(Layer.provide(Backends.layerHandlers({ "default/converter": converter })))
  ))
}

const failing = (review: Json): Json => ({
  ...converted(review),
  response: { uid: review.request.uid, result: { status: "Failure", message: "no" } }
})

describe("CustomConversion", () => {
  it.effect("an object is what its webhook makes of it, and is stored in one version", () =>
    served(Effect.fnUntraced(function*() {
      const server = yield* ApiServer
      assert.deepStrictEqual((yield* post(widgets("v2"), widget("v2", "a", 3))).body.spec, { sizev2: 3 })
      assert.deepStrictEqual((yield* get(widgets("v1", "a"))).body.spec, { sizev1: 3 })
      const stored = (yield* server.snapshot).find(({ kind }) => kind === "Widget") as Json
      assert.deepStrictEqual([stored.apiVersion, stored.spec], [`${group}/v1`, { sizev1: 3 }])
      assert.deepStrictEqual((yield* patch(widgets("v2", "a"), "merge", { spec: { sizev2: 4 } })).body.spec, {
        sizev2: 4
      })
      assert.deepStrictEqual((yield* get(widgets("v1", "a"))).body.spec, { sizev1: 4 })
    })))

  it.effect("what the new version does not know is left out, whatever the webhook says", () =>
    served(Effect.fnUntraced(function*(webhook) {
      webhook.answer = (review) => {
        const answer = converted(review)
        for (const object of answer.response.convertedObjects) object.spec.odd = 1
        return answer
      }
      assert.deepStrictEqual((yield* post(widgets("v2"), widget("v2", "a", 3))).body.spec, { sizev2: 3 })
      const stored = (yield* (yield* ApiServer).snapshot).find(({ kind }) => kind === "Widget") as Json
      assert.deepStrictEqual(stored.spec, { sizev1: 3 })
    })))

  it.effect("an update starts from what was shown before, and finds out by converting that back", () =>
    served(Effect.fnUntraced(function*(webhook) {
      yield* post(widgets("v1"), widget("v1", "a", 1))
      webhook.answer = failing
      const update = Effect.map(patch(widgets("v2", "a"), "merge", { spec: { sizev2: 2 } }), ({ body }) => body.message)
      assert.strictEqual(yield* update, `conversion webhook for ${group}/v1, Kind=Widget failed: no`)
      webhook.answer = converted
      yield* get(widgets("v2", "a"))
      webhook.answer = failing
      assert.strictEqual(yield* update, `conversion webhook for ${group}/v2, Kind=Widget failed: no`)
    })))

  it.effect("nobody is asked about objects in their own version", () =>
    served(Effect.fnUntraced(function*(webhook) {
      yield* post(widgets("v1"), widget("v1", "a", 1))
      yield* get(widgets("v1", "a"))
      yield* get(widgets("v1"))
      yield* put(widgets("v1", "a"), {
        ...widget("v1", "a", 2),
        metadata: { name: "a", resourceVersion: (yield* get(widgets("v1", "a"))).body.metadata.resourceVersion }
      })
      yield* del(widgets("v1", "a"))
      assert.strictEqual(webhook.calls, 0)
    })))

  it.effect("a read from the cache asks once, any other every time", () =>
    served(Effect.fnUntraced(function*(webhook) {
      for (const name of ["a", "b", "c"]) yield* post(widgets("v1"), widget("v1", name, 1))
      yield* get(`${widgets("v2")}?resourceVersion=0`)
      yield* get(`${widgets("v2")}?resourceVersion=0`)
      yield* get(`${widgets("v2", "a")}?resourceVersion=0`)
      assert.strictEqual(webhook.calls, 3)
      yield* get(widgets("v2"))
      assert.strictEqual(webhook.calls, 6)
      yield* get(widgets("v2", "a"))
      assert.strictEqual(webhook.calls, 7)
      webhook.answer = failing
      assert.strictEqual((yield* get(`${widgets("v2")}?resourceVersion=0`)).status, 200)
      assert.strictEqual((yield* get(widgets("v2"))).status, 500)
    })))

  it.effect("pages and selectors see converted objects", () =>
    served(Effect.fnUntraced(function*() {
      for (const [name, size] of [["a", 1], ["b", 2], ["c", 1], ["d", 1]] as const) {
        yield* post(widgets("v1"), widget("v1", name, size))
      }
      const names = (answer: Json) => answer.body.items.map((item: Json) => item.metadata.name)
      const first = yield* get(`${widgets("v2")}?limit=2&fieldSelector=spec.sizev2=1`)
      assert.deepStrictEqual(names(first), ["a", "c"])
      const next = encodeURIComponent(first.body.metadata.continue)
      assert.deepStrictEqual(
        names(yield* get(`${widgets("v2")}?limit=2&fieldSelector=spec.sizev2=1&continue=${next}`)),
        ["d"]
      )
      assert.strictEqual((yield* get(`${widgets("v2")}?fieldSelector=spec.sizev1=1`)).status, 400)
    })))

  it.effect("a write that was converted while another one came first is tried anew, or refused", () =>
    served(Effect.fnUntraced(function*(webhook) {
      yield* post(widgets("v1"), widget("v1", "a", 1))
      const [asked, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let first = true
      webhook.answer = (review) => {
        if (!first || review.request.desiredAPIVersion !== `${group}/v1`) return converted(review)
        first = false
        return Deferred.succeed(asked, undefined).pipe(
          Effect.andThen(Deferred.await(go)),
          Effect.as(converted(review))
        )
      }
      const slow = yield* Effect.forkChild(
        patch(widgets("v2", "a"), "merge", { metadata: { labels: { slow: "yes" } } })
      )
      yield* Deferred.await(asked)
      yield* patch(widgets("v1", "a"), "merge", { spec: { sizev1: 9 } })
      yield* Deferred.succeed(go, undefined)
      const answer = yield* Fiber.join(slow)
      assert.deepStrictEqual([answer.status, answer.body.spec, answer.body.metadata.labels], [
        200,
        { sizev2: 9 },
        { slow: "yes" }
      ])
    })))

  it.effect("two creations of one name: whoever is converted first has it", () =>
    served(Effect.fnUntraced(function*(webhook) {
      const go = yield* Deferred.make<void>()
      webhook.answer = (review) => Effect.as(Deferred.await(go), converted(review))
      const slow = yield* Effect.forkChild(post(widgets("v2"), widget("v2", "a", 1)))
      yield* Effect.yieldNow
      assert.strictEqual((yield* post(widgets("v1"), widget("v1", "a", 2))).status, 201)
      yield* Deferred.succeed(go, undefined)
      const refused = yield* Fiber.join(slow)
      assert.deepStrictEqual([refused.status, refused.body.reason], [409, "AlreadyExists"])
      assert.deepStrictEqual((yield* get(widgets("v1", "a"))).body.spec, { sizev1: 2 })
    })))

  it.effect("a webhook that does not answer is given half a minute", () =>
    served(Effect.fnUntraced(function*(webhook) {
      yield* post(widgets("v1"), widget("v1", "a", 1))
      webhook.answer = () => Effect.never
      const waiting = yield* Effect.forkChild(get(widgets("v2", "a")))
      yield* TestClock.adjust("30 seconds")
      const { body, status } = yield* Fiber.join(waiting)
      assert.deepStrictEqual([status, body.message], [
        500,
        `conversion webhook for ${group}/v1, Kind=Widget failed: Post ` +
        "\"https://converter.default.svc:443/?timeout=30s\": context deadline exceeded " +
        "(Client.Timeout exceeded while awaiting headers)"
      ])
    })))

  it.effect("a watch shows converted objects, ends with the first that cannot be, and does not begin then", () =>
    served(Effect.fnUntraced(function*(webhook) {
      const server = yield* ApiServer
      yield* post(widgets("v1"), widget("v1", "a", 1))
      const open = server.handle({
        method: "GET",
        path: widgets("v2"),
        query: [["watch", "true"]],
        headers: { accept: "application/json" }
      })
      const { events } = yield* open
      const seen: Array<Json> = []
      const running = yield* Effect.forkChild(
        Stream.runForEach(events!, (event) => Effect.sync(() => void seen.push(event)))
      )
      yield* Effect.yieldNow
      yield* patch(widgets("v1", "a"), "merge", { spec: { sizev1: 2 } })
      yield* Effect.yieldNow
      webhook.answer = failing
      yield* patch(widgets("v1", "a"), "merge", { spec: { sizev1: 3 } })
      yield* Fiber.join(running)
      assert.deepStrictEqual(seen.map(({ object, type }) => [type, object.spec]), [
        ["ADDED", { sizev2: 1 }],
        ["MODIFIED", { sizev2: 2 }]
      ])
      const refused = yield* open
      assert.deepStrictEqual([refused.status, (refused.body as Json).reason], [429, "TooManyRequests"])
      assert.match(
        (refused.body as Json).message,
        /^storage is \(re\)initializing: failed to list \S+\/v\d\S*, Kind=\w+: /
      )
    })))

  it.effect("deletions convert, too, and mark in the form of today", () =>
    served(Effect.fnUntraced(function*(webhook) {
      yield* post(widgets("v1"), { ...widget("v1", "a", 1), metadata: { name: "a", finalizers: ["example.com/f"] } })
      yield* patch(`${crds}/widgets.${group}`, "merge", {
        spec: { versions: [version("v1", false), version("v2", true)] }
      })
      webhook.answer = failing
      // In its stored version it can be read, but not written any more.
      assert.strictEqual((yield* get(widgets("v1", "a"))).status, 200)
      assert.strictEqual((yield* del(widgets("v1", "a"))).status, 500)
      webhook.answer = converted
      const marked = yield* del(widgets("v2", "a"))
      assert.deepStrictEqual(marked.body.spec, { sizev2: 1 })
      const stored = (yield* (yield* ApiServer).snapshot).find(({ kind }) => kind === "Widget")
      assert.strictEqual(stored?.apiVersion, `${group}/v2`)
      yield* patch(widgets("v1", "a"), "merge", { metadata: { finalizers: null } })
      assert.strictEqual((yield* get(widgets("v1", "a"))).status, 404)
    })))
})
