import type { KubeObject } from "@effect-operator/core/KubeObject"
import { notBack, outdated, outdatedOutside } from "@effect-operator/k8s/testing/simulation/oracles/Outdated"
import type { Entry } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { State } from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const object = (spec: object, annotations?: Record<string, string>, status?: object): KubeObject =>
  ({
    apiVersion: "example.com/v1",
    kind: "Tenant",
    metadata: { name: "a", namespace: "default", uid: "1", ...(annotations && { annotations }) },
    spec,
    ...(status && { status })
  }) as never

const changed = (at: number, to: KubeObject): Entry => ({ _tag: "Change", at, change: { object: to } }) as never

const state = (members: Readonly<Record<string, object>>): State =>
  new Map(
    Object.entries(members).map(([family, fields]) => [family, [JSON.stringify({ metadata: {}, ...fields })]] as const)
  )

const quota = "ResourceQuota default/a"
const pods = (count: string) => state({ [quota]: { spec: { hard: { pods: count } } } })

interface More {
  readonly rests?: ReadonlyArray<State>
  readonly last?: KubeObject
}

/** What is said of what was made while people wanted 5, and is there when they want 9. */
const said = (found: State, wanted: State, { last = object({ pods: 9 }), rests = [found] }: More = {}) => {
  const entries = [changed(1, object({ pods: 5 })), changed(2, last)]
  const run = { ...blank, entries, steps: [1, 2] }
  return outdated(run, [last], found.keys(), found, wanted, rests)
}

describe("Outdated", () => {
  it("what has followed people, and does not follow them back", () => {
    const at = (wanted: string, large: string | undefined) => ({
      wanted,
      state: state({ "ConfigMap default/a": { data: { name: "a", ...(large === undefined ? {} : { large }) } } })
    })
    const said = (...rests: ReadonlyArray<ReturnType<typeof at>>) =>
      notBack(rests.slice(0, -1), rests.at(-1)!, ["ConfigMap default/a"], at("1", "no").state)
    assert.strictEqual(
      said(at("1", "no"), at("3", "yes"), at("1", "yes")),
      "ConfigMap default/a.data.large: \"yes\", as before; when the same was wanted earlier, it was \"no\""
    )
    assert.isUndefined(said(at("1", "no"), at("3", "yes"), at("1", "no")), "it follows")
    assert.isUndefined(said(at("1", "no"), at("3", "yes"), at("2", "yes")), "they want something else")
    assert.isUndefined(said(at("1", "no"), at("3", "once"), at("1", "twice")), "it counts")
    assert.isUndefined(said(at("1", undefined), at("3", "yes"), at("1", "yes")), "it was not there then")
    assert.isUndefined(said(at("1", "yes"), at("1", "yes")), "nothing is changed")
  })

  it("what stays as people wanted it before is told, with its place, and theirs", () => {
    assert.strictEqual(
      said(pods("5"), pods("9")),
      `${quota}.spec.hard.pods: "5", as Tenant.spec.pods was before; if all steps are taken at once, ` +
        "it is \"9\""
    )
    const text = (of: string) => state({ "ConfigMap default/a": { data: { text: `max=${of}\n` } } })
    assert.include(said(text("5"), text("9")), "ConfigMap default/a.data.text")
    const secret = (of: string) => state({ "Secret default/a": { data: { max: btoa(`max ${of}`) } } })
    assert.include(said(secret("5"), secret("9")), "\"max 5\"")
  })

  it("how many there are is for an autoscaler to say, if one scales it", () => {
    const scaled = (replicas: number, kind: string) =>
      state({
        "Deployment default/a": { spec: { replicas } },
        "HorizontalPodAutoscaler default/a": { spec: { scaleTargetRef: { kind, name: "a" }, maxReplicas: 30 } }
      })
    assert.include(said(scaled(5, "StatefulSet"), scaled(9, "StatefulSet")), "Deployment default/a.spec.replicas: 5")
    assert.isUndefined(said(scaled(5, "Deployment"), scaled(9, "Deployment")))
  })

  it("what people keep in a Secret, too", () => {
    const secret = (token: string): KubeObject =>
      ({ ...object({}), kind: "Secret", data: { token: btoa(token) } }) as never
    const last = secret("xyz")
    const entries = [changed(1, secret("abc")), changed(2, last)]
    const copy = (token: string) => state({ "Secret other/a": { data: { token: btoa(token) } } })
    const told = outdated({ ...blank, entries, steps: [1, 2] }, [last], ["Secret other/a"], copy("abc"), copy("xyz"), [
      copy("abc")
    ])
    assert.include(told, "Secret other/a.data.token: \"abc\", as Secret.data.token was before")
  })

  it("lists of words, too, however they are joined", () => {
    const last = object({ routes: ["/a", "/b"] })
    const entries = [changed(1, object({ routes: ["/a"] })), changed(2, last)]
    const text = (of: string) => state({ "ConfigMap default/a": { data: { routes: of } } })
    const told = outdated(
      { ...blank, entries, steps: [1, 2] },
      [last],
      ["ConfigMap default/a"],
      text("/a"),
      text("/a\n/b"),
      [
        text("/a")
      ]
    )
    assert.include(told, "ConfigMap default/a.data.routes: \"/a\"")
  })

  it("yes and no, too, where the name is the same", () => {
    const [off, on] = [object({ suspend: true }), object({ suspend: false })]
    const entries = [changed(1, off), changed(2, on)]
    const cron = (key: string, value: boolean) => state({ "CronJob default/a": { spec: { [key]: value } } })
    const said = (key: string) =>
      outdated({ ...blank, entries, steps: [1, 2] }, [on], ["CronJob default/a"], cron(key, true), cron(key, false), [
        cron(key, true)
      ])
    assert.include(said("suspend"), "CronJob default/a.spec.suspend: true, as Tenant.spec.suspend was before")
    assert.isUndefined(said("paused"))
  })

  it("nothing of what has nothing to do with it, or has changed since", () => {
    assert.isUndefined(said(pods("7"), pods("9")))
    assert.isUndefined(said(pods("9"), pods("9")))
    assert.isUndefined(said(pods("5"), pods("9"), { rests: [pods("4")] }))
    assert.isUndefined(said(pods("5"), pods("9"), { rests: [] }))
  })

  it("nor of fields that stay as they were made, of what is immutable, or has another in its place", () => {
    const claims = (of: string) =>
      state({ "StatefulSet default/a": { spec: { volumeClaimTemplates: [{ spec: { size: of } }] } } })
    assert.isUndefined(said(claims("5"), claims("9")))
    const map = (of: string) => state({ "ConfigMap default/a": { immutable: true, data: { of } } })
    assert.isUndefined(said(map("5"), map("9")))
    const colours = state({
      "Deployment default/blue": { spec: { max: 5 } },
      "Deployment default/green": { spec: { max: 9 } }
    })
    assert.isUndefined(said(colours, state({ "Deployment default/blue": { spec: { max: 9 } } })))
  })

  it("nor where people are told that it stays, or have asked for it", () => {
    assert.isUndefined(said(pods("5"), pods("9"), { last: object({ pods: 9 }, { "example.com/paused": "true" }) }))
    const refusing = object({ pods: 9 }, undefined, { message: "the quota cannot be changed" })
    assert.isUndefined(said(pods("5"), pods("9"), { last: refusing }))
  })

  it("nor where they have been told before, and it is said still", () => {
    const refusal = { message: "the quota cannot be changed" }
    const [second, third] = [object({ pods: 7 }, undefined, refusal), object({ pods: 9 }, undefined, refusal)]
    const run = {
      ...blank,
      entries: [changed(1, object({ pods: 5 })), changed(2, second), changed(3, third)],
      steps: [1, 2, 3]
    }
    const told = (last: KubeObject) =>
      outdated({ ...run, objects: [last] }, [last], [quota], pods("5"), pods("9"), [pods("5")])
    assert.isUndefined(told(third))
    assert.include(told(object({ pods: 9 })), "as Tenant.spec.pods was before")
  })

  describe("outside of the cluster", () => {
    const asked = (spec: object, finalizers: ReadonlyArray<string>): KubeObject => {
      const plain = object(spec)
      return { ...plain, metadata: { ...plain.metadata, finalizers } }
    }

    interface Kept {
      readonly volume: string
      readonly [name: string]: string
    }

    /** What is said of a volume that people wanted to be of 5 first, and then of 9. */
    const saidOf = (found: Kept, before: Kept = found, finalizers: ReadonlyArray<string> = ["example.com/volumes"]) => {
      const last = asked({ size: "9Gi" }, finalizers)
      const entries = [changed(1, asked({ size: "5Gi" }, finalizers)), changed(2, last)]
      const cloud = (kept: Kept) => new Map([["cloud", new Map(Object.entries(kept))]])
      const run = { ...blank, entries, steps: [1, 2], outside: cloud(found) }
      const rests = [{ objects: [], outside: cloud(before) }]
      return outdatedOutside({ ...run, rests }, [last], { ...run, outside: cloud({ volume: "size=9Gi" }) }, new Set())
    }

    it("what stays as people wanted it before is told", () => {
      assert.strictEqual(
        saidOf({ volume: "size=5Gi" }),
        "outside cloud.volume: \"size=5Gi\", as Tenant.spec.size was before; if all steps are taken at once, " +
          "it is \"size=9Gi\""
      )
    })

    it("nothing of what has changed since, of what has another beside it, or of what nobody vouches for", () => {
      assert.isUndefined(saidOf({ volume: "size=9Gi" }))
      assert.isUndefined(saidOf({ volume: "size=5Gi" }, { volume: "size=4Gi" }))
      assert.isUndefined(saidOf({ volume: "size=5Gi", next: "size=9Gi" }))
      assert.isUndefined(saidOf({ volume: "size=5Gi" }, { volume: "size=5Gi" }, []))
    })
  })
})
