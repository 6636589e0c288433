import { assert, describe, it } from "@effect/vitest"
import * as CronJobRules from "../../../src/testing/server/CronJobRules.ts"

const faults = (schedule: string) =>
  CronJobRules.validate({
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "a", namespace: "n", uid: "u", resourceVersion: "1", creationTimestamp: "" },
    spec: { schedule }
  } as never)

describe("CronJobRules", () => {
  it("takes schedules with fields, names, steps and macros", () => {
    for (const schedule of ["*/5 * * * *", "0 9 * * mon-fri", "@hourly", "@every 90m"]) {
      assert.deepStrictEqual(faults(schedule), [], schedule)
    }
  })

  it("refuses what is none, and names field and value", () => {
    assert.deepInclude(faults("nonsense")[0], {
      type: "Invalid",
      field: "spec.schedule",
      value: "nonsense",
      detail: "expected exactly 5 fields, found 1: [nonsense]"
    })
    assert.deepInclude(faults("")[0], { type: "Required", field: "spec.schedule" })
    assert.strictEqual(faults("99 * * * *").length, 1)
  })
})
