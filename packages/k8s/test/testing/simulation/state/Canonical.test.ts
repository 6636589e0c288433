import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import type { Entry } from "../../../../src/testing/simulation/recording/Recording.ts"
import * as Canonical from "../../../../src/testing/simulation/state/Canonical.ts"

const object = (kind: string, name: string, uid: string, data: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace: "default", uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
  ...data
})

const gone = (deleted: KubeObject): Entry => ({
  _tag: "Change",
  at: 0,
  change: {
    revision: 1,
    type: "DELETED",
    collection: "all",
    key: deleted.metadata.name,
    namespace: "default",
    object: deleted,
    event: { type: "DELETED", object: deleted }
  }
})

/** A parent that is gone, and what it left, whose name speaks of its uid. */
const run = (uid: string, own: string, data = "x") => ({
  entries: [gone(object("Parent", "a", uid))],
  objects: [object("ConfigMap", `a-${uid.slice(0, 8)}-last`, own, { data: { parent: uid, data } })],
  outside: new Map()
})

const one = run("f256713f-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000001")
const other = run("484b514b-0000-4000-8000-000000000002", "22222222-0000-4000-8000-000000000002")

describe("Canonical", () => {
  it("ends are the same where only what chance has drawn differs, also of what is gone", () => {
    const mask = Canonical.mask(one, other)
    assert.deepStrictEqual([...mask], [])
    assert.deepStrictEqual(Canonical.compare(Canonical.state(one, mask), Canonical.state(other, mask)), [])
  })

  it("of too many Pods it is told how many have failed", () => {
    const pods = (...phases: ReadonlyArray<string>) => ({
      entries: [],
      objects: phases.map((phase, index) => ({
        ...object("Pod", `web-${index}x7k${index}`, `${index}`, { status: { phase } }),
        metadata: { ...object("Pod", `web-x7k${index}2`, `${index}`).metadata, generateName: "web-" }
      })),
      outside: new Map()
    })
    const told = (...phases: ReadonlyArray<string>) =>
      Canonical.compare(
        Canonical.state(pods("Running", "Running"), new Set()),
        Canonical.state(pods(...phases), new Set())
      )
    assert.deepStrictEqual(told("Running", "Running", "Failed"), [
      "Pod default/web-*: 3 instead of 2, and 1 of them failed"
    ])
    assert.deepStrictEqual(told("Running", "Running", "Running"), ["Pod default/web-*: 3 instead of 2"])
    assert.deepStrictEqual(told("Failed"), ["Pod default/web-*: 1 instead of 2"])
  })

  it("what else differs is told by its path", () => {
    const wrong = run("484b514b-0000-4000-8000-000000000002", "22222222-0000-4000-8000-000000000002", "y")
    assert.deepStrictEqual(Canonical.compare(Canonical.state(one, new Set()), Canonical.state(wrong, new Set())), [
      "ConfigMap default/a-(uid)-last: ConfigMap.data.data: \"y\" instead of \"x\""
    ])
  })

  const end = (objects: ReadonlyArray<KubeObject>, outside: ReadonlyMap<string, unknown> = new Map()) => ({
    entries: [],
    objects,
    outside
  })
  const same = (a: KubeObject, b: KubeObject) =>
    Canonical.compare(Canonical.state(end([a]), new Set()), Canonical.state(end([b]), new Set()))

  it("how often an object was changed is no difference, and whether its conditions are about it as it is now is", () => {
    const made = (generation: number, observedGeneration: number) => {
      const { metadata, ...rest } = object("Box", "a", "1")
      const conditions = [{ type: "Ready", status: "True", observedGeneration }]
      return { ...rest, metadata: { ...metadata, generation }, status: { conditions } }
    }
    assert.deepStrictEqual(same(made(3, 3), made(1, 1)), [])
    assert.deepStrictEqual(same(made(3, 3), made(3, 2)), [
      "Box default/a: Box.status.conditions.Ready.observedGeneration: 2 instead of \"(generation)\""
    ])
  })

  it("which address a Service has is no difference, and whether it has one is", () => {
    const service = (ip: string) => object("Service", "web", "1", { spec: { clusterIP: ip, clusterIPs: [ip] } })
    assert.deepStrictEqual(same(service("10.0.0.1"), service("10.0.0.2")), [])
    assert.isNotEmpty(same(service("None"), service("10.0.0.2")))
  })

  it("what the cluster's own controllers write of the past is no difference", () => {
    const deployment = (revision: string): KubeObject => {
      const { metadata, ...rest } = object("Deployment", "web", "1")
      return { ...rest, metadata: { ...metadata, annotations: { "deployment.kubernetes.io/revision": revision } } }
    }
    assert.deepStrictEqual(same(deployment("1"), deployment("3")), [])
    const daemons = (generation: string): KubeObject => {
      const { metadata, ...rest } = object("DaemonSet", "web", "1")
      const annotations = { "deprecated.daemonset.template.generation": generation }
      return { ...rest, metadata: { ...metadata, annotations } }
    }
    assert.deepStrictEqual(same(daemons("2"), daemons("4")), [])
    const endpoints = (ip: string) => object("Endpoints", "web", "1", { subsets: [{ addresses: [{ ip }] }] })
    assert.deepStrictEqual(same(endpoints("10.0.0.1"), endpoints("10.0.0.7")), [])
    assert.isNotEmpty(same(object("Endpoints", "web", "1", { subsets: [] }), endpoints("10.0.0.7")))
    const budget = (expectedPods: number) => object("PodDisruptionBudget", "web", "1", { status: { expectedPods } })
    assert.deepStrictEqual(same(budget(3), budget(4)), [])
  })

  it("owners are the same in whatever order they came", () => {
    const owned = (...uids: ReadonlyArray<string>): KubeObject => {
      const made = object("Secret", "s", "1")
      const ownerReferences = uids.map((uid) => ({ apiVersion: "v1", kind: "Box", name: `box-${uid}`, uid }))
      return { ...made, metadata: { ...made.metadata, ownerReferences } }
    }
    assert.deepStrictEqual(same(owned("b", "c"), owned("c", "b")), [])
    assert.isNotEmpty(same(owned("b", "c"), owned("b")))
  })

  it("which of the replicas has a part is no difference", () => {
    const replica = (index: number, role: string): KubeObject => {
      const { metadata, ...rest } = object("Pod", `db-${index}`, `uid ${index}`)
      const labels = { "apps.kubernetes.io/pod-index": String(index), role }
      return { ...rest, metadata: { ...metadata, generateName: "db-", labels } }
    }
    const told = (...objects: ReadonlyArray<KubeObject>) =>
      Canonical.compare(
        Canonical.state(end([replica(0, "primary"), replica(1, "replica")]), new Set()),
        Canonical.state(end(objects), new Set())
      )
    assert.deepStrictEqual(told(replica(0, "replica"), replica(1, "primary")), [])
    assert.isNotEmpty(told(replica(0, "replica"), replica(1, "replica")))
  })

  it("what the cluster makes of what has a number in its name has the number in its own; the same is told once", () => {
    const made = (number: number, image = "app"): ReadonlyArray<KubeObject> => {
      const owned = (kind: string, name: string, by: KubeObject, generateName?: string): KubeObject => {
        const { metadata, ...rest } = object(kind, name, `uid of ${name}`, { spec: { image } })
        const ownerReferences = [
          { apiVersion: "apps/v1", kind: by.kind, name: by.metadata.name, uid: by.metadata.uid, controller: true }
        ]
        return { ...rest, metadata: { ...metadata, ownerReferences, ...(generateName && { generateName }) } }
      }
      const deployment = object("Deployment", `app-${number}`, `uid ${number}`)
      const set = owned("ReplicaSet", `app-${number}-5d4f8c7b6`, deployment)
      const pods = ["aaaaa", "bbbbb"].map((end) =>
        owned("Pod", `app-${number}-5d4f8c7b6-${end}`, set, `app-${number}-5d4f8c7b6-`)
      )
      return [deployment, set, ...pods]
    }
    const state = (objects: ReadonlyArray<KubeObject>) => Canonical.state(end(objects), new Set())
    assert.deepStrictEqual(Canonical.compare(state(made(2)), state(made(1))), [])
    assert.deepStrictEqual(Canonical.compare(state(made(2)), state(made(2, "other"))), [
      "ReplicaSet default/app-#-*: ReplicaSet.spec.image: \"other\" instead of \"app\"",
      "Pod default/app-#-*-*: Pod.spec.image: \"other\" instead of \"app\""
    ])
  })

  it("who is behind a Service is the same in whatever order it came", () => {
    const slice = (...names: ReadonlyArray<string>) =>
      object("EndpointSlice", "s", "1", { endpoints: names.map((name) => ({ targetRef: { name } })) })
    assert.deepStrictEqual(same(slice("a", "b"), slice("b", "a")), [])
    assert.isNotEmpty(same(slice("a", "b"), slice("a", "c")))
    const addresses = (...names: ReadonlyArray<string>) =>
      object("Endpoints", "e", "1", { subsets: [{ addresses: names.map((name) => ({ targetRef: { name } })) }] })
    assert.deepStrictEqual(same(addresses("a", "b"), addresses("b", "a")), [])
    assert.isNotEmpty(same(addresses("a", "b"), addresses("b")))
  })

  it("what a Deployment keeps of its past is no difference, what it runs is; values are shown from where they differ", () => {
    const set = (name: string, replicas: number, kind = "Deployment"): KubeObject => {
      const made = object("ReplicaSet", name, name, { spec: { replicas } })
      const ownerReferences = [{ apiVersion: "apps/v1", kind, name: "d", uid: "d", controller: true }]
      return { ...made, metadata: { ...made.metadata, ownerReferences } }
    }
    const told = (a: ReadonlyArray<KubeObject>, b: ReadonlyArray<KubeObject>) =>
      Canonical.compare(Canonical.state(end(a), new Set()), Canonical.state(end(b), new Set()))
    assert.deepStrictEqual(told([set("new", 2)], [set("new", 2), set("old", 0)]), [])
    assert.isNotEmpty(told([set("new", 2)], [set("new", 2), set("old", 1)]))
    assert.isNotEmpty(told([set("new", 2)], [set("new", 2), set("old", 0, "Rollout")]))
    const revision = (name: string, number: number, data: string): KubeObject => {
      const made = object("ControllerRevision", `d-${name}`, name, { revision: number, data })
      const ownerReferences = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "d", uid: "d", controller: true }]
      return { ...made, metadata: { ...made.metadata, ownerReferences } }
    }
    assert.deepStrictEqual(told([revision("a", 1, "x")], [revision("b", 1, "y"), revision("a", 2, "x")]), [])
    assert.isNotEmpty(told([revision("a", 1, "x")], [revision("a", 1, "x"), revision("b", 2, "y")]))
    const long = (end: string) => object("ConfigMap", "c", "1", { data: `${"x".repeat(200)}${end}` })
    assert.deepStrictEqual(same(long("a"), long("b")), [
      `ConfigMap default/c: ConfigMap.data: ...${"x".repeat(20)}b" instead of ...${"x".repeat(20)}a"`
    ])
  })

  it("what was stopped half way lies between all of it and nothing; what neither has does not", () => {
    const claims = (...names: ReadonlyArray<string>) =>
      Canonical.state(
        end(names.map((name) => object("Claim", name, name, { metadata: { name, generateName: "c-", uid: name } }))),
        new Set()
      )
    const [none, one, two, three] = [claims(), claims("c-1"), claims("c-1", "c-2"), claims("c-1", "c-2", "c-3")]
    const told = (found: Canonical.State, all: Canonical.State, never: Canonical.State) =>
      Canonical.compare(all, Canonical.settled(found, all, never))
    assert.deepStrictEqual(told(one!, two!, none!), [])
    assert.deepStrictEqual(told(one!, none!, two!), [])
    assert.isNotEmpty(told(three!, two!, none!))
    assert.isNotEmpty(told(one!, two!, two!))
    assert.isNotEmpty(told(none!, two!, one!))
  })

  it("what the cluster makes of what somebody has asked for is told only where there is nothing else to tell", () => {
    const of = (kind: string, name: string): KubeObject => {
      const made = object("Pod", "p", "2")
      return { ...made, metadata: { ...made.metadata, ownerReferences: [{ apiVersion: "v1", kind, name, uid: "3" }] } }
    }
    const told = (pod: KubeObject) =>
      Canonical.compare(
        Canonical.state(end([object("Box", "b", "1", { spec: { size: 1 } }), pod]), new Set()),
        Canonical.state(end([object("Box", "b", "1", { spec: { size: 2 } })]), new Set())
      )
    assert.deepStrictEqual(told(of("ReplicaSet", "r")).map((line) => line.split(" ")[0]), ["Box"])
    assert.deepStrictEqual(told(of("Box", "b")).map((line) => line.split(" ")[0]), ["Pod", "Box"])
    const alone = Canonical.state(end([of("ReplicaSet", "r")]), new Set())
    assert.isNotEmpty(Canonical.compare(alone, Canonical.state(end([]), new Set())))
  })

  it("the Pod of a Job is the same whether it is still there when it is over, or not", () => {
    const owner = { apiVersion: "batch/v1", kind: "Job", name: "once", uid: "2", controller: true }
    const { metadata, ...rest } = object("Pod", "once-x", "1", { status: { phase: "Succeeded" } })
    const pod = { ...rest, metadata: { ...metadata, ownerReferences: [owner] } }
    assert.deepStrictEqual([...Canonical.state(end([pod]), new Set())], [])
  })

  it("what a CronJob has had made says how long a run took: it is no difference, nor is which of it is at work", () => {
    const cron = (...active: ReadonlyArray<string>) =>
      object("CronJob", "nightly", "1", { spec: { schedule: "0 3 * * *" }, status: { active } })
    const of = (made: KubeObject, kind: string, uid: string): KubeObject => {
      const ownerReferences = [{ apiVersion: "batch/v1", kind, name: "it", uid, controller: true }]
      return { ...made, metadata: { ...made.metadata, ownerReferences } }
    }
    const job = (name: string, uid: string) => of(object("Job", name, uid), "CronJob", "1")
    const pod = of(object("Pod", "nightly-28-x", "4", { status: { phase: "Running" } }), "Job", "3")
    const [short, long] = [
      end([cron("nightly-27"), job("nightly-27", "2")]),
      end([cron("nightly-27", "nightly-28"), job("nightly-27", "2"), job("nightly-28", "3"), pod])
    ].map((run) => Canonical.state(run, new Set()))
    assert.deepStrictEqual(Canonical.compare(short!, long!), [])
    const [none, own] = [end([]), end([object("Job", "own", "5")])].map((run) => Canonical.state(run, new Set()))
    assert.isNotEmpty(Canonical.compare(none!, own!))
  })

  it("an empty list in a status is none, and one in what is wanted is not", () => {
    const differing = (one: object, two: object) => same(object("Tray", "a", "1", one), object("Tray", "a", "1", two))
    assert.deepStrictEqual(differing({}, { status: { failed: [] } }), [])
    assert.deepStrictEqual(differing({ status: { phase: "x" } }, { status: { phase: "x", failed: [] } }), [])
    assert.lengthOf(differing({ status: { phase: "x" } }, { status: { phase: "x", failed: ["b"] } }), 1)
    assert.lengthOf(differing({ spec: {} }, { spec: { failed: [] } }), 1)
  })

  it("what one state has and another has not is told, but of status and annotations", () => {
    const state = (data: object) => Canonical.state(end([object("ConfigMap", "a", "1", data)]), new Set())
    const families = new Map([["ConfigMap default/a", { number: false, fields: true }]])
    const more = state({ data: { a: "1", b: "2" }, status: { x: 1 } })
    assert.include(Canonical.leftover(more, state({ data: { a: "1" } }), families), "data.b")
    assert.isUndefined(Canonical.leftover(state({ data: { a: "1" } }), more, families))
  })

  it("what a field beside it held before is no more than that", () => {
    const state = (data: object) => Canonical.state(end([object("Secret", "a", "1", { data })]), new Set())
    const families = new Map([["Secret default/a", { number: false, fields: true }]])
    const [turned, wanted] = [state({ current: "two", previous: "one" }), state({ current: "two" })]
    const told = (...rests: ReadonlyArray<Canonical.State>) =>
      Canonical.leftover(turned, wanted, families, undefined, rests)
    assert.isUndefined(told(state({ current: "one" })))
    assert.include(told(state({ current: "none" })), "data.previous")
    assert.include(told(state({ current: "two", previous: "one" })), "data.previous")
  })

  it("an object that another state has not is told where its kind says what is to be, unless it rests", () => {
    const nothing = Canonical.state(end([]), new Set())
    const told = (spec: object, stands = true) =>
      Canonical.leftover(
        Canonical.state(end([object("Deployment", "a", "1", { spec })]), new Set()),
        nothing,
        new Map([["Deployment default/a", { number: stands, fields: true }]])
      )
    assert.include(told({ replicas: 1 }), "Deployment default/a exists")
    assert.isUndefined(told({ replicas: 0 }))
    assert.isUndefined(told({ suspend: true }))
    assert.isUndefined(told({ replicas: 1 }, false))
    const colours = (...names: ReadonlyArray<string>) =>
      Canonical.state(
        end(names.map((name) => object("Deployment", name, `uid of ${name}`, { spec: { replicas: 1 } }))),
        new Set()
      )
    const green = new Map([["Deployment default/green", { number: true, fields: true }]])
    assert.isUndefined(Canonical.leftover(colours("green"), colours("blue"), green))
    assert.include(
      Canonical.leftover(colours("green", "blue"), colours("blue"), green),
      "Deployment default/green exists"
    )
  })

  it("what another state has more of is missing, unless that rests, or another of its kind is in its place", () => {
    const services = (names: ReadonlyArray<string>, spec = {}) =>
      Canonical.state(end(names.map((name) => object("Service", name, `uid of ${name}`, { spec }))), new Set())
    const family = ["Service default/a"]
    assert.strictEqual(
      Canonical.missing(services([]), services(["a"]), family),
      "0 of Service default/a exist, but 1 if all steps are taken at once"
    )
    assert.isUndefined(Canonical.missing(services(["a"]), services(["a"]), family))
    assert.isUndefined(Canonical.missing(services([]), services(["a"], { replicas: 0 }), family))
    assert.isUndefined(Canonical.missing(services(["b"]), services(["a"]), family))
    assert.isUndefined(Canonical.missing(services([]), services(["a"]), ["Service default/b"]))
  })

  it("what the cluster makes of what differs is not told beside it", () => {
    const state = (image: string, own: string) => {
      const ownerReferences = [{ kind: "ReplicaSet", name: "web", uid: "2", controller: true }]
      const pod = { metadata: { name: "web-1", namespace: "default", uid: "1", ownerReferences }, spec: { image } }
      return Canonical.state(
        end([object("Pod", "web-1", "1", pod), object("Deployment", "web", "3", { spec: { image: own } })]),
        new Set()
      )
    }
    assert.deepStrictEqual(Canonical.compare(state("a", "a"), state("b", "b")), [
      "Deployment default/web: Deployment.spec.image: \"b\" instead of \"a\""
    ])
    assert.include(Canonical.compare(state("a", "a"), state("b", "a"))[0], "Pod.spec.image: \"b\" instead of \"a\"")
  })

  it("two texts of the same parts are told as such", () => {
    const said = (a: string, b: string) => {
      const state = (text: string) =>
        Canonical.state(end([object("ConfigMap", "a", "1", { data: { text } })]), new Set())
      return Canonical.compare(state(a), state(b))
    }
    assert.deepStrictEqual(said("a=1\nb=2", "b=2\na=1"), [
      "ConfigMap default/a: ConfigMap.data.text: \"b=2\\na=1\" instead of \"a=1\\nb=2\", which is the same in another order: lists " +
      "from the cache or the server have no guaranteed order"
    ])
    assert.notInclude(said("a,b", "a,c").join(), Canonical.shuffled)
  })

  it("what is in a Secret is told in words", () => {
    const state = (url: string) =>
      Canonical.state(end([object("Secret", "a", "1", { data: { url: btoa(url) } })]), new Set())
    assert.deepStrictEqual(Canonical.compare(state("amqp://a:1"), state("amqp://a:2")), [
      "Secret default/a: Secret.data.url: \"amqp://a:2\" instead of \"amqp://a:1\""
    ])
  })
})
