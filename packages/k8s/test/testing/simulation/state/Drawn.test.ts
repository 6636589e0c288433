import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import * as Canonical from "../../../../src/testing/simulation/state/Canonical.ts"
import * as Drawn from "../../../../src/testing/simulation/state/Drawn.ts"

const secret = (word: string): KubeObject & { readonly data: object } => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name: "s",
    namespace: "default",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z"
  },
  data: { word: btoa(word), fixed: btoa("as ever") }
})

/** A Secret, and what a server outside of the cluster was told of it. */
const run = (word: string, told = word) => ({
  entries: [],
  objects: [secret(word)],
  outside: new Map([["server", new Map([["word", told]])]])
})

const places = ["Secret default/s.data.word", "outside server.word"] as const

describe("Drawn", () => {
  it("places are tied where what was drawn is the same in both runs, in base64 or plain", () => {
    const [a, b] = [run("secret-1"), run("secret-2")]
    const mask = Canonical.mask(a, b)
    assert.deepStrictEqual(Drawn.tied(a, b, mask), [places])
    const torn = Drawn.drawn(run("secret-3", "secret-4"), mask)
    assert.deepStrictEqual([...torn], [[places[0], "secret-3"], [places[1], "secret-4"]])
  })

  it("also where it is filed under a key that is drawn itself, as long as that is the only one", () => {
    const kept = (word: string, ...ids: ReadonlyArray<string>) => ({
      ...run(word),
      outside: new Map([["server", new Map(ids.map((id) => [id, word]))]])
    })
    const both = ["Secret default/s.data.word", "outside server.*"] as const
    const [a, b] = [kept("secret-1", "x1"), kept("secret-2", "y2")]
    assert.deepStrictEqual(Drawn.tied(a, b, Canonical.mask(a, b)), [both])
    const [c, d] = [kept("secret-1", "x1", "x2"), kept("secret-2", "y1", "y2")]
    assert.deepStrictEqual(Drawn.tied(c, d, Canonical.mask(c, d)), [])
  })

  it("what only one of the runs has alike is chance", () => {
    const [a, b] = [run("secret-1"), run("secret-2", "secret-5")]
    assert.deepStrictEqual(Drawn.tied(a, b, Canonical.mask(a, b)), [])
  })
})
