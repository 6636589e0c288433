import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../../src/schema/FieldError.ts"
import * as PodAnnotations from "../../../../../src/testing/server/rules/pods/PodAnnotations.ts"

const pod = (annotations: Record<string, string>, spec: object = {}, container: object = {}) => ({
  metadata: { annotations },
  spec: { containers: [{ name: "c", ...container }], ...spec }
})

const cost = "controller.kubernetes.io/pod-deletion-cost"
const seccomp = "seccomp.security.alpha.kubernetes.io/pod"
const appArmor = (name: string) => `container.apparmor.security.beta.kubernetes.io/${name}`

const faults = (annotations: Record<string, string>) =>
  PodAnnotations.faults(pod(annotations), "metadata.annotations").map(FieldError.format)

describe("PodAnnotations", () => {
  it("judges what annotations say", () => {
    for (const value of ["0", "-2147483648", "2147483647"]) assert.deepStrictEqual(faults({ [cost]: value }), [])
    for (const value of ["x", "+1", "08", "-", "", "2147483648", "-2147483649"]) {
      assert.deepStrictEqual(faults({ [cost]: value }), [
        `metadata.annotations[${cost}]: Invalid value: "${value}": must be a 32bit integer`
      ])
    }
    assert.deepStrictEqual(faults({ "kubernetes.io/config.mirror": "h", [seccomp]: "x", [appArmor("c")]: "y" }), [
      `metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "h": must set spec.nodeName if mirror pod ` +
      "annotation is set",
      `metadata.annotations.${seccomp}: Invalid value: "x": must be a valid seccomp profile`,
      `metadata.annotations[${appArmor("c")}]: Invalid value: "y": invalid AppArmor profile name: "y"`
    ])
    assert.deepStrictEqual(faults({ [seccomp]: "localhost/../a", [appArmor("x")]: "unconfined" }), [
      `metadata.annotations.${seccomp}: Invalid value: "../a": must not contain '..'`,
      `metadata.annotations[${appArmor("x")}]: Invalid value: "x": container not found`
    ])
  })

  it("a Pod that mirrors one of a node's own has no claims", () => {
    const claims = { nodeName: "n", resourceClaims: [{ name: "a" }, { name: "b" }] }
    const of = (annotations: Record<string, string>) =>
      PodAnnotations.faults(pod(annotations, claims), "metadata.annotations").map(FieldError.format)
    const why = "[]: Forbidden: static pods do not support resource claims"
    assert.deepStrictEqual(of({ "kubernetes.io/config.mirror": "h" }), [why, why])
    assert.deepStrictEqual(of({ a: "b" }), [])
  })

  it("judges annotations beside fields", () => {
    const context = (more: object) => ({ securityContext: more })
    const of = (annotations: Record<string, string>, spec: object, container: object = {}) =>
      PodAnnotations.mismatches(pod(annotations, spec, container), "spec").map(FieldError.format)
    assert.deepStrictEqual(
      of({ [seccomp]: "docker/default" }, context({ seccompProfile: { type: "RuntimeDefault" } })),
      []
    )
    assert.deepStrictEqual(of({ [seccomp]: "docker/default" }, context({ seccompProfile: { type: "Unconfined" } })), [
      "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"
    ])
    const local = context({ appArmorProfile: { type: "Localhost", localhostProfile: "q" } })
    assert.deepStrictEqual(of({ [appArmor("c")]: "localhost/q" }, {}, local), [])
    assert.deepStrictEqual(of({ [appArmor("c")]: "localhost/p" }, local), [
      "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation " +
      "and field must match"
    ])
    assert.deepStrictEqual(of({ [appArmor("c")]: "unconfined" }, { ...local, os: { name: "windows" } }), [])
  })

  it("keeps annotations of Pods that mean something to nodes", () => {
    const of = (next: Record<string, string>, previous: Record<string, string>) =>
      PodAnnotations.updateFaults(pod(next, { nodeName: "n" }), pod(previous)).map(FieldError.format)
    assert.deepStrictEqual(of({ a: "c" }, { a: "b" }), [])
    assert.deepStrictEqual(of({}, { [appArmor("c")]: "unconfined" }), [
      `metadata.annotations[${appArmor("c")}]: Forbidden: may not remove or update AppArmor annotations`
    ])
    assert.deepStrictEqual(of({ "kubernetes.io/config.mirror": "h" }, {}), [
      "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"
    ])
  })
})
