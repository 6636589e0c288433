import type { KubeObject } from "@effect-operator/core/KubeObject"
import { departed } from "@effect-operator/k8s/testing/simulation/oracles/Departed"
import type { Entry, Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { Reference } from "@effect-operator/k8s/testing/simulation/running/Reference"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const object = (kind: string, name: string, fields: object = {}): KubeObject =>
  ({ kind, metadata: { name, uid: `uid of ${kind} ${name}`, namespace: "default" }, ...fields }) as never

const call = (of: KubeObject): Entry =>
  ({ _tag: "Call", at: 1, status: 201, object: of, request: { method: "POST", path: "/", query: [] } }) as never
const change = (of: KubeObject): Entry => ({ _tag: "Change", at: 1, change: { type: "ADDED", object: of } }) as never

const pod = (name: string) => object("Pod", name)
const members = (...names: ReadonlyArray<string>) => object("ConfigMap", "a", { data: { members: names.join(",") } })

/** A run in which there were some, and at the end there is a list, and those who live. */
const ends = (
  teller: KubeObject,
  living: ReadonlyArray<KubeObject>,
  gone: ReadonlyArray<KubeObject> = []
): Recording => ({
  ...blank,
  kinds: ["Ring"],
  entries: [...gone, ...living].map(change).concat(teller.kind === "Ring" ? [] : [call(teller)]),
  objects: [teller, ...living]
})

const said = (run: Recording, recording: Recording) =>
  departed.judge(run, { recording, mask: new Set() } as unknown as Reference)

describe("Departed", () => {
  const [x, y, z] = ["ring-x", "ring-y", "ring-z"].map(pod) as [KubeObject, KubeObject, KubeObject]
  const without = ends(members("ring-x", "ring-y"), [x, y])

  it("who names one who is gone, where without faults all are there, is told of, with the place", () => {
    assert.strictEqual(
      said(ends(members("ring-x", "ring-y"), [y, z], [x]), without),
      "ConfigMap a.data.members names Pod ring-x, which is gone; without faults, everything that it names exists"
    )
    const ring = (...nodes: ReadonlyArray<string>) => object("Ring", "r", { spec: {}, status: { nodes } })
    assert.include(
      said(ends(ring("ring-x", "ring-y"), [y, z], [x]), ends(ring("ring-x", "ring-y"), [x, y])),
      "Ring r.status.nodes[] names Pod ring-x"
    )
    const keyed = (...names: ReadonlyArray<string>) =>
      object("ConfigMap", "a", { data: Object.fromEntries(names.map((name) => [name, "up"])) })
    assert.include(
      said(ends(keyed("ring-x"), [z], [x]), ends(keyed("ring-y"), [y])),
      "ConfigMap a.data names Pod ring-x"
    )
  })

  it("nobody is told of who names those who are there, or has one of that name again", () => {
    assert.isUndefined(said(ends(members("ring-y", "ring-z"), [y, z], [x]), without))
    assert.isUndefined(said(ends(members("ring-x", "ring-y"), [y, pod("ring-x")], [x]), without))
  })

  it("nor who names some who are gone without faults, too, or more of them, or those of whom none is there, or in an Event: it is a history", () => {
    const history = ends(members("ring-x", "ring-y"), [y], [x])
    assert.isUndefined(said(ends(members("ring-y", "ring-z"), [z], [y]), history))
    assert.isUndefined(said(ends(members("ring-x", "ring-y", "ring-z"), [y, z], [x]), without))
    const event = object("Event", "e", { note: "created ring-x" })
    assert.isUndefined(said(ends(event, [y], [x]), ends(event, [x])))
    const other = ends(members("web"), [object("Service", "web")])
    assert.isUndefined(said(ends(members("web", "ring-x"), [object("Service", "web")], [x]), other))
  })

  it("a Secret names what is written in it, and nothing that is found in its base64 by chance", () => {
    const secret = (text: string) => object("Secret", "s", { data: { key: btoa(text) } })
    const [one, two] = [secret("at ring-x"), secret("at ring-y")]
    assert.include(said(ends(one, [y], [x]), ends(two, [y])), "Secret s.data.key names Pod ring-x")
    // "YjAyNTk0" has a y, and "/y+A" is no text.
    const short = object("Secret", "y")
    for (const data of [{ key: btoa("b02594") }, { key: "/y+A" }]) {
      const keyed = ends(object("Secret", "s", { data }), [z], [short])
      assert.isUndefined(said(keyed, ends(object("Secret", "s", { data }), [z, short])))
    }
    const told = object("ConfigMap", "a", { data: { key: "YjAyNTk0" } })
    assert.isUndefined(said(ends(told, [z], [short]), ends(told, [z, short])))
  })

  it("an address is a name, too, but for one that people speak of themselves", () => {
    const at = (uid: string, podIP: string) => {
      const { metadata, ...rest } = pod("ring-x")
      return { ...rest, metadata: { ...metadata, uid }, status: { podIP } } as KubeObject
    }
    const [old, now] = [at("1", "10.0.0.1"), at("2", "10.0.0.2")]
    const known = ends(members("10.0.0.1:80"), [old])
    const stale = ends(members("10.0.0.1:80"), [now], [old])
    assert.strictEqual(
      said(stale, known),
      "ConfigMap a.data.members names 10.0.0.1, the address of a former Pod ring-x, which is gone; without faults, everything that it names exists"
    )
    assert.isUndefined(said(ends(members("10.0.0.2:80"), [now], [old]), known))
    const ring = object("Ring", "r", { spec: { address: "10.0.0.1" } })
    const spoken = (run: Recording): Recording => ({
      ...run,
      entries: [
        { _tag: "Step", at: 0, name: "r", failed: undefined, made: [ring.metadata.uid] },
        change(ring),
        ...run.entries
      ]
    })
    assert.isUndefined(said(spoken(stale), spoken(known)))
  })

  it("nor what people or the cluster say", () => {
    const people = { ...ends(members("ring-x", "ring-y"), [y, z], [x]) }
    const theirs: Recording = { ...people, entries: people.entries.filter(({ _tag }) => _tag !== "Call") }
    assert.isUndefined(said(theirs, without))
  })
})
