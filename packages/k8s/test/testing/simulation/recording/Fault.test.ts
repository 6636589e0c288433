import * as Fault from "@effect-operator/k8s/testing/simulation/recording/Fault"
import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"
import * as Path from "node:path"

const page = Fs.readFileSync(Path.join(import.meta.dirname, "../../../../../../docs/simulation-reference.md"), "utf8")

describe("Fault", () => {
  it("the documentation says of each what it is, by its name", () => {
    const { callFaults, clockFaults, eventFaults, externalFaults, stepFaults } = Fault
    for (const faults of [callFaults, eventFaults, externalFaults, stepFaults, clockFaults]) {
      for (const [name, what] of Object.entries(faults)) assert.include(page, `| \`${name}\` | ${what} |`)
    }
  })
})
