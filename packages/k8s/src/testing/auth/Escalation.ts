/**
 * `Escalation`: nobody grants by a role or a binding what he may not do himself.
 *
 * Who writes a Role or ClusterRole must hold everything its rules allow, or have the verb `escalate` on it; a
 * ClusterRole that gathers its rules from others takes somebody who may do everything. Who writes a binding must hold
 * everything the role allows, or have the verb `bind` on that role. Updates that touch finalizers and owner references
 * only are free, so that garbage collection works. Members of `system:masters` are never asked.
 *
 * Asked after mutating admission and before the object is validated, as in a real server.
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

/** Roles that are not there, as this refusal names them. */
const plural = (kind: string): string => `${kind.toLowerCase()}s`

/** Why a user may not hand out these rules; undefined if he holds them all. */
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
  // The registry speaks of what was asked for, which is the binding.
  if (role === undefined) return StatusError.notFound(resource, name)
  const why = excess(exchange, PolicyRule.rulesOf(role))
  return why === undefined ? undefined : StatusError.forbidden(resource, binding.metadata.name ?? "", why)
}

/** What garbage collection changes, and what the server keeps account of it with. */
const incidental: ReadonlySet<string> = new Set(["ownerReferences", "finalizers", "managedFields"])

const essential = (object: KubeObject): unknown => ({
  ...object,
  metadata: Object.fromEntries(Object.entries(objectAt(object, "metadata")).filter(([key]) => !incidental.has(key)))
})

/** Why a user may not write an object; undefined for all but roles and bindings. */
export const fault = (exchange: Exchange, object: KubeObject, previous?: KubeObject): Refused => {
  const { resource, user } = exchange
  if (resource.group !== Rbac.group || resource.custom !== undefined || isMaster(user)) return undefined
  if (previous !== undefined && JsonValue.equals(essential(object), essential(previous))) return undefined
  return at(object, "roleRef") === undefined && !resource.plural.endsWith("bindings")
    ? roleFault(exchange, object, previous)
    : bindingFault(exchange, object)
}
