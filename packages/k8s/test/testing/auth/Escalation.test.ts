import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as PolicyRule from "../../../src/testing/auth/PolicyRule.ts"
import { call, get, post } from "../support/server.ts"

const group = "rbac.authorization.k8s.io"
const rbac = `/apis/${group}/v1`

const as = (user: string) => ({ "impersonate-user": user })

/** A user with these rules, who may also write roles and bindings. */
const give = Effect.fnUntraced(function*(user: string, rules: ReadonlyArray<PolicyRule.PolicyRule>) {
  const all = [{ apiGroups: [group], resources: ["*"], verbs: ["create", "update", "get"] }, ...rules]
  yield* post(`${rbac}/clusterroles`, { metadata: { name: user }, rules: all })
  yield* post(`${rbac}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { kind: "ClusterRole", name: user },
    subjects: [{ kind: "User", name: user }]
  })
  return all as ReadonlyArray<PolicyRule.PolicyRule>
})

describe("Escalation", () => {
  it.effect("lets nobody write a rule that he does not hold, and everybody what he holds", () =>
    Effect.gen(function*() {
      const seed = "escalation-1"
      const random = yield* Random.Random.pipe(Random.withSeed(seed))
      const pick = <A>(values: ReadonlyArray<A>): A => values[Math.floor(random.nextDoubleUnsafe() * values.length)]!
      const rule = (): PolicyRule.PolicyRule => ({
        apiGroups: [pick(["", "apps"])],
        resources: [pick(["pods", "pods/log", "*/log", "*"])],
        verbs: [pick(["get", "list", "*"])],
        ...(pick([true, false, false]) ? { resourceNames: [pick(["a", "b"])] } : {})
      })
      const counts = { 201: 0, 403: 0 }
      for (let round = 0; round < 20; round++) {
        const own = yield* give(`user-${round}`, [rule(), rule(), rule()])
        for (let attempt = 0; attempt < 10; attempt++) {
          const wanted = [rule()]
          const name = `role-${round}-${attempt}`
          const answer = yield* call(
            "POST",
            `${rbac}/clusterroles`,
            { metadata: { name }, rules: wanted },
            as(`user-${round}`)
          )
          const lacking = PolicyRule.missing(own, wanted)
          assert.strictEqual(answer.status, lacking.length === 0 ? 201 : 403, `seed ${seed}, ${name}`)
          for (const piece of PolicyRule.compact(lacking)) assert.include(answer.body.message, PolicyRule.print(piece))
          counts[answer.status as 201 | 403]++
        }
      }
      assert.isAbove(counts[201], 20)
      assert.isAbove(counts[403], 20)
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("stores nothing of what it refuses, and asks administrators nothing", () =>
    Effect.gen(function*() {
      yield* give("jane", [])
      const everything = { metadata: { name: "x" }, rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] }
      assert.strictEqual((yield* call("POST", `${rbac}/clusterroles`, everything, as("jane"))).status, 403)
      assert.strictEqual((yield* get(`${rbac}/clusterroles/x`)).status, 404)
      assert.strictEqual((yield* call("PUT", `${rbac}/clusterroles/x`, everything, as("jane"))).status, 403)
      const mine = { metadata: { name: "mine" }, rules: [] }
      assert.strictEqual((yield* call("POST", `${rbac}/clusterroles`, mine, as("jane"))).status, 201)
      const wider = { ...everything, metadata: { name: "mine" } }
      assert.strictEqual((yield* call("PUT", `${rbac}/clusterroles/mine`, wider, as("jane"))).status, 403)
      assert.deepStrictEqual((yield* get(`${rbac}/clusterroles/mine`)).body.rules ?? [], [])
      assert.strictEqual((yield* post(`${rbac}/clusterroles`, everything)).status, 201)
      const binding = {
        metadata: { name: "x" },
        roleRef: { kind: "ClusterRole", name: "x" },
        subjects: [{ kind: "User", name: "jane" }]
      }
      const refused = yield* call("POST", `${rbac}/clusterrolebindings`, binding, as("jane"))
      assert.strictEqual(refused.status, 403)
      assert.strictEqual((yield* post(`${rbac}/clusterrolebindings`, binding)).status, 201)
      const other = { ...everything, metadata: { name: "y" } }
      assert.strictEqual((yield* call("POST", `${rbac}/clusterroles`, other, as("jane"))).status, 201, "who holds all")
    }).pipe(Effect.provide(ApiServer.layer)))
})
