/**
 * `Authorizer`: checks whether the user of a request may do something else.
 *
 *     authorizer.group("apps").resource("deployments").namespace("prod").check("update").allowed()
 *
 * The value of the variable `authorizer` contains the function that decides. Selectors that cannot be parsed are left
 * out of the check.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/authz.go.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import * as Types from "../Types.ts"
import { fault, Opaque, type Value } from "../Values.ts"

/** The attributes of a check. */
export type Question =
  | { readonly _tag: "Path"; readonly user: string | undefined; readonly path: string; readonly verb: string }
  | {
    readonly _tag: "Resource"
    /** The service account to check; undefined for the user of the request. */
    readonly user: string | undefined
    readonly verb: string
    readonly group: string
    readonly resource: string
    readonly subresource: string
    readonly namespace: string
    readonly name: string
    readonly fieldSelector: string | undefined
    readonly labelSelector: string | undefined
  }

export interface Decision {
  readonly allowed: boolean
  readonly reason: string
  /** Why the authorizer could not decide. */
  readonly error?: string
}

export type Decide = (question: Question) => Decision

interface Asking {
  readonly decide: Decide
  readonly user: string | undefined
}

type ResourceQuestion = Extract<Question, { readonly _tag: "Resource" }>

interface ResourceCheck {
  readonly decide: Decide
  readonly question: ResourceQuestion
}

interface PathCheck extends Asking {
  readonly path: string
}

interface GroupCheck extends Asking {
  readonly group: string
}

export const type = named("authorizer", Types.struct("kubernetes.authorization.Authorizer"))
const pathType = named("pathcheck", Types.struct("kubernetes.authorization.PathCheck"))
const groupType = named("groupcheck", Types.struct("kubernetes.authorization.GroupCheck"))
export const resourceCheckType = named("resourcecheck", Types.struct("kubernetes.authorization.ResourceCheck"))
const decisionType = named("decision", Types.struct("kubernetes.authorization.Decision"))

/** The value of the variable `authorizer`. */
export const value = (decide: Decide): Value => new Opaque(type, { decide, user: undefined }, "authorizer")

const resourceCheck = (decide: Decide, question: ResourceQuestion): Opaque<ResourceCheck> =>
  new Opaque(resourceCheckType, { decide, question }, JSON.stringify(question))

/** The value of `authorizer.requestResource`: a check for the resource of the request. */
export const requestResource = (
  decide: Decide,
  about: Pick<ResourceQuestion, "group" | "resource" | "subresource" | "namespace" | "name">
): Value =>
  resourceCheck(decide, {
    _tag: "Resource",
    user: undefined,
    verb: "",
    fieldSelector: undefined,
    labelSelector: undefined,
    ...about
  })

const decided = (decision: Decision): Value => new Opaque(decisionType, decision, JSON.stringify(decision))

const narrowed = (part: "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector") =>
(
  { data: { decide, question } }: Opaque<ResourceCheck>,
  text: string
): Value => resourceCheck(decide, { ...question, [part]: text })

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const serviceAccountName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const serviceAccount = ({ data }: Opaque<Asking>, namespace: string, name: string): Value => {
  if (!serviceAccountName.test(name)) return fault("Invalid service account name")
  if (!label.test(namespace)) return fault("Invalid service account namespace")
  const user = KubeClient.serviceAccount(namespace, name)
  return new Opaque(type, { ...data, user }, user)
}

const narrowing = (name: "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector", id: string) =>
  define(name, overload(id, "resourcecheck.(string) resourcecheck", narrowed(name)))

const about = (name: string, id: string, result: string, part: (decision: Decision) => Value) =>
  define(name, overload(id, `decision.() ${result}`, ({ data }: Opaque<Decision>) => part(data)))

export const authorizer: ReadonlyArray<FunctionDeclaration> = [
  define(
    "path",
    overload(
      "authorizer_path",
      "authorizer.(string) pathcheck",
      ({ data }: Opaque<Asking>, path: string) => new Opaque(pathType, { ...data, path }, path)
    )
  ),
  define(
    "group",
    overload(
      "authorizer_group",
      "authorizer.(string) groupcheck",
      ({ data }: Opaque<Asking>, group: string) => new Opaque(groupType, { ...data, group }, group)
    )
  ),
  define(
    "serviceAccount",
    overload("authorizer_serviceaccount", "authorizer.(string, string) authorizer", serviceAccount)
  ),
  define(
    "resource",
    overload("groupcheck_resource", "groupcheck.(string) resourcecheck", (
      { data: { decide, group, user } }: Opaque<GroupCheck>,
      resource: string
    ) =>
      resourceCheck(decide, {
        _tag: "Resource",
        user,
        verb: "",
        group,
        resource,
        subresource: "",
        namespace: "",
        name: "",
        fieldSelector: undefined,
        labelSelector: undefined
      }))
  ),
  narrowing("subresource", "resourcecheck_subresource"),
  narrowing("namespace", "resourcecheck_namespace"),
  narrowing("name", "resourcecheck_name"),
  narrowing("fieldSelector", "resourcecheck_fieldselector"),
  narrowing("labelSelector", "resourcecheck_labelselector"),
  define(
    "check",
    overload("pathcheck_check", "pathcheck.(string) decision", (
      { data: { decide, path, user } }: Opaque<PathCheck>,
      verb: string
    ) => decided(decide({ _tag: "Path", user, path, verb }))),
    overload("resourcecheck_check", "resourcecheck.(string) decision", (
      { data: { decide, question } }: Opaque<ResourceCheck>,
      verb: string
    ) => decided(decide({ ...question, verb })))
  ),
  about("errored", "decision_errored", "bool", ({ error }) => error !== undefined),
  about("error", "decision_error", "string", ({ error }) => error ?? ""),
  about("allowed", "decision_allowed", "bool", ({ allowed }) => allowed),
  about("reason", "decision_reason", "string", ({ reason }) => reason)
]
