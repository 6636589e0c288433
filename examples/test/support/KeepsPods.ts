/** What every operator does that keeps a number of Pods running, as tests. */
import { KubeClient, Manager } from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { ApiServer, Kubelet } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Example } from "../../src/Example.ts"
import { all, assertQuiet, cluster, crashAtWrite, operated } from "./Operator.ts"

type Act = (count: number) => Effect.Effect<unknown, unknown, KubeClient.KubeClient>

export interface Subject {
  readonly example: Example
  /** Creates the object that wants so many Pods. */
  readonly create: Act
  readonly scale: Act
  /** Exactly so many Pods run, as the object wants them, and its status says so. */
  readonly assertSettled: Act
  /** How many writes it takes until four Pods are there and the status says so. */
  readonly writesOfFour: number
}

export const keepsPods = ({ assertSettled, create, example, scale, writesOfFour }: Subject): void => {
  it.effect("scales up, down and to zero, then leaves the cluster alone", () =>
    Effect.gen(function*() {
      yield* create(3)
      yield* TestClock.adjust("10 seconds")
      yield* assertSettled(3)
      for (const count of [7, 2, 0, 1]) {
        yield* scale(count)
        yield* TestClock.adjust("1 minute")
        yield* assertSettled(count)
      }
      yield* assertQuiet
    }).pipe(Effect.provide(operated(example))))

  it.effect("replaces a Pod that dies, and removes what is left of it", () =>
    Effect.gen(function*() {
      yield* create(3)
      yield* TestClock.adjust("10 seconds")
      const [victim] = yield* all(Pod)
      yield* Kubelet.fail(victim!)
      yield* TestClock.adjust("1 minute")
      yield* assertSettled(3)
      assert.isFalse((yield* all(Pod)).some(({ metadata }) => metadata.uid === victim!.metadata.uid))
      yield* assertQuiet
    }).pipe(Effect.provide(operated(example))))

  it.effect("replaces a Pod that is deleted by hand, at once", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      yield* create(3)
      yield* TestClock.adjust("10 seconds")
      const [victim] = yield* all(Pod)
      yield* client.delete(Pod, victim!)
      // The deleted Pod still has its grace period; its replacement does not wait for that.
      yield* TestClock.adjust("10 millis")
      assert.strictEqual((yield* all(Pod)).filter((pod) => !isTerminating(pod)).length, 3)
      yield* TestClock.adjust("1 minute")
      yield* assertSettled(3)
      yield* assertQuiet
    }).pipe(Effect.provide(operated(example))))

  it.effect("follows the spec while it is still at work on an earlier one", () =>
    Effect.gen(function*() {
      yield* create(2)
      for (const count of [9, 1, 6, 4]) {
        yield* scale(count)
        yield* TestClock.adjust("1 millis")
      }
      yield* TestClock.adjust("2 minutes")
      yield* assertSettled(4)
      yield* assertQuiet
    }).pipe(Effect.provide(operated(example))))

  it.effect("converges without a surplus Pod after a crash at any of its writes", () =>
    Effect.gen(function*() {
      for (let n = 1; n <= writesOfFour; n++) {
        yield* Effect.gen(function*() {
          yield* create(4)
          const writes = yield* crashAtWrite(example, n, TestClock.adjust("10 seconds"))
          assert.strictEqual(writes, n, "the operator got as far as the write it dies at")
          yield* Effect.gen(function*() {
            yield* TestClock.adjust("1 minute")
            yield* assertSettled(4)
            const server = yield* ApiServer.ApiServer
            assert.lengthOf((yield* server.snapshot).filter(({ kind }) => kind === "Pod"), 4)
            yield* assertQuiet
          }).pipe(Effect.provide(Manager.layer(example.controllers)))
        }).pipe(Effect.provide(cluster(example)))
      }
    }))
}
