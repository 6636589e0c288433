import { assert, describe, it } from "@effect/vitest"
import * as Tables from "../../../src/kinds/tables.ts"
import * as ApiServiceRules from "../../../src/testing/aggregation/ApiServiceRules.ts"
import * as ApiServices from "../../../src/testing/aggregation/ApiServices.ts"
import * as FieldError from "../../../src/schema/FieldError.ts"
import { RandomJson } from "../support/RandomJson.ts"

const service = (group: string, version: string, spec: object = {}) => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `${version}.${group}`, uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: { group, version, groupPriorityMinimum: 10, versionPriority: 10, ...spec }
})

const names = (services: ReadonlyArray<ReturnType<typeof service>>) =>
  ApiServices.groups(services).map(({ name, versions }) => `${name}: ${versions.join(" ")}`)

describe("ApiServices", () => {
  it("every group version of the server's own has one", () => {
    const initial = ApiServices.initial(Tables.groups)
    const found = initial.map(({ metadata: { name } }) => name)
    const wanted = Tables.groups.filter(({ name }) => name !== "apiregistration.k8s.io")
      .flatMap(({ name, versions }) => versions.map((version) => `${version}.${name}`))
    assert.sameMembers(found, wanted)
    for (const own of initial) assert.deepStrictEqual(ApiServiceRules.strategy.validate!(own), [])
    assert.strictEqual(ApiServices.groups(initial)[1]!.name, "apps")
  })

  it("groups go by priority, then by name; versions by priority, then as versions do", () => {
    assert.deepStrictEqual(
      names([
        service("b", "v1", { groupPriorityMinimum: 5 }),
        service("a", "v1"),
        service("b", "v2beta1", { groupPriorityMinimum: 20 }),
        service("c", "v1beta1"),
        service("c", "v2"),
        service("c", "v1"),
        service("c", "v1alpha1", { versionPriority: 11 })
      ]),
      ["apiregistration.k8s.io: v1", "b: v1 v2beta1", "a: v1", "c: v1alpha1 v2 v1 v1beta1"]
    )
  })

  it("the order does not depend on the order of the objects", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = new RandomJson(seed)
      const services = Array.from({ length: 12 }, (_, index) =>
        service(random.pick(["a", "b", "c"]), `v${index + 1}`, {
          groupPriorityMinimum: random.pick([1, 2, 3]),
          versionPriority: random.pick([1, 2])
        }))
      const shuffled = services.map((entry) => [random.next(), entry] as const).sort(([a], [b]) => a - b)
        .map(([, entry]) => entry)
      assert.deepStrictEqual(names(shuffled), names(services), `seed ${seed}`)
    }
  })

  it("a condition keeps its time while it says the same", () => {
    const first = ApiServices.withCondition(service("a", "v1"), { status: "False", reason: "R", message: "m" }, "t1")
    const [condition] = (first as any).status.conditions
    assert.deepStrictEqual(condition, {
      type: "Available",
      status: "False",
      lastTransitionTime: "t1",
      reason: "R",
      message: "m"
    })
    assert.strictEqual(ApiServices.withCondition(first, condition, "t2"), first)
    const second = ApiServices.withCondition(first, { status: "False", reason: "S", message: "m" }, "t2")
    assert.deepInclude((second as any).status.conditions[0], { reason: "S", lastTransitionTime: "t1" })
    const third = ApiServices.withCondition(second, { status: "True", reason: "S", message: "m" }, "t3")
    assert.deepInclude((third as any).status.conditions[0], { status: "True", lastTransitionTime: "t3" })
    assert.isTrue(ApiServices.isAvailable(third))
  })
})

describe("ApiServiceRules", () => {
  const faults = (of: ReturnType<typeof service>) => ApiServiceRules.strategy.validate!(of).map(FieldError.format)

  it("complete the port of a Service, and the condition of a local one", () => {
    const remote = service("a.b", "v1", { service: { name: "n", namespace: "m" } })
    assert.deepStrictEqual((ApiServiceRules.applyDefaults(remote as never) as any).spec.service.port, 443)
    const local = service("a.b", "v1")
    assert.strictEqual(ApiServiceRules.applyDefaults(local as never), local as never)
  })

  it("name, group, version and priorities", () => {
    assert.deepStrictEqual(faults(service("a.b", "v1")), [])
    assert.deepStrictEqual(
      faults({ ...service("a.b", "v1"), metadata: { ...service("a.b", "v1").metadata, name: "x" } }),
      [
        "metadata.name: Invalid value: \"x\": must be `spec.version+\".\"+spec.group`: \"v1.a.b\""
      ]
    )
    assert.deepStrictEqual(faults(service("a.b", "v1", { groupPriorityMinimum: 20000, versionPriority: 1000 })), [])
    assert.deepStrictEqual(faults(service("a.b", "v1", { groupPriorityMinimum: 20001, versionPriority: 1001 })), [
      "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
      "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000"
    ])
  })
})
