import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses, refusesUpdates } from "../../support/refusals.ts"
import { del, layer, patch, post, put } from "../../support/server.ts"

const url = "/apis/batch/v1/namespaces/default/jobs"

const template = (spec: object = {}) => ({
  spec: { restartPolicy: "Never", containers: [{ name: "main", image: "app:1" }], ...spec }
})

const job = (spec: object = {}) => ({ metadata: { name: "a" }, spec: { template: template(), ...spec } })

const indexed = (spec: object = {}) => job({ completionMode: "Indexed", completions: 3, ...spec })

const failure = (...rules: ReadonlyArray<object>) => job({ podFailurePolicy: { rules } })
const rule = "spec.podFailurePolicy.rules[0]"

describe("JobRules", () => {
  it.effect("gives a Job the labels of its template, which whoever made it owns", () =>
    Effect.gen(function*() {
      const made = Effect.fnUntraced(function*(metadata: object) {
        const body = { metadata, spec: { template: { ...template(), metadata: { labels: { x: "y" } } } } }
        const answer: any = (yield* post(`${url}?fieldManager=m`, body)).body
        const { labels, managedFields } = answer.metadata
        return [Object.keys(labels).sort(), managedFields[0].fieldsV1["f:metadata"]["f:labels"]]
      })
      const owned = { ".": {}, "f:x": {} }
      const given = ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"]
      assert.deepStrictEqual(yield* made({ name: "a" }), [[...given, "x"], owned])
      assert.deepStrictEqual(yield* made({ generateName: "a" }), [["x"], owned])
    }).pipe(Effect.provide(layer)))

  it.effect("judges amounts and modes", () =>
    refuses(
      url,
      [job()],
      [indexed({ parallelism: 3, backoffLimitPerIndex: 1, maxFailedIndexes: 2 })],
      [
        job({ backoffLimit: -1, ttlSecondsAfterFinished: -1 }),
        "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
        "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0"
      ],
      [
        job({ completionMode: "Other" }),
        "spec.completionMode: Unsupported value: \"Other\": supported values: \"NonIndexed\", \"Indexed\""
      ],
      [
        job({ completionMode: "Indexed", parallelism: 100001 }),
        "spec.completions: Required value: when completion mode is Indexed",
        "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed"
      ],
      [
        job({ maxFailedIndexes: 1 }),
        "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode"
      ],
      [
        job({ managedBy: "x" }),
        "spec.managedBy: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\")"
      ],
      [
        { ...indexed(), metadata: { name: "a.b" } },
        "metadata.name: Invalid value: \"a.b\": will not able to create pod with invalid DNS label: a.b-2"
      ],
      [
        job({ template: template({ restartPolicy: "Always" }) }),
        "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges what it says of failure and success", () =>
    refuses(
      url,
      [failure({ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] })],
      [
        failure({ action: "Other", onExitCodes: { operator: "In", values: [2, 0, 0] } }),
        `${rule}.action: Unsupported value: "Other": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
        `${rule}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
        `${rule}.onExitCodes.values[2]: Invalid value: 0: must not be 0 for the In operator`,
        `${rule}.onExitCodes.values[2]: Duplicate value: 0`,
        `${rule}.onExitCodes.values: Invalid value: [2,0,0]: must be ordered`
      ],
      [
        failure({ action: "FailIndex" }),
        `${rule}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
        `${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`
      ],
      [
        indexed({ successPolicy: { rules: [{ succeededIndexes: "0,2-5" }, { succeededCount: 4 }] } }),
        "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"0,2-5\": error parsing succeededIndexes: " +
        "too large index: \"5\"",
        "spec.successPolicy.rules[1].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of " +
        "specified completions)"
      ],
      [
        job({ successPolicy: { rules: [{ succeededCount: 1 }] } }),
        "spec.successPolicy: Invalid value: {\"Rules\":[{\"SucceededIndexes\":null,\"SucceededCount\":1}]}: requires " +
        "indexed completion mode"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("without labels in its template has those that it was given", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, { ...job(), metadata: { name: "b" } })
      assert.deepStrictEqual(body.metadata.labels, body.spec.template.metadata.labels)
      assert.strictEqual(body.metadata.labels["job-name"], "b")
    }).pipe(Effect.provide(layer)))

  it.effect("is told all labels of its template where one that the server makes is another", () =>
    Effect.gen(function*() {
      const { spec } = job() as { readonly spec: { readonly template: object } }
      const template = { ...spec.template, metadata: { labels: { "job-name": "x", "controller-uid": "y" } } }
      const found = causes(yield* post(url, { ...job(), metadata: { name: "b" }, spec: { ...spec, template } }))
      const labels = "Invalid value: {\"batch.kubernetes.io/controller-uid\":\"U\"," +
        "\"batch.kubernetes.io/job-name\":\"b\",\"controller-uid\":\"y\",\"job-name\":\"x\"}"
      assert.deepStrictEqual(found.map((text: string) => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "U")), [
        `spec.template.metadata.labels[controller-uid]: ${labels}: must be 'U'`,
        `spec.template.metadata.labels[job-name]: ${labels}: must be 'b'`
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("a rule about Pods waits for a condition to be true, unless it says otherwise", () =>
    Effect.gen(function*() {
      const onPodConditions = [{ type: "DisruptionTarget" }, { type: "x/y", status: "False" }]
      const { body } = yield* post(url, failure({ action: "Ignore", onPodConditions }))
      assert.deepStrictEqual(body.spec.podFailurePolicy.rules[0].onPodConditions, [
        { type: "DisruptionTarget", status: "True" },
        { type: "x/y", status: "False" }
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("keeps the labels and the selector it was given", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, job())
      const { selector: _, ...spec } = body.spec
      assert.include(causes(yield* put(`${url}/a`, { ...body, spec })), "spec.selector: Required value")
    }).pipe(Effect.provide(layer)))

  it.effect("one that waits can be told where its Pods may run", () =>
    Effect.gen(function*() {
      const immutable = "field is immutable"
      const placed = (object: any) => {
        object.spec.template.spec.nodeSelector = { disk: "ssd" }
        return object
      }
      const { body: waiting } = yield* post(url, job({ suspend: true }))
      yield* refusesUpdates(`${url}/a`, waiting, [placed])
      const { body: running } = yield* post(url, { ...job(), metadata: { name: "b" } })
      const refused = causes(yield* put(`${url}/b`, placed(structuredClone(running))))
      assert.isTrue(refused.some((text) => text.startsWith("spec.template: ") && text.endsWith(immutable)))
    }).pipe(Effect.provide(layer)))
})

describe("JobStatusRules", () => {
  it.effect("a Job that is over says when and why, and stays over", () =>
    Effect.gen(function*() {
      const condition = (...types: ReadonlyArray<string>) =>
        types.map((type) => ({ type, status: "True", lastTransitionTime: "2020-01-01T00:00:00Z" }))
      const { body } = yield* post(url, job())
      const write = (status: object) => patch(`${url}/a/status`, "merge", { status })
      assert.deepStrictEqual(causes(yield* write({ active: 1, conditions: condition("Complete") })), [
        "status.completionTime: Required value: completionTime is required for Complete jobs",
        "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
        "status.startTime: Required value: startTime is required for finished job"
      ])
      const [startTime, completionTime] = ["2020-01-01T00:00:00Z", "2020-01-01T00:01:00Z"]
      const over = { startTime, completionTime, succeeded: 1, conditions: condition("SuccessCriteriaMet", "Complete") }
      assert.strictEqual((yield* write(over)).status, 200)
      assert.deepStrictEqual(causes(yield* write({ succeeded: 0, completionTime: null, conditions: [] })), [
        "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
        "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
        "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"
      ])
      assert.strictEqual(body.metadata.name, "a")
    }).pipe(Effect.provide(layer)))

  it.effect("fills in who selects its Pods, and no limit of retries where each index has its own", () =>
    Effect.gen(function*() {
      const spec = (fields: object) => Effect.map(post(`${url}?dryRun=All`, fields), ({ body }) => body.spec)
      const plain = yield* spec(job())
      assert.deepStrictEqual([plain.manualSelector, plain.backoffLimit], [false, 6])
      const { body } = yield* post(`${url}?dryRun=All`, job())
      assert.property(body.metadata.managedFields[0].fieldsV1["f:spec"], "f:manualSelector")
      assert.strictEqual((yield* spec(indexed({ backoffLimitPerIndex: 1 }))).backoffLimit, 2147483647)
      assert.strictEqual((yield* spec(indexed({ backoffLimitPerIndex: 1, backoffLimit: 2 }))).backoffLimit, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("one that is indexed grows with as many Pods at a time; labels that are missing are null", () =>
    Effect.gen(function*() {
      yield* post(url, indexed())
      assert.deepStrictEqual(causes(yield* patch(`${url}/a`, "merge", { spec: { completions: 5 } })), [
        "spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"
      ])
      const own = job({ manualSelector: true, selector: { matchLabels: { a: "b" } } })
      assert.deepStrictEqual(causes(yield* post(`${url}?dryRun=All`, own)), [
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("a deletion that does not say what becomes of its Pods is told so", () =>
    Effect.gen(function*() {
      const warning = "299 - \"child pods are preserved by default when jobs are deleted; set " +
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning\""
      const told = (query: string, body?: object) =>
        Effect.map(del(`${url}${query}`, body as never), ({ headers }) => headers["warning"])
      yield* post(url, job())
      assert.strictEqual(yield* told("/a?dryRun=All"), warning)
      assert.strictEqual(yield* told("/missing"), warning)
      assert.strictEqual(yield* told("?dryRun=All"), warning)
      assert.isUndefined(yield* told("/a?dryRun=All&propagationPolicy=Orphan"))
      assert.isUndefined(yield* told("/a?dryRun=All", { orphanDependents: true }))
    }).pipe(Effect.provide(layer)))
})
