import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type * as Admission from "../../../src/testing/Admission.ts"
import * as Derived from "../../../src/testing/admission/Derived.ts"
import * as LimitRanger from "../../../src/testing/admission/LimitRanger.ts"
import * as PodPlugins from "../../../src/testing/admission/PodPlugins.ts"
import * as ResourceQuota from "../../../src/testing/admission/ResourceQuota.ts"
import * as StoragePlugins from "../../../src/testing/admission/StoragePlugins.ts"
import { Storage } from "../../../src/api/Storage.ts"

type Json = Readonly<Record<string, any>>

const server = () => {
  const storage = new Storage(1000)
  const put = (collection: string, name: string, fields: Json, namespace = "") =>
    storage.put(collection, namespace === "" ? name : `${namespace}/${name}`, namespace, {
      metadata: { name, ...fields["metadata"] },
      ...Object.fromEntries(Object.entries(fields).filter(([key]) => key !== "metadata"))
    } as never)
  return { storage, put, server: { storage } as unknown as Admission.Server }
}

const about = (collection: string, object: Json, fields: Json = {}): Admission.Attributes => {
  const kinds: Json = { pods: "Pod", persistentvolumeclaims: "PersistentVolumeClaim" }
  return {
    operation: "CREATE",
    resource: { group: "", version: "v1", plural: collection, kind: kinds[collection], collection },
    kind: { group: "", version: "v1", kind: kinds[collection] },
    subresource: "",
    namespace: "ns",
    name: "x",
    object,
    oldObject: undefined,
    dryRun: false,
    ...fields
  } as never
}

const handles = (plugin: Admission.Plugin, attributes: Admission.Attributes) => plugin.handles?.(attributes) ?? true

const mutated = (plugin: Admission.Plugin, attributes: Admission.Attributes) =>
  Effect.map(
    Effect.result(plugin.mutate!(attributes, attributes.object!)),
    (result) => Result.isSuccess(result) ? result.success as unknown as Json : result.failure.body.message
  )

const verdict = (plugin: Admission.Plugin, attributes: Admission.Attributes) =>
  Effect.map(
    Effect.result(plugin.validate!(attributes)),
    (result) => Result.isSuccess(result) ? "fine" : result.failure.body.message
  )

const pod = (spec: Json = {}): Json => ({ metadata: { name: "x" }, spec: { containers: [{ name: "c" }], ...spec } })

describe("Plugins", () => {
  it("what is worked out of a collection is worked out once, until the collection changes", () => {
    const { put, storage } = server()
    let compiled = 0
    const names = Derived.collection(storage, "things", ({ metadata }) => {
      compiled += 1
      return metadata.name
    })
    assert.deepStrictEqual(names(), [])
    put("things", "b", {})
    put("things", "a", {})
    assert.deepStrictEqual(names(), ["a", "b"])
    assert.strictEqual(names(), names())
    put("others", "c", {})
    put("things", "c", {})
    assert.deepStrictEqual(names(), ["a", "b", "c"])
    assert.strictEqual(compiled, 3, "what stays is not compiled again")
    storage.remove("things", "a", "")
    assert.deepStrictEqual(names(), ["b", "c"])
  })

  it("nothing is asked of a plugin that nothing is configured for", () => {
    const { server: own } = server()
    assert.isFalse(handles(LimitRanger.plugin(own), about("pods", pod())))
    assert.isFalse(handles(ResourceQuota.plugin(own), about("pods", pod())))
    assert.isFalse(handles(StoragePlugins.defaultStorageClass(own), about("persistentvolumeclaims", {})))
    assert.isFalse(handles(PodPlugins.runtimeClass(own), about("pods", pod())))
    for (const plugin of [PodPlugins.priority(own), PodPlugins.defaultTolerationSeconds()]) {
      assert.isTrue(handles(plugin, about("pods", pod())))
      assert.isFalse(handles(plugin, about("pods", pod(), { subresource: "status" })))
      assert.isFalse(handles(plugin, about("configmaps", {})))
    }
  })

  it.effect("LimitRanger gives what there is, and nothing that is empty", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      put("limitranges", "r", { spec: { limits: [{ type: "Container", defaultRequest: { cpu: "0" } }] } }, "ns")
      const attributes = about("pods", pod({ containers: [{ name: "c" }] }))
      const mutated: Json = yield* LimitRanger.plugin(own).mutate!(attributes, attributes.object!)
      assert.deepStrictEqual(mutated["spec"].containers[0].resources, { requests: { cpu: "0" } })
    }))

  it.effect("LimitRanger knows Pods that are created and resized, and leaves those that go alone", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      put("limitranges", "r", { spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } }, "ns")
      const plugin = LimitRanger.plugin(own)
      const big = pod({ containers: [{ name: "c", resources: { limits: { cpu: "2" } } }] })
      const refused = "pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2"
      assert.strictEqual(yield* verdict(plugin, about("pods", big)), refused)
      assert.isFalse(handles(plugin, about("pods", big, { operation: "UPDATE" })))
      assert.isTrue(handles(plugin, about("pods", big, { operation: "UPDATE", subresource: "resize" })))
      const going = { metadata: { deletionTimestamp: "now" } }
      assert.isFalse(
        handles(plugin, about("pods", big, { operation: "UPDATE", subresource: "resize", oldObject: going }))
      )
      assert.strictEqual(
        yield* verdict(plugin, about("pods", pod())),
        "pods \"x\" is forbidden: maximum cpu usage per Container is 1.  No limit is specified"
      )
    }))

  it.effect("what is just on the bound is within it", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      const bounds = { min: { cpu: "250m" }, max: { cpu: "1" }, maxLimitRequestRatio: { cpu: "4" } }
      put("limitranges", "r", { spec: { limits: [{ type: "Container", ...bounds }] } }, "ns")
      const limited = (request: string, limit: string) =>
        verdict(
          LimitRanger.plugin(own),
          about("pods", pod({ containers: [{ resources: { requests: { cpu: request }, limits: { cpu: limit } } }] }))
        )
      assert.strictEqual(yield* limited("250m", "1"), "fine")
      assert.include(
        (yield* limited("249m", "1")) ?? "",
        "minimum cpu usage per Container is 250m, but request is 249m"
      )
      assert.include(
        (yield* limited("250m", "1001m")) ?? "",
        "maximum cpu usage per Container is 1, but limit is 1001m"
      )
      assert.include((yield* limited("249m", "1")) ?? "", "provided ratio is 4.016064")
    }))

  it.effect("several faults are told together, in the order of their names", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      const min = { memory: "1Mi", cpu: "1" }
      put("limitranges", "r", { spec: { limits: [{ type: "Container", min }] } }, "ns")
      assert.strictEqual(
        yield* verdict(LimitRanger.plugin(own), about("pods", pod())),
        "pods \"x\" is forbidden: [minimum cpu usage per Container is 1.  No request is specified, " +
          "minimum memory usage per Container is 1Mi.  No request is specified]"
      )
    }))

  it.effect("a quota without a status allows everything; one whose use is unknown nothing", () =>
    Effect.gen(function*() {
      const { put, server: own, storage } = server()
      const plugin = ResourceQuota.plugin(own)
      put("resourcequotas", "q", { spec: { hard: { pods: "1" } } }, "ns")
      assert.strictEqual(yield* verdict(plugin, about("pods", pod())), "fine")
      put("resourcequotas", "q", { status: { hard: { pods: "1" } } }, "ns")
      assert.strictEqual(
        yield* verdict(plugin, about("pods", pod())),
        "pods \"x\" is forbidden: status unknown for quota: q, resources: pods"
      )
      put("resourcequotas", "q", { status: { hard: { pods: "1" }, used: { pods: "0" } } }, "ns")
      const { revision } = storage
      assert.strictEqual(yield* verdict(plugin, about("pods", pod(), { dryRun: true })), "fine")
      assert.strictEqual(storage.revision, revision, "a dry run is not counted")
      assert.strictEqual(yield* verdict(plugin, about("pods", pod())), "fine")
      assert.strictEqual(
        yield* verdict(plugin, about("pods", pod())),
        "pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
      )
    }))

  it.effect("of two quotas none is charged if the other refuses", () =>
    Effect.gen(function*() {
      const { put, server: own, storage } = server()
      put("resourcequotas", "a", { status: { hard: { pods: "9" }, used: { pods: "0" } } }, "ns")
      put("resourcequotas", "b", { status: { hard: { pods: "0" }, used: { pods: "0" } } }, "ns")
      const { revision } = storage
      assert.include(yield* verdict(ResourceQuota.plugin(own), about("pods", pod())), "exceeded quota: b")
      assert.strictEqual(storage.revision, revision)
    }))

  it.effect("the older of two quotas is asked first", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      const full = { status: { hard: { pods: "0" }, used: { pods: "0" } } }
      put("resourcequotas", "a", { ...full, metadata: { creationTimestamp: "2026-01-01T00:00:02Z" } }, "ns")
      put("resourcequotas", "b", { ...full, metadata: { creationTimestamp: "2026-01-01T00:00:01Z" } }, "ns")
      assert.include(yield* verdict(ResourceQuota.plugin(own), about("pods", pod())), "exceeded quota: b")
    }))

  it.effect("of several default priority classes the lowest counts; an update keeps what was computed", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      const plugin = PodPlugins.priority(own)
      put("priorityclasses.scheduling.k8s.io", "high", { value: 10, globalDefault: true })
      put("priorityclasses.scheduling.k8s.io", "low", { value: 5, globalDefault: true })
      put("priorityclasses.scheduling.k8s.io", "system-node-critical", { value: 2_000_001_000 })
      const created = yield* mutated(plugin, about("pods", pod()))
      assert.deepInclude((created as Json)["spec"], { priority: 5, priorityClassName: "low" })
      const node = yield* mutated(plugin, about("pods", pod({ priorityClassName: "system-node-critical" })))
      assert.strictEqual((node as Json)["spec"].priority, 2_000_001_000)
      const kept = yield* mutated(
        plugin,
        about("pods", pod(), { operation: "UPDATE", oldObject: pod({ priority: 7, preemptionPolicy: "Never" }) })
      )
      assert.deepInclude((kept as Json)["spec"], { priority: 7, preemptionPolicy: "Never" })
    }))

  it.effect("a runtime class gives its overhead and nodes, unless the Pod says otherwise", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      const plugin = PodPlugins.runtimeClass(own)
      put("runtimeclasses.node.k8s.io", "vm", {
        overhead: { podFixed: { cpu: "100m" } },
        scheduling: { nodeSelector: { kind: "vm" }, tolerations: [{ key: "vm", operator: "Exists" }] }
      })
      const plain = yield* mutated(plugin, about("pods", pod({ runtimeClassName: "vm" })))
      assert.deepInclude((plain as Json)["spec"], { overhead: { cpu: "100m" }, nodeSelector: { kind: "vm" } })
      assert.strictEqual(
        yield* mutated(plugin, about("pods", pod({ runtimeClassName: "vm", nodeSelector: { kind: "metal" } }))),
        "pods \"x\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[kind] = vm; " +
          "pod.spec.nodeSelector[kind] = metal"
      )
      assert.strictEqual(
        yield* verdict(plugin, about("pods", pod({ overhead: { cpu: "1" } }))),
        "pods \"x\" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
      )
    }))

  it.effect("the newest default class is taken, and a claim grows only where its class lets it", () =>
    Effect.gen(function*() {
      const { put, server: own } = server()
      const classes = "storageclasses.storage.k8s.io"
      const marked = (creationTimestamp: string) => ({
        metadata: { creationTimestamp, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } }
      })
      put(classes, "old", marked("2026-01-01T00:00:00Z"))
      put(classes, "new", { ...marked("2026-01-02T00:00:00Z"), allowVolumeExpansion: true })
      const claim = (storage: string, storageClassName?: string): Json => ({
        metadata: { name: "x" },
        spec: { resources: { requests: { storage } }, ...(storageClassName === undefined ? {} : { storageClassName }) },
        status: { phase: "Bound" }
      })
      const claims = "persistentvolumeclaims"
      const given = yield* mutated(StoragePlugins.defaultStorageClass(own), about(claims, claim("1Gi")))
      assert.strictEqual((given as Json)["spec"].storageClassName, "new")
      const resize = StoragePlugins.persistentVolumeClaimResize(own)
      const growing = (next: Json, previous: Json) =>
        verdict(resize, about(claims, next, { operation: "UPDATE", oldObject: previous }))
      assert.strictEqual(yield* growing(claim("2Gi", "new"), claim("1Gi", "new")), "fine")
      assert.strictEqual(yield* growing(claim("1Gi", "old"), claim("2Gi", "old")), "fine", "it shrinks")
      assert.match((yield* growing(claim("2Gi", "old"), claim("1Gi", "old"))) ?? "", /must support resize$/)
      assert.match(
        (yield* growing(claim("2Gi", "new"), { ...claim("1Gi", "new"), status: { phase: "Pending" } })) ?? "",
        /Only bound persistent volume claims can be expanded$/
      )
    }))
})
