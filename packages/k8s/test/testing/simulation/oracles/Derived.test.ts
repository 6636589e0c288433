import type { KubeObject } from "@effect-operator/core/KubeObject"
import { derived, toldOfBefore } from "@effect-operator/k8s/testing/simulation/oracles/Derived"
import type { Entry, Recording, Rest } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { Reference } from "@effect-operator/k8s/testing/simulation/running/Reference"
import * as Canonical from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const made = (kind: string, name: string, fields: object): KubeObject =>
  ({
    apiVersion: "v1",
    kind,
    metadata: { name, namespace: "default", uid: `uid of ${kind} ${name}` },
    ...fields
  }) as never

const own = (spec: object, status?: object) => made("Tenant", "a", { spec, ...(status && { status }) })

const budget = (minAvailable: number | string) => made("PodDisruptionBudget", "a", { spec: { minAvailable } })

const none: Canonical.Mask = new Set()

/** A story of what there was at each rest; the last of them is its end. */
const lived = (...moments: ReadonlyArray<ReadonlyArray<KubeObject>>): Recording => {
  const rests = moments.map((objects): Rest => ({ objects, outside: new Map() }))
  return {
    ...blank,
    kinds: ["Tenant"],
    rests: rests.slice(0, -1),
    objects: moments.at(-1)!,
    steps: moments.map((_, n) => n)
  }
}

const stateOf = (run: Canonical.Run) => Canonical.state(run, none)

/** What is said of a story, where `together[n]` is the story whose first step and the n after it came at once. */
const said = (run: Recording, ...together: ReadonlyArray<Recording>) => {
  const reference = {
    mask: none,
    hasty: (steps: ReadonlyArray<number>) => ({ recording: together[steps.length]! })
  } as Reference
  const families = Canonical.families(run, none)
  const withFields = run.objects.filter(({ kind }) => kind !== "Tenant").map(({ metadata }) =>
    families.get(metadata.uid)!
  )
  return derived(
    run,
    reference,
    run.objects.find(({ kind }) => kind === "Tenant")!,
    withFields,
    stateOf(run),
    stateOf(together.at(-1)!)
  )
}

/** As many as `replicas` says, and of them a budget. */
const at = (replicas: number, ...others: ReadonlyArray<KubeObject>) => [own({ replicas, image: "a" }), ...others]

describe("Derived", () => {
  it("what was reckoned when it was made, and never again, is told", () => {
    assert.strictEqual(
      said(
        lived(at(2, budget(1)), at(5, budget(1))),
        lived(at(2, budget(1)), at(5, budget(1))),
        lived(at(5, budget(4)))
      ),
      "PodDisruptionBudget default/a.spec.minAvailable: 1, as it was made, and has not followed Tenant.spec.replicas; where " +
        "people want at once what they want in the end it is 4"
    )
  })

  it("also where the story goes on", () => {
    const [first, second, third] = [at(2, budget(1)), at(5, budget(1)), [own({ replicas: 5, image: "b" }), budget(1)]]
    const told = said(
      lived(first, second, third),
      lived(first, second, third),
      lived(at(5, budget(4)), [own({ replicas: 5, image: "b" }), budget(4)]),
      lived([own({ replicas: 5, image: "b" }), budget(4)])
    )
    assert.include(told, "1, as it was made, and has not followed Tenant.spec.replicas")
  })

  it("nothing of what follows, or has moved since, or would be the same", () => {
    const first = lived(at(2, budget(1)), at(5, budget(4)))
    assert.isUndefined(said(first, first, lived(at(5, budget(4)))))
    const counted = lived(at(2, budget(1)), at(5, budget(2)))
    assert.isUndefined(said(counted, counted, lived(at(5, budget(4)))))
    const kept = lived(at(2, budget(1)), at(5, budget(1)))
    assert.isUndefined(said(kept, kept, lived(at(5, budget(1)))))
    const chosen = lived(at(2, budget(3)), at(5, budget(1)))
    assert.isUndefined(said(kept, chosen, lived(at(5, budget(4)))), "it is not what the first spec comes to")
  })

  it("nor where more than one value has changed, a list, or none", () => {
    const of = (spec: object, less: number) => [own(spec), budget(less)]
    const changed = (one: object, two: object) => {
      const run = lived(of(one, 1), of(two, 1))
      return said(run, run, lived(of(two, 4)))
    }
    assert.include(changed({ replicas: 2, on: true }, { replicas: 5, on: true }), "Tenant.spec.replicas")
    assert.include(changed({ pool: { size: "s" } }, { pool: { size: "l" } }), "Tenant.spec.pool.size")
    assert.isUndefined(changed({ replicas: 2, on: true }, { replicas: 5, on: false }))
    assert.isUndefined(changed({ names: ["a", "b"] }, { names: ["b"] }))
    assert.isUndefined(changed({ replicas: 2 }, { replicas: 2 }))
    assert.isUndefined(changed({ replicas: 2 }, { replicas: 5, paused: true }))
  })

  it("nor of what is immutable, or another one scales", () => {
    const map = (of: string, fields: object = {}) => made("ConfigMap", "a", { data: { of }, ...fields })
    const maps = (fields: object) => {
      const run = lived(at(2, map("x", fields)), at(5, map("x", fields)))
      return said(run, run, lived(at(5, map("y", fields))))
    }
    assert.include(maps({}), "ConfigMap default/a.data.of")
    assert.isUndefined(maps({ immutable: true }))
    const deployed = (replicas: number) => made("Deployment", "a", { spec: { replicas } })
    const scaler = (kind: string) =>
      made("HorizontalPodAutoscaler", "a", { spec: { scaleTargetRef: { kind, name: "a" }, maxReplicas: 30 } })
    const scaled = (kind: string) => {
      const run = lived(at(2, deployed(1), scaler(kind)), at(5, deployed(1), scaler(kind)))
      return said(run, run, lived(at(5, deployed(4), scaler(kind))))
    }
    assert.include(scaled("StatefulSet"), "Deployment default/a.spec.replicas")
    assert.isUndefined(scaled("Deployment"))
  })
})

describe("what a status tells of before", () => {
  const change = (at: number, object: KubeObject): Entry => ({ _tag: "Change", at, change: { object } }) as never

  interface More {
    readonly others?: ReadonlyArray<KubeObject>
    readonly outside?: Recording["outside"]
  }

  /** What is said of a status that was the first while people wanted a host, and is the last when they want another. */
  const told = (
    first: object | undefined,
    last: object,
    wanted: object,
    { others = [], outside = new Map() }: More = {}
  ) => {
    const [before, after] = [own({ host: "one.example" }, first), own({ host: "two.example" }, last)]
    const run = { ...lived([before], [after, ...others]), outside, entries: [change(0, before), change(1, after)] }
    const rest = stateOf({ ...run, objects: [before] })
    const atOnce = stateOf(lived([own({ host: "two.example" }, wanted)]))
    return toldOfBefore(run, after, Canonical.families(run, none).get(after.metadata.uid), [rest], stateOf(run), atOnce)
  }
  const [old, anew] = [{ url: "https://one.example/a" }, { url: "https://two.example/a" }]

  it("a word that is replaced, and is nowhere else", () => {
    assert.strictEqual(
      told(old, old, anew),
      "Tenant.status.url: \"https://one.example/a\", of when Tenant.spec.host was \"one.example\", of which there is nothing " +
        "any more; where people want at once what they want in the end it is \"https://two.example/a\""
    )
  })

  it("not where there is still something of it, or outside", () => {
    assert.isUndefined(told(old, old, anew, { others: [made("Ingress", "a", { spec: { host: "one.example" } })] }))
    assert.isUndefined(told(old, old, anew, { outside: new Map([["dns", new Map([["one.example", 1]])]]) }))
    assert.isString(told(old, old, anew, { others: [made("Ingress", "a", { spec: { host: "phone.example" } })] }))
  })

  it("not where the status says the new one, too, or speaks of the past", () => {
    const more = { ...old, host: "two.example" }
    assert.isUndefined(told(old, more, { ...anew, host: "two.example" }))
    assert.isUndefined(told({ firstUrl: old.url }, { firstUrl: old.url }, { firstUrl: anew.url }))
  })

  it("not where it has changed, was not there before, or is of no word of theirs", () => {
    assert.isUndefined(told(anew, old, anew))
    assert.isUndefined(told(undefined, old, anew))
    assert.isUndefined(told({ url: "x" }, { url: "x" }, { url: "y" }))
  })
})
