/** A status, written to a real API server and to the one in memory: what is refused, and what becomes of the rest. */
import { CustomResource, KubeClient, type KubeError, ObjectStatus } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import * as Fs from "node:fs"
import * as Crd from "../src/Crd.ts"
import * as LiveClient from "../src/LiveClient.ts"
import { ApiServer } from "../src/testing/ApiServer.ts"
import * as Envtest from "../src/testing/Envtest.ts"
import * as HttpFacade from "../src/testing/HttpFacade.ts"

const real = Layer.build(Envtest.layerOptions({ controllerManager: false })).pipe(
  Effect.map((context) => Fs.readFileSync(Context.get(context, Envtest.Envtest).kubeconfigPath, "utf8"))
)
const inMemory = Layer.build(Layer.provide(HttpFacade.layer(), ApiServer.layer)).pipe(
  Effect.map((context) => Context.get(context, HttpFacade.HttpFacade).kubeconfig)
)

const { merge } = KubeClient.Patch
const key = { namespace: "default", name: "a" }

const Lamp = CustomResource.make({
  group: "status.example.com",
  version: "v1",
  kind: "Lamp",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({
    count: Schema.optionalKey(Schema.NullOr(Schema.Int)),
    phase: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(10))),
    others: Schema.optionalKey(Schema.String),
    parts: Schema.optionalKey(Schema.Array(Schema.String)),
    "rooms/lit": Schema.optionalKey(Schema.Record(Schema.String, Schema.Int))
  })
})
type Lamp = typeof Lamp.Type

const outcome = (effect: Effect.Effect<Lamp, KubeError.KubeError, KubeClient.KubeClient>) =>
  Effect.match(effect, {
    onFailure: ({ reason }): unknown => reason._tag,
    onSuccess: ({ status }) => status
  })

const story = Effect.fnUntraced(function*(kubeconfig: string) {
  const live = yield* Layer.build(LiveClient.layerOptions({ kubeconfig }))
  return yield* Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Crd.install(Lamp)
    const told: Array<unknown> = []
    const write = (object: Lamp, status: ObjectStatus.StatusOf<Lamp>) =>
      Effect.map(outcome(ObjectStatus.write(Lamp, object, status)), (ended) => void told.push(ended))
    const others = (status: unknown) => client.patch(Lamp, key, merge({ status }), { subresource: "status" })

    const first = yield* client.create(Lamp, { metadata: key, spec: { size: 1 } })
    yield* others({ others: "first" })
    yield* write(first, { phase: "Off" })
    const seen = yield* client.get(Lamp, key)
    yield* others({ others: "again" })
    yield* client.patch(Lamp, key, merge({ metadata: { labels: { a: "b" } } }))
    yield* write(seen, { others: "first", phase: "Off" })
    yield* write(yield* client.get(Lamp, key), { others: "again", phase: "On", count: null, "rooms/lit": { "~": 1 } })
    const lit = yield* client.get(Lamp, key)
    yield* write(lit, { others: "again", phase: "On", "rooms/lit": { "~": 2, "a/b": 3 } })
    yield* write(lit, { others: "again", phase: "On", count: 4 })
    yield* write(lit, { others: "again", phase: "On", "rooms/lit": { "~": 5 } })
    const bare = yield* client.get(Lamp, key)
    yield* others({ parts: ["theirs"] })
    yield* write(bare, { others: "again", phase: "On", count: 4, parts: ["ours"] })
    yield* write(yield* client.get(Lamp, key), { others: "again", phase: "On", count: 4, parts: ["theirs", "ours"] })
    yield* write(yield* client.get(Lamp, key), { others: "again", phase: "On", count: 4 })
    yield* write(yield* client.get(Lamp, key), { phase: "far too long for it" })
    const last = yield* client.get(Lamp, key)
    yield* client.delete(Lamp, last)
    yield* write(last, { phase: "Gone" })
    yield* client.create(Lamp, { metadata: key, spec: { size: 2 } })
    yield* others({ others: "again", phase: "On", count: 4 })
    yield* write(last, { others: "again", phase: "Gone", count: 4 })
    yield* write(yield* client.get(Lamp, key), {})
    return told
  }).pipe(Effect.provide(live))
})

const expected = [
  // A first status, while somebody else has given one.
  "Conflict",
  // Another field is not what it was: written, and another look is due.
  "Conflict",
  { others: "again", phase: "On", "rooms/lit": { "~": 1 } },
  { others: "again", phase: "On", "rooms/lit": { "~": 2, "a/b": 3 } },
  { others: "again", phase: "On", count: 4 },
  // Goes into what is gone.
  "Conflict",
  // A list, while somebody else has given one.
  "Conflict",
  { others: "again", phase: "On", count: 4, parts: ["theirs", "ours"] },
  { others: "again", phase: "On", count: 4 },
  "Invalid",
  "NotFound",
  // Another object of the name.
  "Conflict",
  {}
]

it.live(
  "a status is refused, or leaves alone what is not its own, by a real API server and by the one in memory alike",
  () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* story(yield* inMemory), expected)
      assert.deepStrictEqual(yield* story(yield* real), expected)
    })
)
