/**
 * `DefinitionApproval`: groups of the Kubernetes community require an approved API.
 *
 * A CustomResourceDefinition in `k8s.io`, `kubernetes.io` or a subdomain names its approval in an annotation: the URL
 * of a pull request, or a text that begins with "unapproved". A condition of the definition reports the state.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go and pkg/controller/apiapproval.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { stringAt } from "../../../api/Plain.ts"

export const annotation = "api-approved.kubernetes.io"

export interface State {
  readonly _tag: "Missing" | "Invalid" | "Approved" | "Unapproved"
  readonly message: string
}

const enhancement = "see https://github.com/kubernetes/enhancements/pull/1111"

const isProtected = (group: string): boolean => /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)

/** The state of a definition's approval; undefined for a group that needs none. */
export const stateOf = (definition: KubeObject): State | undefined => {
  if (!isProtected(stringAt(definition, "spec", "group"))) return undefined
  const value = definition.metadata.annotations?.[annotation] ?? ""
  if (value === "") {
    return {
      _tag: "Missing",
      message: `protected groups must have approval annotation "${annotation}", ${enhancement}`
    }
  }
  if (value.startsWith("unapproved")) return { _tag: "Unapproved", message: `not approved: ${JSON.stringify(value)}` }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]/.test(value)) return { _tag: "Approved", message: `approved in ${value}` }
  return {
    _tag: "Invalid",
    message: `protected groups must have approval annotation "${annotation}" with either a URL or a reason starting ` +
      `with "unapproved", ${enhancement}`
  }
}

/** The condition that reports it. */
export const conditionOf = (state: State) => ({
  type: "KubernetesAPIApprovalPolicyConformant",
  status: state._tag === "Approved" ? "True" as const : "False" as const,
  reason: `${state._tag}Annotation`,
  message: state.message
})
