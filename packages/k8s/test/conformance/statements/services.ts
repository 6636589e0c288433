/** Endpoints, disruption budgets, claims in use, service accounts and quotas: statements 157 to 161. */
import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import { container, type Json, names, ownerOf, workloads } from "../Workloads.ts"

const web = { app: "web" }

const port = { name: "http", port: 80, targetPort: 8080, protocol: "TCP" }

const targetOf = ({ metadata }: Json) => ({
  kind: "Pod",
  name: metadata.name,
  namespace: metadata.namespace,
  uid: metadata.uid
})

export const services = [
  statement("157a", "Endpoints list the Pods a Service selects by their readiness, and go with it", {
    controllers: true
  }, function*() {
    const { create, get, gone, listed, minor, pod, ready, remove, so } = yield* workloads
    yield* create("services", "web", { selector: web, ports: [port] }, { labels: { own: "x" } })
    const empty = yield* so("endpoints", "web", ({ metadata }) => metadata.name === "web")
    assert.isUndefined(empty["subsets"])
    assert.strictEqual(empty["metadata"].labels.own, "x")
    yield* pod("one", web, { nodeName: "n1" })
    yield* pod("two", web, { nodeName: "n1" })
    yield* pod("other", { app: "else" }, { nodeName: "n1" })
    yield* ready("one", true, { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] })
    yield* ready("two", false, { podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.2" }] })
    yield* ready("other", true, { podIP: "10.0.0.3", podIPs: [{ ip: "10.0.0.3" }] })
    const { subsets } = yield* so(
      "endpoints",
      "web",
      ({ subsets }) => subsets?.[0]?.addresses?.length === 1 && subsets[0].notReadyAddresses?.length === 1
    )
    assert.lengthOf(subsets, 1)
    assert.deepStrictEqual(subsets[0].ports, [{ name: "http", port: 8080, protocol: "TCP" }])
    const [address] = subsets[0].addresses
    assert.deepInclude(address, { ip: "10.0.0.1", nodeName: "n1" })
    // Until 1.22 a reference also had the Pod's resourceVersion.
    const { resourceVersion, ...target } = address.targetRef
    assert.deepStrictEqual(target, targetOf((yield* get("pods", "one")).object))
    assert.strictEqual(resourceVersion !== undefined, minor < 22)
    assert.strictEqual(subsets[0].notReadyAddresses[0].ip, "10.0.0.2")
    yield* ready("two", true)
    yield* so("endpoints", "web", ({ subsets }) => subsets[0].addresses.length === 2)
    yield* remove("pods", "one", { gracePeriodSeconds: "0" })
    const fewer = yield* so("endpoints", "web", ({ subsets }) => subsets?.[0]?.addresses?.length === 1)
    assert.strictEqual(fewer["subsets"][0].addresses[0].ip, "10.0.0.2")
    yield* remove("services", "web")
    yield* gone("endpoints", "web")
    yield* listed("pods", (items) => items.length === 2)
  }),

  statement("157b", "a Service without a selector has the endpoints that somebody gives it", {
    controllers: true
  }, function*() {
    const { create, get } = yield* workloads
    const { request, sleep } = yield* Target
    const { object: service } = yield* create("services", "outside", { ports: [port] })
    yield* sleep(1000)
    assert.strictEqual((yield* get("endpoints", "outside")).status, 404)
    const path = `/api/v1/namespaces/${service.metadata.namespace}/endpoints`
    const subsets = [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "http", port: 80, protocol: "TCP" }] }]
    const made = yield* request("POST", path, {
      body: { apiVersion: "v1", kind: "Endpoints", metadata: { name: "outside" }, subsets }
    })
    assert.strictEqual(made.status, 201)
    yield* sleep(1000)
    assert.deepStrictEqual((yield* get("endpoints", "outside")).object["subsets"], subsets)
  }),

  statement("157c", "EndpointSlices say of each Pod whether it is ready, serves and ends", {
    controllers: true,
    since: 22
  }, function*() {
    const { create, listed, pod, ready } = yield* workloads
    const { object: service } = yield* create("services", "web", { selector: web, ports: [port] })
    yield* pod("one", web, { nodeName: "n1" })
    yield* ready("one", true, { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] })
    const [slice] = yield* listed("endpointslices", ([first]) => first?.["endpoints"]?.length === 1)
    assert.match(slice!["metadata"].name, /^web-[a-z0-9]{5}$/)
    assert.deepInclude(slice!["metadata"].labels, {
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"
    })
    assert.strictEqual(ownerOf(slice!)["uid"], service.metadata.uid)
    assert.strictEqual(slice!["addressType"], "IPv4")
    const [endpoint] = slice!["endpoints"]
    assert.deepStrictEqual(endpoint.addresses, ["10.0.0.1"])
    assert.deepStrictEqual(endpoint.conditions, { ready: true, serving: true, terminating: false })
    assert.strictEqual(endpoint.nodeName, "n1")
  }),

  statement("158a", "a disruption budget counts healthy Pods, and evictions spend what it allows", {
    controllers: true,
    since: 22,
    note: "the real one of 1.20 serves policy/v1beta1 only"
  }, function*() {
    const { create, namespace, pod, ready, so } = yield* workloads
    const { request } = yield* Target
    for (const name of ["a", "b"]) {
      yield* pod(name, web, { nodeName: "n1" })
      yield* ready(name)
    }
    yield* create("poddisruptionbudgets", "web", { minAvailable: 1, selector: { matchLabels: web } })
    const budget = yield* so("poddisruptionbudgets", "web", ({ status }) => status?.disruptionsAllowed === 1)
    assert.deepInclude(budget["status"], { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 })
    const evict = (name: string) =>
      request("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
        body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } }
      })
    assert.strictEqual((yield* evict("a")).status, 201)
    const refused = yield* evict("b")
    assert.strictEqual(refused.status, 429)
    assert.strictEqual(refused.error.reason, "TooManyRequests")
    assert.match(refused.error.message ?? "", /^Cannot evict pod as it would violate the pod's disruption budget\.$/)
  }),

  statement("159a", "a claim that a Pod uses stays until the Pod is gone", { controllers: true }, function*() {
    const { create, get, gone, pod, remove } = yield* workloads
    const { object: claim } = yield* create("persistentvolumeclaims", "data", {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } }
    })
    assert.deepStrictEqual(claim.metadata.finalizers, ["kubernetes.io/pvc-protection"])
    yield* pod("user", {}, {
      nodeName: "n1",
      containers: [container("nginx:1")],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }]
    })
    const { object: ending } = yield* remove("persistentvolumeclaims", "data")
    assert.isDefined(ending.metadata.deletionTimestamp)
    yield* (yield* Target).sleep(1500)
    assert.strictEqual((yield* get("persistentvolumeclaims", "data")).status, 200)
    yield* remove("pods", "user", { gracePeriodSeconds: "0" })
    yield* gone("persistentvolumeclaims", "data")
    yield* create("persistentvolumeclaims", "free", {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } }
    })
    yield* remove("persistentvolumeclaims", "free")
    yield* gone("persistentvolumeclaims", "free")
  }),

  statement("160a", "a namespace has a service account and the certificates to trust, and has them again", {
    controllers: true
  }, function*() {
    const { get, listed, remove, so } = yield* workloads
    const [account] = yield* listed("serviceaccounts", ({ length }) => length === 1)
    assert.deepStrictEqual(names([account!]), ["default"])
    const trusted = yield* so("configmaps", "kube-root-ca.crt", () => true)
    assert.deepStrictEqual(Object.keys(trusted["data"]), ["ca.crt"])
    yield* remove("serviceaccounts", "default")
    const again = yield* so("serviceaccounts", "default", ({ metadata }) => metadata.uid !== account!["metadata"].uid)
    assert.strictEqual((yield* get("serviceaccounts", "default")).object.metadata.uid, again["metadata"].uid)
    yield* remove("configmaps", "kube-root-ca.crt")
    yield* so("configmaps", "kube-root-ca.crt", ({ metadata }) => metadata.uid !== trusted["metadata"].uid)
  }),

  statement("161a", "a quota says what its namespace uses, and gives back what is over or gone", {
    controllers: true
  }, function*() {
    const { create, ended, patch, pod, podsKnown, remove, so } = yield* workloads
    const { until } = yield* Target
    const asking = (cpu: string) => ({
      containers: [{ ...container("nginx:1"), resources: { requests: { cpu } } }]
    })
    const uses = (wanted: Json) =>
      so(
        "resourcequotas",
        "quota",
        ({ status }) => Object.entries(wanted).every(([name, amount]) => status.used?.[name] === amount)
      )
    yield* pod("early", {}, asking("100m"))
    // A Pod that the controller has not heard of yet when it counts is counted some minutes later.
    yield* podsKnown
    const hard = { pods: "2", "requests.cpu": "1", services: "1", "count/deployments.apps": "0" }
    yield* create("resourcequotas", "quota", { hard })
    const used = { pods: "1", "requests.cpu": "100m", services: "0", "count/deployments.apps": "0" }
    const counted = yield* uses(used)
    assert.deepStrictEqual(counted["status"], { hard, used })
    // Who admits has a cache of quotas, and lets pass what it knows no limit of.
    yield* until(
      pod("greedy", {}, asking("950m"), { dryRun: "All" }),
      ({ error }) => error.message?.includes("exceeded quota") === true
    )
    const greedy = yield* pod("greedy", {}, asking("950m"))
    assert.strictEqual(greedy.status, 403)
    assert.include(
      greedy.object.message,
      "exceeded quota: quota, requested: requests.cpu=950m, used: requests.cpu=100m, limited: requests.cpu=1"
    )
    const none = yield* create("deployments", "none", {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [container("nginx:1")] }
      }
    })
    assert.strictEqual(none.status, 403)
    yield* pod("late", {}, asking("200m"))
    yield* uses({ pods: "2", "requests.cpu": "300m" })
    assert.strictEqual((yield* pod("third", {}, asking("1m"))).status, 403)
    yield* ended("late", "Succeeded")
    yield* uses({ pods: "1", "requests.cpu": "100m" })
    yield* remove("pods", "early", { gracePeriodSeconds: "0" })
    yield* uses({ pods: "0", "requests.cpu": "0" })
    yield* patch("resourcequotas", "quota", { spec: { hard: { pods: "5" } } })
    const wider = yield* so("resourcequotas", "quota", ({ status }) => status.hard.pods === "5")
    assert.strictEqual(wider["status"].used.pods, "0")
  })
]
