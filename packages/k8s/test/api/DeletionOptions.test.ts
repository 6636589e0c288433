import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as DeletionOptions from "../../src/api/DeletionOptions.ts"

const read = (query: string, body?: unknown) =>
  Result.match(
    DeletionOptions.read({ query: [...new URLSearchParams(query)], ...(body === undefined ? {} : { body }) }),
    {
      onSuccess: (options): unknown => options,
      onFailure: ({ body, status }) => `${status} ${body.message}`
    }
  )

const unsupported = (policy: string) =>
  `422 DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "${policy}": supported values: ` +
  "\"Foreground\", \"Background\", \"Orphan\", \"nil\""

describe("DeletionOptions", () => {
  it("are in the query where there is no body", () => {
    assert.deepStrictEqual(
      read("gracePeriodSeconds=5&orphanDependents=maybe&dryRun=All&dryRun=All&uid=u&resourceVersion=7"),
      { gracePeriodSeconds: 5, orphanDependents: true, uid: "u", resourceVersion: "7", dryRun: ["All", "All"] }
    )
    assert.deepStrictEqual(read("orphanDependents=False"), { orphanDependents: false, dryRun: [] })
    assert.deepStrictEqual(read("propagationPolicy=Orphan&gracePeriodSeconds=5", {}), { dryRun: [] })
  })

  it("must be what their type can hold", () => {
    assert.strictEqual(read("gracePeriodSeconds=x"), "400 strconv.ParseInt: parsing \"x\": invalid syntax")
    const wrong = (value: string, field: string, type: string) =>
      `400 json: cannot unmarshal ${value} into Go struct field DeleteOptions.${field} of type ${type}`
    assert.strictEqual(read("", { gracePeriodSeconds: "x" }), wrong("string", "gracePeriodSeconds", "int64"))
    assert.strictEqual(read("", { gracePeriodSeconds: 1.5 }), wrong("number 1.5", "gracePeriodSeconds", "int64"))
    assert.strictEqual(
      read("", { propagationPolicy: 5 }),
      wrong("number", "propagationPolicy", "v1.DeletionPropagation")
    )
    assert.strictEqual(read("", { preconditions: { uid: [] } }), wrong("array", "preconditions.uid", "types.UID"))
    assert.deepStrictEqual(read("", { gracePeriodSeconds: null, preconditions: null }), { dryRun: [] })
  })

  it("are of their own kind, of whatever version", () => {
    assert.deepStrictEqual(read("", { apiVersion: "apps/v1", kind: "DeleteOptions" }), { dryRun: [] })
    assert.strictEqual(
      read("", { kind: "Status" }),
      "400 converting (v1.Status) to (v1.DeleteOptions): unknown conversion"
    )
    assert.match(
      String(read("", { apiVersion: "v1", kind: "Pod" })),
      /^400 no kind "Pod" is registered for version "v1" in scheme "/
    )
  })

  it("are refused where they make no sense", () => {
    assert.strictEqual(read("propagationPolicy="), unsupported(""))
    assert.strictEqual(read("", { propagationPolicy: "" }), unsupported(""))
    assert.match(String(read("orphanDependents=true&propagationPolicy=Orphan")), /cannot be both set$/)
    assert.match(String(read("dryRun=x")), /dryRun: Unsupported value: \["x"\]: supported values: "All"$/)
  })
})
