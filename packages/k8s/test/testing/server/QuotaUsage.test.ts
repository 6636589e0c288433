import { assert, describe, it } from "@effect/vitest"
import * as PodResources from "../../../src/testing/server/PodResources.ts"
import * as QuotaUsage from "../../../src/testing/server/QuotaUsage.ts"
import * as Quantity from "../../../src/api/Quantity.ts"
import { random } from "../support/random.ts"

const pod = (spec: object, fields: object = {}) => ({ metadata: {}, spec, ...fields }) as never

const container = (requests: object, fields: object = {}) => ({ name: "c", resources: { requests }, ...fields })

describe("QuotaUsage", () => {
  it("a sidecar counts beside the containers, an init container only if it needs more than all of them", () => {
    const requests = (initContainers: ReadonlyArray<object>) =>
      PodResources.requests(pod({ containers: [container({ cpu: "1" }), container({ cpu: "500m" })], initContainers }))
    assert.deepStrictEqual(requests([]), { cpu: "1500m" })
    assert.deepStrictEqual(requests([container({ cpu: "1" })]), { cpu: "1500m" })
    assert.deepStrictEqual(requests([container({ cpu: "2" })]), { cpu: "2" })
    const sidecar = container({ cpu: "1" }, { restartPolicy: "Always" })
    assert.deepStrictEqual(requests([sidecar]), { cpu: "2500m" })
    assert.deepStrictEqual(requests([sidecar, container({ cpu: "2" })]), { cpu: "3" })
    assert.deepStrictEqual(requests([container({ cpu: "2" }), sidecar]), { cpu: "2500m" })
  })

  it("a Pod that is over uses nothing but its name", () => {
    const { usage } = QuotaUsage.evaluatorOf("pods")
    const spec = { containers: [container({ cpu: "1", "example.com/gpu": "2", "hugepages-2Mi": "4Mi" })] }
    assert.deepStrictEqual(usage(pod(spec), 0), {
      "count/pods": "1",
      pods: "1",
      cpu: "1",
      "requests.cpu": "1",
      "requests.example.com/gpu": "2",
      "hugepages-2Mi": "4Mi",
      "requests.hugepages-2Mi": "4Mi"
    })
    assert.deepStrictEqual(usage(pod(spec, { status: { phase: "Succeeded" } }), 0), { "count/pods": "1" })
    const deleted = { metadata: { deletionTimestamp: "1970-01-01T00:00:10Z", deletionGracePeriodSeconds: 5 } }
    assert.property(usage(pod(spec, deleted), 15_000), "pods")
    assert.notProperty(usage(pod(spec, deleted), 15_001), "pods")
  })

  it("scopes tell Pods apart", () => {
    const { inScope } = QuotaUsage.evaluatorOf("pods")
    const scope = (name: string, operator = "Exists", values: ReadonlyArray<string> = []) => ({
      name,
      operator,
      values
    })
    const plain = pod({ containers: [{}], priorityClassName: "high" })
    const busy = pod({ containers: [container({ cpu: "1" })], activeDeadlineSeconds: 5 })
    // Nothing of something is nothing.
    assert.isTrue(inScope(scope("BestEffort"), pod({ containers: [container({ cpu: "0" })] })))
    const within = (name: string) => [inScope(scope(name), plain), inScope(scope(name), busy)]
    assert.deepStrictEqual(within("BestEffort"), [true, false])
    assert.deepStrictEqual(within("NotBestEffort"), [false, true])
    assert.deepStrictEqual(within("Terminating"), [false, true])
    assert.deepStrictEqual(within("NotTerminating"), [true, false])
    assert.deepStrictEqual(within("PriorityClass"), [true, false])
    assert.isTrue(inScope(scope("PriorityClass", "In", ["high"]), plain))
    assert.isFalse(inScope(scope("PriorityClass", "NotIn", ["high"]), plain))
    assert.isFalse(QuotaUsage.evaluatorOf("configmaps").inScope(scope("BestEffort"), plain))
  })

  it("claims count for all and for their class, by the larger of what is asked and given", () => {
    const { concerns, usage } = QuotaUsage.evaluatorOf("persistentvolumeclaims")
    const claim = {
      metadata: {},
      spec: { storageClassName: "fast", resources: { requests: { storage: "5Gi" } } },
      status: { allocatedResources: { storage: "6Gi" } }
    }
    assert.deepStrictEqual(usage(claim as never, 0), {
      "count/persistentvolumeclaims": "1",
      persistentvolumeclaims: "1",
      "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
      "requests.storage": "6Gi",
      "fast.storageclass.storage.k8s.io/requests.storage": "6Gi"
    })
    assert.isTrue(concerns("slow.storageclass.storage.k8s.io/requests.storage"))
    assert.isFalse(concerns("requests.cpu"))
  })

  it("everything else counts, old kinds under their old name as well", () => {
    const used = (collection: string) => Object.keys(QuotaUsage.evaluatorOf(collection).usage({} as never, 0))
    assert.deepStrictEqual(used("widgets.example.com"), ["count/widgets.example.com"])
    assert.deepStrictEqual(used("secrets"), ["count/secrets", "secrets"])
  })

  it("amounts add up and come back, whatever they are written in", () => {
    const seed = 3
    const { int, pick } = random(seed)
    const amount = () => `${int(5000)}${pick(["", "m", "k", "M", "Ki", "Mi", "u"])}`
    for (let run = 0; run < 500; run++) {
      const [a, b] = [amount(), amount()]
      const sum = Quantity.add(a, b)
      assert.strictEqual(
        Quantity.billionths(sum),
        Quantity.billionths(a) + Quantity.billionths(b),
        `seed ${seed}: ${a} + ${b}`
      )
      assert.strictEqual(Quantity.compare(Quantity.subtract(sum, b), a), 0, `seed ${seed}: ${sum} - ${b}`)
      assert.strictEqual(Quantity.canonical(sum), sum, "in the form a server writes")
    }
    assert.strictEqual(Quantity.add("0", "1Gi"), "1Gi")
    assert.strictEqual(Quantity.add("512Mi", "1Mi"), "513Mi")
    assert.strictEqual(Quantity.subtract("1", "1500m"), "-500m")
  })
})
