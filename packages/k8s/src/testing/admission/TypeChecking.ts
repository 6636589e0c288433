/**
 * `TypeChecking`: the type errors that a ValidatingAdmissionPolicy would have if the types of its objects were known.
 *
 * The API server compiles expressions with dynamically typed objects. If the resource rules of a policy name groups,
 * versions and resources, each expression is also compiled for every kind they match, with `object`, `oldObject` and
 * `params` typed by their schemas. The errors become warnings in the status of the policy and have no other effect.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go.
 */
import * as AdmissionTypes from "../../cel/AdmissionTypes.ts"
import type { TypeProvider } from "../../cel/Checker.ts"
import * as DeclaredTypes from "../../cel/DeclaredTypes.ts"
import * as Environment from "../../cel/Environment.ts"
import type * as Schema from "../../schema/Schema.ts"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import * as PolicyExpressions from "./PolicyExpressions.ts"

export interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The kinds of a cluster. */
export interface Catalogue {
  /** The kinds of a resource; with an empty group, in every group. */
  readonly kindsFor: (group: string, version: string, plural: string) => ReadonlyArray<Gvk>
  /** The schema of a kind, without references. */
  readonly schemaOf: (gvk: Gvk) => Schema.Schema | undefined
}

export interface Warning {
  readonly fieldRef: string
  readonly warning: string
}

const maxTypes = 10

const textsAt = (rule: unknown, key: string): ReadonlyArray<string> => arrayAt(rule, key).map(String).sort()

const gvkText = ({ group, kind, version }: Gvk): string => `${group}/${version}, Kind=${kind}`

const order = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const byName = (a: Gvk, b: Gvk): number =>
  order(a.group, b.group) || order(a.version, b.version) || order(a.kind, b.kind)

/** The kinds that rules match; a wildcard for groups or versions matches none. */
const kindsOf = (policy: unknown, { kindsFor }: Catalogue): ReadonlyArray<Gvk> => {
  const found = new Map<string, Gvk>()
  for (const rule of arrayAt(policy, "spec", "matchConstraints", "resourceRules")) {
    const [groups, versions] = [textsAt(rule, "apiGroups"), textsAt(rule, "apiVersions")]
    if ([...groups, ...versions].some((text) => text.includes("*"))) continue
    const resources = textsAt(rule, "resources").filter((text) => !/[*/]/.test(text))
    let count = 0
    for (const group of groups) {
      for (const version of versions) {
        for (const gvk of resources.flatMap((plural) => kindsFor(group, version, plural))) {
          if (count++ < maxTypes) found.set(gvkText(gvk), gvk)
        }
      }
    }
    if (count >= maxTypes) break
  }
  return [...found.values()].sort(byName)
}

const both = (a: TypeProvider, b: TypeProvider): TypeProvider => ({
  isStruct: (name) => a.isStruct(name) || b.isStruct(name),
  field: (type, name) => a.isStruct(type) ? a.field(type, name) : b.field(type, name)
})

const declared = (gvk: Gvk, { schemaOf }: Catalogue): DeclaredTypes.DeclaredType | undefined => {
  const schema = schemaOf(gvk)
  return schema === undefined ? undefined : DeclaredTypes.fromSchema(schema, true, `${gvk.kind}1`)
}

const paramsOf = (policy: unknown, catalogue: Catalogue): DeclaredTypes.DeclaredType | undefined => {
  const apiVersion = stringAt(policy, "spec", "paramKind", "apiVersion").split("/")
  const kind = stringAt(policy, "spec", "paramKind", "kind")
  const [group, version] = apiVersion.length === 1 ? ["", apiVersion[0]!] : apiVersion as [string, string]
  return kind === "" ? undefined : declared({ group, version, kind }, catalogue)
}

/** The types of variables if the kind of the object is known. */
const typed = (
  object: DeclaredTypes.DeclaredType,
  params: DeclaredTypes.DeclaredType | undefined
): PolicyExpressions.Known => {
  const { namespaceObject, request, authorizer } = AdmissionTypes.variables({ params: false, authorizer: true })
  const all = {
    object: object.type,
    oldObject: object.type,
    namespaceObject: namespaceObject!,
    request: request!,
    authorizer: authorizer!,
    ...(params === undefined ? {} : { params: params.type })
  }
  const objects = both(AdmissionTypes.admissionTypes, DeclaredTypes.provider(object))
  return {
    variables: () => all,
    types: params === undefined ? objects : both(objects, DeclaredTypes.provider(params))
  }
}

/** All type warnings of a policy. */
export const check = (policy: unknown, catalogue: Catalogue): ReadonlyArray<Warning> => {
  const params = paramsOf(policy, catalogue)
  const spec = at(policy, "spec")
  const environments = kindsOf(policy, catalogue).flatMap((gvk) => {
    const object = declared(gvk, catalogue)
    if (object === undefined) return []
    const scope = PolicyExpressions.scope(spec, typed(object, params))
    return [{ gvk, environment: scope.environment({ authorizer: true, patch: false }) }]
  })
  const warnings = (fieldRef: string, expression: string): ReadonlyArray<Warning> => {
    const faults = environments.flatMap(({ environment, gvk }) => {
      const made = Environment.compile(environment, expression)
      return made._tag === "Refused" ? [`${gvkText(gvk)}: ${made.issues}\n`] : []
    })
    return faults.length === 0 ? [] : [{ fieldRef, warning: faults.join("\n") }]
  }
  return arrayAt(spec, "validations").flatMap((validation, index) => {
    const message = stringAt(validation, "messageExpression")
    const path = `spec.validations[${index}]`
    return [
      ...warnings(`${path}.expression`, stringAt(validation, "expression")),
      ...(message === "" ? [] : warnings(`${path}.messageExpression`, message))
    ]
  })
}
