import { assert, describe, it } from "@effect/vitest"
import { c, container, containerFaults, podFaults } from "../../../support/podFaults.ts"

const here = `${c}.securityContext.windowsOptions`
const options = (windowsOptions: object) => containerFaults({ securityContext: { windowsOptions } })
const user = (runAsUserName: string) => options({ runAsUserName })

describe("WindowsRules", () => {
  it("a user has a name, and may have a domain", () => {
    for (const name of ["ContainerUser", "NT AUTHORITY\\SYSTEM", "a.example\\b c", "x".repeat(104)]) {
      assert.deepStrictEqual(user(name), [], name)
    }
    const refused = (name: string, ...why: ReadonlyArray<string>) =>
      assert.deepStrictEqual(
        user(name),
        why.map((text) => `${here}.runAsUserName: Invalid value: ${JSON.stringify(name)}: runAsUserName${text}`)
      )
    refused("", " cannot be an empty string")
    refused("a\u0001", " cannot contain control characters")
    refused("a\\b\\c", " cannot contain more than one backslash")
    refused("\\", "'s Domain doesn't match the NetBios nor the DNS format", "'s User cannot be empty")
    refused(
      `${"a".repeat(256)}\\b`,
      "'s Domain length must be under 256 characters",
      "'s Domain doesn't match the NetBios nor the DNS format"
    )
    refused("x".repeat(105), "'s User length must not be longer than 104 characters")
    refused("d\\. ", "'s User cannot contain only periods or spaces")
    refused("a@b", "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
  })

  it("an account of a domain has a name, and not too much to say", () => {
    assert.deepStrictEqual(options({ gmsaCredentialSpecName: "a.b", gmsaCredentialSpec: "x".repeat(64 * 1024) }), [])
    assert.deepStrictEqual(options({ gmsaCredentialSpec: "" }), [
      `${here}.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`
    ])
    assert.match(options({ gmsaCredentialSpec: "x".repeat(64 * 1024 + 1) })[0]!, /size must be under 64 KiB$/)
    assert.match(
      options({ gmsaCredentialSpecName: "A_" })[0]!,
      /gmsaCredentialSpecName: Invalid value: "A_": a lowercase/
    )
    assert.lengthOf(podFaults({ securityContext: { windowsOptions: { runAsUserName: "" } } }), 1)
  })

  it("all containers are processes of the node, with its network, or none is", () => {
    const one = (hostProcess: boolean | undefined, name = "a") =>
      container({
        name,
        ...(hostProcess === undefined ? {} : { securityContext: { windowsOptions: { hostProcess } } })
      })
    const whole = (hostProcess: boolean) => ({ securityContext: { windowsOptions: { hostProcess } } })
    assert.deepStrictEqual(podFaults({ containers: [one(false), one(undefined, "b")] }), [])
    assert.deepStrictEqual(podFaults({ hostNetwork: true, containers: [one(true), one(true, "b")] }), [])
    assert.deepStrictEqual(
      podFaults({ hostNetwork: true, ...whole(true), containers: [one(true), one(undefined, "b")] }),
      []
    )
    assert.deepStrictEqual(podFaults({ ...whole(true), containers: [one(undefined)] }), [
      "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"
    ])
    assert.deepStrictEqual(podFaults({ hostNetwork: true, containers: [one(true), one(undefined, "b")] }), [
      `spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess ` +
      "containers"
    ])
    assert.deepStrictEqual(podFaults({ ...whole(false), hostNetwork: true, containers: [one(true)] }), [
      "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: true: pod hostProcess value must be " +
      "identical if both are specified, was false"
    ])
  })
})
