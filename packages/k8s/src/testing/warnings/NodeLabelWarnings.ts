/**
 * `NodeLabelWarnings`: warnings about deprecated Node labels in selectors.
 *
 * Source: k8s.io/kubernetes/pkg/api/node/util.go.
 */
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as Names from "../../api/Names.ts"

export type Warnings = ReadonlyArray<string>

const deprecated: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", `deprecated since v1.14; use "kubernetes.io/arch" instead`],
  ["beta.kubernetes.io/os", `deprecated since v1.14; use "kubernetes.io/os" instead`],
  [
    "failure-domain.beta.kubernetes.io/region",
    `deprecated since v1.17; use "topology.kubernetes.io/region" instead`
  ],
  ["failure-domain.beta.kubernetes.io/zone", `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`],
  ["beta.kubernetes.io/instance-type", `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  [
    "scheduler.alpha.kubernetes.io/preferAvoidPods",
    "deprecated since v1.22; use Taints and Tolerations instead"
  ],
  ["node-role.kubernetes.io/master", `use "node-role.kubernetes.io/control-plane" instead`]
])

/** The warning about a label, if it is deprecated. */
export const ofLabel = (label: string, text: (message: string) => string): Warnings => {
  const message = deprecated.get(label)
  return message === undefined ? [] : [text(message)]
}

const ofExpressions = (selector: unknown, path: string): Warnings =>
  arrayAt(selector, "matchExpressions").flatMap((expression, index) => {
    const key = stringAt(expression, "key")
    return ofLabel(key, (message) => `${path}.matchExpressions[${index}].key: ${key} is ${message}`)
  })

/** Warnings about a label selector. */
export const ofSelector = (selector: unknown, path: string): Warnings => [
  ...ofExpressions(selector, path),
  ...Object.keys(objectAt(selector, "matchLabels")).flatMap((label) =>
    ofLabel(label, (message) => `${path}.matchLabels.${label}: ${message}`)
  )
]

const ofValues = (term: unknown, path: string): Warnings =>
  arrayAt(term, "matchExpressions").flatMap((expression, index) =>
    arrayAt(expression, "values").flatMap((value, place) =>
      Names.labelValue(String(value)).map((why) =>
        `${path}.matchExpressions[${index}].values[${place}]: ${value} is invalid, ${why}`
      )
    )
  )

/** Warnings about required node selector terms. */
export const ofTerms = (terms: ReadonlyArray<unknown>, path: string): Warnings =>
  terms.flatMap((term, index) => ofExpressions(term, `${path}[${index}]`))

/** Warnings about preferred node selector terms, whose values are not validated. */
export const ofPreferences = (preferences: ReadonlyArray<unknown>, path: string): Warnings =>
  preferences.flatMap((preference, index) => {
    const [term, here] = [at(preference, "preference"), `${path}[${index}].preference`]
    return [...ofExpressions(term, here), ...ofValues(term, here)]
  })
