import { assert, it } from "@effect/vitest"
import * as LockFile from "../../src/cli/LockFile.ts"

const linux = { version: "1.0.0", dev: true, optional: true, os: ["linux"], cpu: ["x64"] }
const tool = {
  version: "1.0.0",
  dev: true,
  optionalDependencies: { "@a/tool-linux-x64": "1.0.0", "@a/tool-darwin-arm64": "1.0.0", "@a/more": "1.0.0", "b": "^2" }
}
const text = (packages: object) => `${JSON.stringify({ lockfileVersion: 3, packages }, null, 2)}\n`

it("programs for platforms that the registry does not have are noted, so that `npm ci` takes the file", () => {
  const packages = { "": { name: "demo" }, "node_modules/@a/tool": tool, "node_modules/@a/tool-linux-x64": linux }
  const whole = LockFile.complete(text(packages))
  assert.deepStrictEqual(JSON.parse(whole), {
    lockfileVersion: 3,
    packages: {
      ...packages,
      "node_modules/@a/tool-darwin-arm64": {
        version: "1.0.0",
        optional: true,
        os: ["darwin"],
        cpu: ["arm64"],
        dev: true
      }
    }
  })
  assert.strictEqual(LockFile.complete(whole), whole, "a whole file stays as it is")
})
