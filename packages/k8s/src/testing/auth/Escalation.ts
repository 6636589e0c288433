/**
 * `Escalation`: users cannot grant permissions that they do not have themselves.
 *
 * Writing a Role or ClusterRole requires all permissions in its rules, or the verb `escalate` on it; an aggregated
 * ClusterRole requires permission for everything. Writing a binding requires all permissions of the role, or the verb
 * `bind` on that role. Updates that change only finalizers and owner references are exempt, so that garbage collection
 * works. Members of `system:masters` are exempt, too.
 *
 * The check comes after mutating admission and before validation, as in a real server.
 *
 * Source: k8s.io/kubernetes/pkg/registry/rbac (escalation_check.go, helpers.go and the policybased storages).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Exchange } from "../server/Exchange.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import { isMaster } from "../../api/UserInfo.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Attributes from "../../api/Attributes.ts"
import * as PolicyRule from "./PolicyRule.ts"
import * as Rbac from "./Rbac.ts"

type Refused = StatusError.StatusError | undefined

const everything: ReadonlyArray<PolicyRule.PolicyRule> = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] }
]

/** The plural of a missing role's kind, as this refusal prints it. */
const plural = (kind: string): string => `${kind.toLowerCase()}s`

/** Why a user may not grant these rules; undefined if the user has them all. */
const excess = (exchange: Exchange, rules: ReadonlyArray<PolicyRule.PolicyRule>): string | undefined => {
  const { core, route, user } = exchange
  const { granted, missing } = core.authorizer.grants(user, route.namespace)
  const lacking = PolicyRule.missing(granted.map(({ rule }) => rule), rules)
  if (lacking.length === 0) return undefined
  const lines = [...new Set(PolicyRule.compact(lacking).map(PolicyRule.print))].sort()
  return `user ${FieldError.quote(user.username)} (groups=${
    PolicyRule.goStrings(user.groups)
  }) is attempting to grant ` +
    `RBAC permissions not currently held:\n${lines.join("\n")}` +
    (missing.length === 0 ? "" : `; resolution errors: [${Rbac.missingText(missing, plural)}]`)
}

const may = ({ core, route, user }: Exchange, verb: string, resource: string, name: string): boolean =>
  core.authorizer.authorize(
    user,
    Attributes.resource({ verb, group: Rbac.group, resource, name, namespace: route.namespace })
  ).allowed

const gathers = (role: KubeObject | undefined): boolean =>
  arrayAt(role, "aggregationRule", "clusterRoleSelectors").length > 0

const roleFault = (exchange: Exchange, role: KubeObject, previous: KubeObject | undefined): Refused => {
  const { resource, route } = exchange
  if (may(exchange, "escalate", resource.plural, route.name)) return undefined
  const name = role.metadata.name ?? ""
  const why = excess(exchange, PolicyRule.rulesOf(role))
  if (why !== undefined) return StatusError.forbidden(resource, name, why)
  return (gathers(role) || gathers(previous)) && excess(exchange, everything) !== undefined
    ? StatusError.forbidden(resource, name, "must have cluster-admin privileges to use the aggregationRule")
    : undefined
}

const bindingFault = (exchange: Exchange, binding: KubeObject): Refused => {
  const { core, resource, route } = exchange
  const [kind, name] = [stringAt(binding, "roleRef", "kind"), stringAt(binding, "roleRef", "name")]
  const roles = plural(kind)
  const known = kind === "ClusterRole" || kind === "Role"
  if (known && may(exchange, "bind", roles, name)) return undefined
  if (!known) return StatusError.plain(`unsupported role reference kind: ${FieldError.quote(kind)}`)
  const role = kind === "ClusterRole"
    ? core.storage.get(Rbac.collections.clusterRoles, name)
    : core.storage.get(Rbac.collections.roles, `${route.namespace}/${name}`)
  // The registry reports the requested object, which is the binding.
  if (role === undefined) return StatusError.notFound(resource, name)
  const why = excess(exchange, PolicyRule.rulesOf(role))
  return why === undefined ? undefined : StatusError.forbidden(resource, binding.metadata.name ?? "", why)
}

/** Fields that garbage collection changes, and those with which the server tracks changes. */
const incidental: ReadonlySet<string> = new Set(["ownerReferences", "finalizers", "managedFields"])

const essential = (object: KubeObject): unknown => ({
  ...object,
  metadata: Object.fromEntries(Object.entries(objectAt(object, "metadata")).filter(([key]) => !incidental.has(key)))
})

/** Why a user may not write an object; undefined for anything but roles and bindings. */
export const fault = (exchange: Exchange, object: KubeObject, previous?: KubeObject): Refused => {
  const { resource, user } = exchange
  if (resource.group !== Rbac.group || resource.custom !== undefined || isMaster(user)) return undefined
  if (previous !== undefined && JsonValue.equals(essential(object), essential(previous))) return undefined
  return at(object, "roleRef") === undefined && !resource.plural.endsWith("bindings")
    ? roleFault(exchange, object, previous)
    : bindingFault(exchange, object)
}
