/**
 * `Rbac`: authorizes requests by the Roles, ClusterRoles and bindings in the store.
 *
 * Permissions are additive: a request is allowed if any role allows it that is bound to its user, to one of the user's
 * groups or to the service account, in all namespaces by a ClusterRoleBinding, in one by a RoleBinding there. The first
 * matching rule is reported as the reason. Bindings are evaluated in order of name, ClusterRoleBindings first (the
 * order of a real server varies). The reason of a refusal mentions bindings to missing roles.
 *
 * A change of any of the four kinds applies from the next request on; a real server takes some milliseconds. Results
 * are cached per user until then, so another request of the same kind costs three lookups. Members of `system:masters`
 * may do everything.
 *
 * Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac and pkg/registry/rbac/validation/rule.go.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as FieldError from "../../schema/FieldError.ts"
import { arrayAt, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import { isMaster, type UserInfo } from "../../api/UserInfo.ts"
import { type Attributes, combined } from "../../api/Attributes.ts"
import * as PolicyRule from "./PolicyRule.ts"

export const group = "rbac.authorization.k8s.io"

/** The collections of the four kinds. */
export const collections = {
  roles: `roles.${group}`,
  clusterRoles: `clusterroles.${group}`,
  roleBindings: `rolebindings.${group}`,
  clusterRoleBindings: `clusterrolebindings.${group}`
} as const

export interface Decision {
  readonly allowed: boolean
  /** The reason, which may be empty. */
  readonly reason: string
}

/** A rule, and the binding that grants it to a user. */
export interface Granted {
  readonly rule: PolicyRule.PolicyRule
  /** `ClusterRoleBinding "view-all" of ClusterRole "view" to Group "dev"`. */
  readonly source: string
}

/** All permissions of a user in a namespace, or outside of any. */
export interface Grants {
  readonly granted: ReadonlyArray<Granted>
  /** Roles that are bound but do not exist. */
  readonly missing: ReadonlyArray<{ readonly kind: string; readonly name: string }>
}

/** Decides whether a user may do something. */
export interface Authorizer {
  readonly authorize: (user: UserInfo, attributes: Attributes) => Decision
  readonly grants: (user: UserInfo, namespace: string) => Grants
}

const unconditional: Decision = { allowed: true, reason: "" }

/** The text about missing roles in a reason; several are in brackets. */
export const missingText = (
  missing: Grants["missing"],
  name: (kind: string) => string = (kind) => kind.toLowerCase()
): string =>
  FieldError.aggregateTexts(
    missing.map((role) => `${name(role.kind)}.${group} ${FieldError.quote(role.name)} not found`)
  )

/** The first subject of a binding that matches the user. */
const subjectOf = (binding: KubeObject, user: UserInfo, namespace: string): unknown =>
  arrayAt(binding, "subjects").find((subject) => {
    const name = stringAt(subject, "name")
    switch (stringAt(subject, "kind")) {
      case "User":
        return user.username === name
      case "Group":
        return user.groups.includes(name)
      case "ServiceAccount": {
        const home = stringAt(subject, "namespace") || namespace
        return home !== "" && user.username === KubeClient.serviceAccount(home, name)
      }
      default:
        return false
    }
  })

const describeSubject = (subject: unknown, namespace: string): string => {
  const [kind, name] = [stringAt(subject, "kind"), stringAt(subject, "name")]
  const text = kind === "ServiceAccount" ? `${name}/${stringAt(subject, "namespace") || namespace}` : name
  return `${kind} ${FieldError.quote(text)}`
}

const describe = (binding: KubeObject, subject: unknown, namespace: string): string => {
  const { name } = binding.metadata
  const [kind, text] = namespace === "" ? ["ClusterRoleBinding", name] : ["RoleBinding", `${name}/${namespace}`]
  const role = `${stringAt(binding, "roleRef", "kind")} ${FieldError.quote(stringAt(binding, "roleRef", "name"))}`
  return `${kind} ${FieldError.quote(text)} of ${role} to ${describeSubject(subject, namespace)}`
}

/**
 * A rule that matches one kind of request, with its decision. A list of candidates ends with the first rule that is not
 * limited to names.
 */
interface Candidate {
  readonly names: ReadonlyArray<string> | undefined
  readonly decision: Decision
}

/** The cached results for a user in a namespace. */
interface Known {
  readonly grants: Grants
  readonly refused: Decision
  readonly candidates: Map<string, ReadonlyArray<Candidate>>
}

/** The number of cached kinds of requests per user and namespace; limited because paths are arbitrary. */
const memory = 1000

const keyOf = (attributes: Attributes): string =>
  attributes._tag === "Path"
    ? `${attributes.verb} ${attributes.path}`
    : `${attributes.verb} ${combined(attributes)}.${attributes.group}`

export class Rbac implements Authorizer {
  private readonly storage: Storage
  private byUser = new WeakMap<UserInfo, Map<string, Known>>()

  constructor(storage: Storage) {
    this.storage = storage
    const kinds: ReadonlySet<string> = new Set(Object.values(collections))
    storage.listen((change) => {
      if (kinds.has(change.collection)) this.byUser = new WeakMap()
    })
  }

  /** The rules of the role to which a binding refers; undefined if it does not exist. */
  rulesOf(roleRef: unknown, namespace: string): ReadonlyArray<PolicyRule.PolicyRule> | undefined {
    const [kind, name] = [stringAt(roleRef, "kind"), stringAt(roleRef, "name")]
    const role = kind === "ClusterRole"
      ? this.storage.get(collections.clusterRoles, name)
      : kind === "Role" && namespace !== ""
      ? this.storage.get(collections.roles, `${namespace}/${name}`)
      : undefined
    return role === undefined ? undefined : PolicyRule.rulesOf(role)
  }

  private collect(user: UserInfo, namespace: string): Grants {
    const granted: Array<Granted> = []
    const missing: Array<Grants["missing"][number]> = []
    const visit = (collection: string, place: string): void => {
      const { get, keys } = this.storage.list(collection, place)
      for (const key of keys) {
        const binding = get(key)
        const subject = subjectOf(binding, user, place)
        if (subject === undefined) continue
        const roleRef = (binding as { readonly roleRef?: unknown }).roleRef
        const rules = this.rulesOf(roleRef, place)
        if (rules === undefined) missing.push({ kind: stringAt(roleRef, "kind"), name: stringAt(roleRef, "name") })
        else {
          const source = describe(binding, subject, place)
          for (const rule of rules) granted.push({ rule, source })
        }
      }
    }
    visit(collections.clusterRoleBindings, "")
    if (namespace !== "") visit(collections.roleBindings, namespace)
    return { granted, missing }
  }

  private known(user: UserInfo, namespace: string): Known {
    let namespaces = this.byUser.get(user)
    if (namespaces === undefined) this.byUser.set(user, namespaces = new Map())
    let known = namespaces.get(namespace)
    if (known === undefined) {
      const grants = this.collect(user, namespace)
      const reason = grants.missing.length === 0 ? "" : `RBAC: ${missingText(grants.missing)}`
      known = { grants, refused: { allowed: false, reason }, candidates: new Map() }
      namespaces.set(namespace, known)
    }
    return known
  }

  grants(user: UserInfo, namespace: string): Grants {
    return this.known(user, namespace).grants
  }

  authorize(user: UserInfo, attributes: Attributes): Decision {
    if (isMaster(user)) return unconditional
    const { candidates, grants, refused } = this.known(user, attributes._tag === "Path" ? "" : attributes.namespace)
    const key = keyOf(attributes)
    let found = candidates.get(key)
    if (found === undefined) {
      if (candidates.size >= memory) candidates.clear()
      candidates.set(key, found = applicable(grants, attributes))
    }
    const name = attributes._tag === "Path" ? "" : attributes.name
    for (const { decision, names } of found) if (names === undefined || names.includes(name)) return decision
    return refused
  }
}

const applicable = (grants: Grants, attributes: Attributes): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  for (const { rule, source } of grants.granted) {
    if (!PolicyRule.appliesTo(rule, attributes)) continue
    const names = attributes._tag === "Path" ? undefined : PolicyRule.namesOf(rule)
    found.push({ names, decision: { allowed: true, reason: `RBAC: allowed by ${source}` } })
    if (names === undefined) break
  }
  return found
}
