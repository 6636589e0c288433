import type { Entry, Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import { identityOf, relabelled } from "@effect-operator/k8s/testing/simulation/state/Identities"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const started = (...replicas: ReadonlyArray<number>): ReadonlyArray<Entry> =>
  replicas.map((replica) => ({ _tag: "Start", at: 0, replica, life: replica }))

const leader = (name: string): Recording => ({
  ...blank,
  objects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "leader" }, data: { leader: name } } as never],
  outside: new Map([["sessions", new Map([["feed", `${name} since noon`]])]])
})

describe("Identities", () => {
  it("each replica is put in the place of another, in objects and outside, all at once", () => {
    const [other, ...more] = relabelled({ ...leader(identityOf(1)), entries: started(0, 1, 1) })
    assert.isEmpty(more)
    assert.deepStrictEqual<Recording>({ ...other!, entries: [] }, leader(identityOf(0)))
  })

  it("three of them in every order but their own, one alone in none", () => {
    const led = (...replicas: ReadonlyArray<number>) =>
      relabelled({ ...leader(identityOf(0)), entries: started(...replicas) }).map(({ objects }) =>
        (objects[0] as unknown as { readonly data: { readonly leader: string } }).data.leader
      )
    assert.deepStrictEqual(led(0, 1, 2).sort(), ["replica-0", "replica-1", "replica-1", "replica-2", "replica-2"])
    assert.isEmpty(led(0))
  })
})
