/** Policies of admission and what puts them to use. */
import { Effect, Layer } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"
import { call, post } from "./server.ts"

const group = "/apis/admissionregistration.k8s.io/v1"

export const validatingPolicies = `${group}/validatingadmissionpolicies`
export const validatingBindings = `${group}/validatingadmissionpolicybindings`
export const mutatingPolicies = `${group}beta1/mutatingadmissionpolicies`
export const mutatingBindings = `${group}beta1/mutatingadmissionpolicybindings`

/** A server that has mutating policies, which are not stable yet. */
export const layer = TestClient.layer.pipe(
  Layer.provideMerge(ApiServer.layerOptions({ runtimeConfig: { "admissionregistration.k8s.io/v1beta1": true } }))
)

/** What a policy is about: writes of ConfigMaps. */
export const configMapWrites = {
  resourceRules: [{
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: ["configmaps"]
  }]
}

export const validatingPolicy = (name: string, spec: object) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: { matchConstraints: configMapWrites, ...spec }
})

export const validatingBinding = (name: string, policyName: string, spec: object = {}) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name },
  spec: { policyName, validationActions: ["Deny"], ...spec }
})

export const mutatingPolicy = (name: string, spec: object) => ({
  apiVersion: "admissionregistration.k8s.io/v1beta1",
  kind: "MutatingAdmissionPolicy",
  metadata: { name },
  spec: { matchConstraints: configMapWrites, reinvocationPolicy: "Never", ...spec }
})

export const mutatingBinding = (name: string, policyName: string, spec: object = {}) => ({
  apiVersion: "admissionregistration.k8s.io/v1beta1",
  kind: "MutatingAdmissionPolicyBinding",
  metadata: { name },
  spec: { policyName, ...spec }
})

const created = (url: string, body: object) =>
  Effect.map(post(url, body as Record<string, unknown>), (answer) => {
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer
  })

/** Installs a policy `p` with a binding `b`. */
export const validating = (spec: object, binding: object = {}) =>
  Effect.andThen(
    created(validatingPolicies, validatingPolicy("p", spec)),
    created(validatingBindings, validatingBinding("b", "p", binding))
  )

/** Installs a policy with a binding of the same name. */
export const mutating = (spec: object, name = "p", binding: object = {}) =>
  Effect.andThen(
    created(mutatingPolicies, mutatingPolicy(name, spec)),
    created(mutatingBindings, mutatingBinding(name, name, binding))
  )

export const dryRun = (url: string, body: object) => call("POST", `${url}?dryRun=All`, body)
