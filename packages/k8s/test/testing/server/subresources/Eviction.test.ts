import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, get, layer, patch, pod, pods, post } from "../../support/server.ts"

const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

const running = Effect.fnUntraced(function*(name: string, ready: boolean) {
  const { metadata, ...rest } = pod(name) as any
  yield* post(pods, { ...rest, metadata: { ...metadata, labels: { name }, finalizers: ["example.com/kept"] } })
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }]
  yield* patch(`${pods}/${name}/status`, "merge", { status: { phase: "Running", conditions } })
})

const guarded = Effect.fnUntraced(function*(name: string, status: object | undefined, spec: object = {}) {
  yield* post(budgets, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { minAvailable: 1, selector: { matchLabels: { name } }, ...spec }
  })
  if (status === undefined) return
  const counts = { observedGeneration: 1, expectedPods: 1, currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0 }
  const written = yield* patch(`${budgets}/${name}/status`, "merge", { status: { ...counts, ...status } })
  assert.strictEqual(written.status, 200, JSON.stringify(written.body))
})

const evict = (name: string, deleteOptions?: object, query = "") =>
  post(`${pods}/${name}/eviction${query}`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    ...(deleteOptions === undefined ? {} : { deleteOptions })
  })

const why = ({ body, status }: Answer) => `${status} ${body.details?.causes?.[0].message ?? body.message}`

const condition = (object: any, type: string) => object.status.conditions?.find((entry: any) => entry.type === type)

describe("Eviction", () => {
  it.effect("a Pod that goes says that it was evicted, unless nothing is done", () =>
    Effect.gen(function*() {
      yield* running("a", true)
      assert.strictEqual((yield* evict("a", { dryRun: ["All"] })).status, 201)
      assert.isUndefined(condition((yield* get(`${pods}/a`)).body, "DisruptionTarget"))
      assert.strictEqual(
        why(yield* evict("a", {}, "?dryRun=All")),
        "500 Non-matching dry-run options in request and content: [All] and []"
      )
      assert.strictEqual((yield* evict("a", { preconditions: { uid: "other" } })).status, 409)
      assert.isUndefined(condition((yield* get(`${pods}/a`)).body, "DisruptionTarget"))
      const { metadata } = (yield* get(`${pods}/a`)).body
      const { resourceVersion, uid } = metadata
      assert.strictEqual((yield* evict("a", { preconditions: { resourceVersion, uid } })).status, 201)
      const { body } = yield* get(`${pods}/a`)
      assert.isDefined(body.metadata.deletionTimestamp)
      assert.deepStrictEqual(body.metadata.managedFields, metadata.managedFields)
      const { lastTransitionTime: _, ...evicted } = condition(body, "DisruptionTarget")
      assert.deepStrictEqual(evicted, {
        type: "DisruptionTarget",
        status: "True",
        lastProbeTime: null,
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting"
      })
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod that is not ready goes where the budget says so, or where enough others are ready", () =>
    Effect.gen(function*() {
      const always = { unhealthyPodEvictionPolicy: "AlwaysAllow" }
      for (
        const [name, ready, status, spec] of [
          ["always", false, undefined, always],
          ["enough", false, {}, {}],
          ["few", false, { currentHealthy: 0 }, {}],
          ["unwanted", false, { currentHealthy: 0, desiredHealthy: 0 }, {}],
          ["ready", true, {}, always]
        ] as const
      ) {
        yield* running(name, ready)
        yield* guarded(name, status, spec)
      }
      assert.strictEqual((yield* evict("always")).status, 201)
      assert.strictEqual((yield* evict("enough")).status, 201)
      const refused = (name: string, desired: number, healthy: number) =>
        `429 The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`
      assert.strictEqual(why(yield* evict("few")), refused("few", 1, 0))
      assert.strictEqual(why(yield* evict("unwanted")), refused("unwanted", 0, 0))
      assert.strictEqual(why(yield* evict("ready")), refused("ready", 1, 1))
      yield* running("precise", false)
      yield* guarded("precise", {})
      const outdated = yield* evict("precise", { preconditions: { uid: "other" } })
      assert.strictEqual(why(outdated), "429 The disruption budget precise is still being processed by the server.")
      assert.strictEqual(outdated.headers["retry-after"], "10")
    }).pipe(Effect.provide(layer)))

  it.effect("a budget that allows nothing says why; the last disruption is told in its condition", () =>
    Effect.gen(function*() {
      const allowed = (reason: string, message: string, status = "False") => [
        { type: "DisruptionAllowed", status, reason, message, lastTransitionTime: "2020-01-01T00:00:00Z" }
      ]
      for (
        const [name, status, said] of [
          ["unseen", undefined, "is still being processed by the server."],
          [
            "failed",
            { conditions: allowed("SyncFailed", "why") },
            "does not allow evicting pods currently because it failed sync: why"
          ],
          ["more", { currentHealthy: 3 }, "does not allow evicting pods currently"],
          [
            "other",
            { currentHealthy: 3, conditions: allowed("R", "m") },
            "does not allow evicting pods currently (R): m"
          ]
        ] as const
      ) {
        yield* running(name, true)
        yield* guarded(name, status)
        assert.strictEqual(why(yield* evict(name)), `429 The disruption budget ${name} ${said}`)
      }
      yield* running("last", true)
      yield* guarded("last", { disruptionsAllowed: 1, conditions: allowed("SufficientPods", "", "True") })
      assert.strictEqual((yield* evict("last")).status, 201)
      const { body } = yield* get(`${budgets}/last`)
      assert.strictEqual(body.status.disruptionsAllowed, 0)
      const { observedGeneration, reason, status } = condition(body, "DisruptionAllowed")
      assert.deepStrictEqual([status, reason, observedGeneration], ["False", "InsufficientPods", 1])
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod of two budgets stays", () =>
    Effect.gen(function*() {
      yield* running("a", true)
      yield* guarded("a", {})
      yield* post(budgets, {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "b" },
        spec: { selector: { matchLabels: { name: "a" } } }
      })
      const refused = yield* evict("a")
      assert.deepStrictEqual([refused.status, refused.body.reason], [500, undefined])
      assert.match(refused.body.message, /^This pod has more than one PodDisruptionBudget, /)
    }).pipe(Effect.provide(layer)))
})
