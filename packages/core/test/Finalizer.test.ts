import { Finalizer, KubeClient, type KubeError, type KubeObject, Resource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, invalid, patchFailed, scripted } from "./support/Scripted.ts"

const Thing = Resource.make<KubeObject.KubeObject>()({
  group: "test.io",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
})
const thing = (finalizers?: ReadonlyArray<string>): KubeObject.KubeObject => ({
  apiVersion: "test.io/v1",
  kind: "Thing",
  metadata: {
    name: "a",
    namespace: "d",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "",
    ...(finalizers === undefined ? {} : { finalizers })
  }
})
const mine = "test.io/mine"
const uid = { op: "test", path: "/metadata/uid", value: "u" }
const run = <A>(effect: Effect.Effect<A, KubeError.KubeError, KubeClient.KubeClient>, answer: Answer) => {
  const { requests, transport } = scripted(() => answer)
  return Effect.map(
    Effect.result(Effect.provideService(effect, KubeClient.KubeClient, KubeClient.make(transport))),
    (result) => ({ result, requests })
  )
}

describe("Finalizer.add", () => {
  it.effect("creates a missing list, guarded by the resourceVersion", () =>
    Effect.gen(function*() {
      for (const seen of [undefined, []]) {
        const { requests, result } = yield* run(Finalizer.add(Thing, thing(seen), mine), { body: thing([mine]) })
        assert.deepStrictEqual(requests[0]!.body, [
          uid,
          { op: "test", path: "/metadata/resourceVersion", value: "7" },
          { op: "add", path: "/metadata/finalizers", value: [mine] }
        ])
        assert.strictEqual(requests[0]!.headers["content-type"], "application/json-patch+json")
        assert.strictEqual(requests[0]!.path, "/apis/test.io/v1/namespaces/d/things/a")
        assert.deepStrictEqual(result._tag === "Success" && result.success, thing([mine]))
      }
    }))

  it.effect("appends to the list if it is still the one that was read", () =>
    Effect.gen(function*() {
      const { requests } = yield* run(Finalizer.add(Thing, thing(["other/x"]), mine), {
        body: thing(["other/x", mine])
      })
      assert.deepStrictEqual(requests[0]!.body, [
        uid,
        { op: "test", path: "/metadata/finalizers", value: ["other/x"] },
        { op: "add", path: "/metadata/finalizers/-", value: mine }
      ])
    }))

  it.effect("is a Conflict if another client was faster", () =>
    Effect.gen(function*() {
      const { result } = yield* run(Finalizer.add(Thing, thing(["other/x"]), mine), patchFailed)
      assert.strictEqual(result._tag === "Failure" && result.failure.reason._tag, "Conflict")
      assert.strictEqual(
        result._tag === "Failure" && result.failure.message,
        "patch things.test.io d/a: Conflict: the finalizers of a changed in the meantime: m"
      )
    }))

  it.effect("stays Invalid if the finalizer itself is rejected: no retry would help", () =>
    Effect.gen(function*() {
      const causes = [{ reason: "FieldValueInvalid", field: "metadata.finalizers[0]", message: "bad" }]
      const { result } = yield* run(Finalizer.add(Thing, thing(), "bad"), invalid({ causes }))
      assert.strictEqual(result._tag === "Failure" && result.failure.reason._tag, "Invalid")
      assert.isFalse(result._tag === "Failure" && result.failure.isRetryable)
    }))
})

describe("Finalizer.remove", () => {
  it.effect("removes its own, at any position, and only if it is still there", () =>
    Effect.gen(function*() {
      const { requests, result } = yield* run(Finalizer.remove(Thing, thing(["other/x", mine, "other/y"]), mine), {
        body: thing(["other/x", "other/y"])
      })
      assert.deepStrictEqual(requests[0]!.body, [
        uid,
        { op: "test", path: "/metadata/finalizers/1", value: mine },
        { op: "remove", path: "/metadata/finalizers/1" }
      ])
      assert.strictEqual(result._tag, "Success")
    }))

  it.effect("does nothing if it is not there", () =>
    Effect.gen(function*() {
      for (const seen of [undefined, [], ["other/x"]]) {
        const { requests, result } = yield* run(Finalizer.remove(Thing, thing(seen), mine), {})
        assert.deepStrictEqual([requests, result._tag], [[], "Success"])
      }
    }))

  it.effect("accepts that the object is gone, and hides no other failure", () =>
    Effect.gen(function*() {
      const outcome = (answer: Answer) =>
        Effect.map(run(Finalizer.remove(Thing, thing([mine]), mine), answer), ({ result }) =>
          result._tag === "Success" ? "Success" : result.failure.reason._tag)
      assert.strictEqual(yield* outcome({ status: 404, body: "gone" }), "Success")
      assert.strictEqual(yield* outcome(patchFailed), "Conflict")
      assert.strictEqual(yield* outcome({ status: 409, body: "conflict" }), "Conflict")
      assert.strictEqual(yield* outcome({ status: 403, body: "no" }), "Forbidden")
    }))
})

it("Finalizer.has matches exactly that one", () => {
  assert.deepStrictEqual(
    [thing(), thing([]), thing([`${mine}2`]), thing(["other/x", mine])].map((object) => Finalizer.has(object, mine)),
    [false, false, false, true]
  )
})
