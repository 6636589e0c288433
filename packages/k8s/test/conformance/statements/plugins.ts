/** The admission plugins that a server has compiled in and switched on: statement 131. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const mergePatch = "application/merge-patch+json"
const dryRun = { dryRun: "All" }

type Json = Readonly<Record<string, any>>

/** Requests in a namespace of their own. */
const scene = Effect.gen(function*() {
  const { namespace, request } = yield* Target
  const ns = yield* namespace
  const path = `/api/v1/namespaces/${ns}`
  return {
    ns,
    path,
    /** A Pod with one container for each of the resources given. */
    pod: (name: string, resources: ReadonlyArray<Json>, spec: Json = {}, query: Record<string, string> = dryRun) =>
      request("POST", `${path}/pods`, {
        query,
        body: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name },
          spec: { containers: resources.map((own, n) => ({ name: `c${n}`, image: "i", resources: own })), ...spec }
        }
      }),
    claim: (name: string, storage: string, spec: Json = {}, query: Record<string, string> = dryRun) =>
      request("POST", `${path}/persistentvolumeclaims`, {
        query,
        body: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...spec }
        }
      })
  }
})

/** Installs a cluster-scoped object for as long as the statement runs. */
const install = Effect.fnUntraced(
  function*(collection: string, body: Json & { readonly metadata: Json }) {
    const { request } = yield* Target
    const made = yield* request("POST", collection, { body })
    assert.strictEqual(made.status, 201, JSON.stringify(made.body))
    yield* Effect.addFinalizer(() => Effect.ignore(request("DELETE", `${collection}/${body.metadata.name}`)))
  }
)

const refusal = ({ error, status }: Answer): string => `${status} ${error.message}`

export const plugins = [
  statement("131p-a", "LimitRanger gives containers what they lack, and refuses what is out of range", {}, function*() {
    const { request, until } = yield* Target
    const { claim, path, pod } = yield* scene
    const limits = [
      {
        type: "Container",
        default: { memory: "64Mi" },
        defaultRequest: { cpu: "100m" },
        max: { memory: "1Gi", cpu: "2" },
        min: { cpu: "10m" },
        maxLimitRequestRatio: { cpu: "30" }
      },
      { type: "Pod", max: { cpu: "5" } },
      { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "10Gi" } }
    ]
    const { object: range } = yield* request("POST", `${path}/limitranges`, {
      body: { apiVersion: "v1", kind: "LimitRange", metadata: { name: "r" }, spec: { limits } }
    })
    assert.deepStrictEqual(range.spec.limits[0].default, { cpu: "2", memory: "64Mi" }, "the maximum is a default")
    assert.deepStrictEqual(range.spec.limits[0].defaultRequest, { cpu: "100m", memory: "64Mi" })
    const { object } = yield* until(
      pod("a", [{}, { limits: { memory: "32Mi" } }]),
      ({ object }) => object.metadata.annotations !== undefined
    )
    assert.strictEqual(
      object.metadata.annotations?.["kubernetes.io/limit-ranger"],
      "LimitRanger plugin set: cpu, memory request for container c0; cpu, memory limit for container c0; " +
        "cpu request for container c1; cpu limit for container c1"
    )
    assert.deepStrictEqual(object.spec.containers.map(({ resources }: Json) => resources), [
      { limits: { cpu: "2", memory: "64Mi" }, requests: { cpu: "100m", memory: "64Mi" } },
      { limits: { cpu: "2", memory: "32Mi" }, requests: { cpu: "100m", memory: "32Mi" } }
    ])
    assert.strictEqual(object.status.qosClass, "Burstable")
    const forbidden = "403 pods \"b\" is forbidden: "
    const big = yield* pod("b", [{ limits: { cpu: "2", memory: "2Gi" }, requests: { cpu: "1" } }])
    assert.strictEqual(
      refusal(big),
      `${forbidden}maximum memory usage per Container is 1Gi, but limit is 2Gi`
    )
    assert.deepStrictEqual(big.error.details as Json, { name: "b", kind: "pods" })
    assert.strictEqual(
      refusal(yield* pod("b", [{ limits: { cpu: "10m" }, requests: { cpu: "5m" } }])),
      `${forbidden}minimum cpu usage per Container is 10m, but request is 5m`
    )
    assert.strictEqual(
      refusal(yield* pod("b", [{ limits: { cpu: "2" }, requests: { cpu: "50m" } }])),
      `${forbidden}cpu max limit to request ratio per Container is 30, but provided ratio is 40.000000`
    )
    const two = { limits: { cpu: "2" }, requests: { cpu: "2" } }
    assert.strictEqual(
      refusal(yield* pod("b", [two, two, two])),
      `${forbidden}maximum cpu usage per Pod is 5, but limit is 6`
    )
    assert.strictEqual((yield* claim("c", "5Gi")).status, 201)
    assert.strictEqual(
      refusal(yield* claim("c", "500Mi")),
      "403 persistentvolumeclaims \"c\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but " +
        "request is 500Mi"
    )
    assert.match(
      refusal(yield* claim("c", "11Gi")),
      /maximum storage usage per PersistentVolumeClaim is 10Gi, but request/
    )
  }),

  statement("131p-b", "ResourceQuota lets pass what is left, counts it, and refuses the rest", {
    note: "what is allowed and used is in the status, which a controller fills in and keeps right"
  }, function*() {
    const { minor, request, until } = yield* Target
    const { ns, path, pod } = yield* scene
    const hard = {
      pods: "2",
      "requests.cpu": "1",
      "limits.memory": "1Gi",
      services: "1",
      "services.nodeports": "1",
      "count/deployments.apps": "1"
    }
    const used = Object.fromEntries(Object.keys(hard).map((name) => [name, "0"]))
    const quota = `${path}/resourcequotas/q`
    yield* request("POST", `${path}/resourcequotas`, {
      body: { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec: { hard } }
    })
    yield* request("PATCH", `${quota}/status`, { contentType: mergePatch, body: { status: { hard, used } } })
    const counted = Effect.map(request("GET", quota), ({ object }) => object.status.used as Json)
    const small = { requests: { cpu: "600m" }, limits: { memory: "512Mi" } }
    const unspecified = yield* until(
      pod("a", [{}]),
      ({ error, status }) => status === 403 && error.message?.includes("status unknown") !== true
    )
    const missing = minor >= 25 ? "limits.memory for: c0; requests.cpu for: c0" : "limits.memory,requests.cpu"
    assert.strictEqual(refusal(unspecified), `403 pods "a" is forbidden: failed quota: q: must specify ${missing}`)
    assert.strictEqual((yield* pod("a", [small])).status, 201)
    assert.deepStrictEqual(yield* counted, used, "a dry run is not counted")
    assert.strictEqual((yield* pod("a", [small], {}, {})).status, 201)
    assert.deepInclude(yield* counted, { pods: "1", "requests.cpu": "600m", "limits.memory": "512Mi" })
    const exceeding = yield* pod("b", [{ requests: { cpu: "600m" }, limits: { memory: "768Mi" } }])
    assert.strictEqual(
      refusal(exceeding),
      "403 pods \"b\" is forbidden: exceeded quota: q, requested: limits.memory=768Mi,requests.cpu=600m, used: " +
        "limits.memory=512Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1"
    )
    assert.strictEqual(exceeding.error.reason, "Forbidden")
    assert.strictEqual((yield* pod("b", [{ requests: { cpu: "0.1" }, limits: { memory: "1Mi" } }], {}, {})).status, 201)
    assert.deepInclude(yield* counted, { pods: "2", "requests.cpu": "700m", "limits.memory": "513Mi" })
    assert.match(
      refusal(yield* pod("c", [{ requests: { cpu: "1m" }, limits: { memory: "1" } }])),
      /exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2$/
    )
    const service = (name: string, type: string) =>
      request("POST", `${path}/services`, {
        body: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name },
          spec: { type, ports: [{ name: "a", port: 80 }, { name: "b", port: 81 }] }
        }
      })
    assert.match(
      refusal(yield* service("s", "NodePort")),
      /requested: services\.nodeports=2, used: services\.nodeports=0/
    )
    assert.strictEqual((yield* service("s", "ClusterIP")).status, 201)
    const wider = yield* request("PATCH", `${path}/services/s`, {
      contentType: mergePatch,
      body: { spec: { type: "NodePort" } }
    })
    assert.match(refusal(wider), /exceeded quota: q, requested: services\.nodeports=2/, "an update is charged for more")
    const deployment = (name: string) =>
      request("POST", `/apis/apps/v1/namespaces/${ns}/deployments`, {
        body: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name },
          spec: {
            replicas: 0,
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } }
          }
        }
      })
    assert.strictEqual((yield* deployment("d")).status, 201)
    assert.match(
      refusal(yield* deployment("e")),
      /^403 deployments\.apps "e" is forbidden: exceeded quota: q, requested: count\/deployments\.apps=1/
    )
  }),

  statement(
    "131p-c",
    "a Pod gets its priority from its class and tolerates failing nodes for five minutes",
    {},
    function*() {
      const { unique, until } = yield* Target
      const { pod } = yield* scene
      const plain = yield* pod("p", [{}])
      assert.deepInclude(plain.object.spec, { priority: 0, preemptionPolicy: "PreemptLowerPriority" })
      assert.deepStrictEqual(
        plain.object.spec.tolerations,
        ["not-ready", "unreachable"].map((key) => ({
          key: `node.kubernetes.io/${key}`,
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: 300
        }))
      )
      const tolerations = [{ operator: "Exists" }]
      assert.deepStrictEqual((yield* pod("p", [{}], { tolerations })).object.spec.tolerations, tolerations)
      const forbidden = "403 pods \"p\" is forbidden: "
      const must = "must not be provided in pod spec; priority admission controller computed"
      assert.strictEqual(
        refusal(yield* pod("p", [{}], { priority: 5 })),
        `${forbidden}the integer value of priority (5) ${must} 0 from the given PriorityClass name`
      )
      assert.strictEqual(
        refusal(yield* pod("p", [{}], { priorityClassName: "nowhere" })),
        `${forbidden}no PriorityClass with name nowhere was found`
      )
      const name = unique("high")
      yield* install("/apis/scheduling.k8s.io/v1/priorityclasses", {
        apiVersion: "scheduling.k8s.io/v1",
        kind: "PriorityClass",
        metadata: { name },
        value: 1000,
        preemptionPolicy: "Never"
      })
      const ranked = yield* until(pod("p", [{}], { priorityClassName: name }), ({ status }) => status === 201)
      assert.deepInclude(ranked.object.spec, { priority: 1000, priorityClassName: name, preemptionPolicy: "Never" })
      assert.strictEqual(
        refusal(yield* pod("p", [{}], { priorityClassName: name, preemptionPolicy: "PreemptLowerPriority" })),
        `${forbidden}the string value of PreemptionPolicy (PreemptLowerPriority) ${must} Never from the given ` +
          "PriorityClass name"
      )
      assert.strictEqual(
        refusal(yield* pod("p", [{}], { runtimeClassName: "nowhere" })),
        `${forbidden}pod rejected: RuntimeClass "nowhere" not found`
      )
    }
  ),

  statement("131p-d", "claims and ingresses get the default class; volumes and claims a finalizer while in use", {
    note: "a new node is tainted until it is ready"
  }, function*() {
    const { request, unique, until } = yield* Target
    const { claim, ns } = yield* scene
    const before = yield* claim("c", "1Gi")
    assert.deepStrictEqual(before.object.metadata.finalizers, ["kubernetes.io/pvc-protection"])
    assert.isUndefined(before.object.spec.storageClassName)
    const name = unique("class")
    yield* install("/apis/storage.k8s.io/v1/storageclasses", {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "example.com/none"
    })
    yield* until(claim("c", "1Gi"), ({ object }) => object.spec.storageClassName === name)
    assert.strictEqual((yield* claim("c", "1Gi", { storageClassName: "" })).object.spec.storageClassName, "")
    yield* install("/apis/networking.k8s.io/v1/ingressclasses", {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name, annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
      spec: { controller: "example.com/none" }
    })
    const ingress = (metadata: Json, spec: Json = {}) =>
      request("POST", `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses`, {
        query: dryRun,
        body: {
          apiVersion: "networking.k8s.io/v1",
          kind: "Ingress",
          metadata: { name: "i", ...metadata },
          spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } }, ...spec }
        }
      })
    yield* until(ingress({}), ({ object }) => object.spec.ingressClassName === name)
    const annotated = yield* ingress({ annotations: { "kubernetes.io/ingress.class": "old" } })
    assert.isUndefined(annotated.object.spec.ingressClassName)
    const volume = yield* request("POST", "/api/v1/persistentvolumes", {
      query: dryRun,
      body: {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name },
        spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } }
      }
    })
    assert.deepStrictEqual(volume.object.metadata.finalizers, ["kubernetes.io/pv-protection"])
    const node = yield* request("POST", "/api/v1/nodes", {
      query: dryRun,
      body: { apiVersion: "v1", kind: "Node", metadata: { name: unique("node") } }
    })
    assert.deepStrictEqual(node.object.spec.taints, [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }])
  })
]
