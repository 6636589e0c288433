/** What a server, or a proxy in between, sends that is no Kubernetes: a failure of the call, never of the program. */
import { KubeClient, type KubeError, Reflector, Transport } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream, SubscriptionRef } from "effect"
import { meta, Pod, pod } from "./support/Client.ts"
import { pass } from "./support/Time.ts"

const values = (stream: ReadonlyArray<unknown>) =>
  Transport.Transport.of({
    request: () =>
      Effect.succeed({ status: 200, headers: {}, body: { metadata: { resourceVersion: "5" }, items: [] } }),
    stream: () => Effect.succeed({ status: 200, headers: {}, values: Stream.fromIterable(stream) })
  })

describe("a watch", () => {
  const malformed: ReadonlyArray<readonly [string, unknown]> = [
    ["null", null],
    ["a text", "hello"],
    ["a bookmark of nothing", { type: "BOOKMARK" }],
    ["an error without a Status", { type: "ERROR" }],
    ["an object without a resourceVersion", { type: "ADDED", object: { metadata: { name: "x" } } }],
    ["an object without a name", { type: "MODIFIED", object: { metadata: { resourceVersion: "7" } } }],
    ["an unknown type", { type: "WEIRD", object: { kind: "Pod", metadata: meta("x") } }]
  ]
  for (const [what, value] of malformed) {
    it.effect(`fails with Decode at ${what}, after the events before it`, () =>
      Effect.gen(function*() {
        const client = KubeClient.make(values([{ type: "ADDED", object: pod("a") }, value]))
        const seen: Array<string> = []
        const error = yield* Effect.flip(
          Stream.runForEach(client.watch(Pod), ({ type }) => Effect.sync(() => seen.push(type)))
        )
        assert.strictEqual((error as KubeError.KubeError).reason._tag, "Decode")
        assert.deepStrictEqual(seen, ["ADDED"])
      }))
  }

  it.effect("that sends its start and closes is not reopened again and again", () =>
    Effect.gen(function*() {
      let opened = 0
      const bookmark = {
        type: "BOOKMARK",
        object: { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion: "5" } }
      }
      const base = values([bookmark])
      const stream = (request: Transport.Request) => {
        opened += 1
        return base.stream(request)
      }
      const client = KubeClient.make({ ...base, stream })
      const reflector = yield* Reflector.make(client, Pod, {}, { replace: () => {}, apply: () => {} })
      yield* Effect.forkScoped(reflector.run)
      yield* pass("10 seconds")
      assert.isBelow(opened, 10)
    }))
})

it.effect("a list with items that are not objects fails with Decode", () =>
  Effect.gen(function*() {
    for (const items of [[null], ["a"], [{ metadata: { name: "x" } }], "items"]) {
      const body = { metadata: { resourceVersion: "5" }, items }
      const request = () => Effect.succeed({ status: 200, headers: {}, body })
      const error = yield* Effect.flip(KubeClient.make({ ...values([]), request }).listPage(Pod))
      assert.strictEqual(error.reason._tag, "Decode", JSON.stringify(items))
    }
  }))

it.effect("a list without a version fills no cache: nothing could be watched from there", () =>
  Effect.gen(function*() {
    const body = { kind: "PodList", metadata: {}, items: [{ metadata: { name: "x", namespace: "d" } }] }
    const request = () => Effect.succeed({ status: 200, headers: {}, body })
    const client = KubeClient.make({ ...values([]), request })
    const replaced: Array<string> = []
    const sink = { replace: (_: unknown, version: string) => void replaced.push(version), apply: () => {} }
    const reflector = yield* Reflector.make(client, Pod, {}, sink)
    yield* Effect.forkScoped(reflector.run)
    yield* pass("10 seconds")
    const status = yield* SubscriptionRef.get(reflector.status)
    assert.deepStrictEqual(replaced, [])
    assert.strictEqual(status._tag === "Degraded" && status.reason._tag, "Decode")
    assert.isUndefined(reflector.lastEventAt())
  }))
