/**
 * `Rbac`: who may do what, by the Roles, ClusterRoles and their bindings in the store.
 *
 * Rules only ever add up: a request is allowed if a rule of any role that is bound to its user, to one of its user's
 * groups or to its user's service account allows it, in all namespaces by a ClusterRoleBinding, in one by a RoleBinding
 * there. The first such rule is named as the reason; bindings are asked in order of their names, ClusterRoleBindings
 * first (a real server's order changes from start to start). A binding to a role that is not there is told in the
 * reason of a refusal.
 *
 * A change of any of the four kinds counts from the next request on; a real server takes some milliseconds. What was
 * found out about a user is remembered until then, so that a further request of the same kind costs three lookups.
 * Members of `system:masters` are never asked about.
 *
 * Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac and pkg/registry/rbac/validation/rule.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as FieldError from "../../schema/FieldError.ts"
import { arrayAt, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import { isMaster, serviceAccountName, type UserInfo } from "../../api/UserInfo.ts"
import { type Attributes, combined } from "../../api/Attributes.ts"
import * as PolicyRule from "./PolicyRule.ts"

export const group = "rbac.authorization.k8s.io"

/** Where the four kinds are stored. */
export const collections = {
  roles: `roles.${group}`,
  clusterRoles: `clusterroles.${group}`,
  roleBindings: `rolebindings.${group}`,
  clusterRoleBindings: `clusterrolebindings.${group}`
} as const

export interface Decision {
  readonly allowed: boolean
  /** Why; `""` where there is nothing to say. */
  readonly reason: string
}

/** A rule, and the binding that gives it to a user. */
export interface Granted {
  readonly rule: PolicyRule.PolicyRule
  /** `ClusterRoleBinding "view-all" of ClusterRole "view" to Group "dev"`. */
  readonly source: string
}

/** Everything a user may do in a namespace, or outside of any. */
export interface Grants {
  readonly granted: ReadonlyArray<Granted>
  /** The kinds and names of roles that are bound and not there. */
  readonly missing: ReadonlyArray<{ readonly kind: string; readonly name: string }>
}

/** Who asks a server whether somebody may do something. */
export interface Authorizer {
  readonly authorize: (user: UserInfo, attributes: Attributes) => Decision
  readonly grants: (user: UserInfo, namespace: string) => Grants
}

const unconditional: Decision = { allowed: true, reason: "" }

/** What `missing` amounts to in an answer: several are put in brackets. */
export const missingText = (
  missing: Grants["missing"],
  name: (kind: string) => string = (kind) => kind.toLowerCase()
): string =>
  FieldError.aggregateTexts(
    missing.map((role) => `${name(role.kind)}.${group} ${FieldError.quote(role.name)} not found`)
  )

/** The first of a binding's subjects that is this user. */
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
        return home !== "" && user.username === serviceAccountName(home, name)
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

/** The answers to one kind of question: rules that apply, in order, up to the first that is not limited to names. */
interface Candidate {
  readonly names: ReadonlyArray<string> | undefined
  readonly decision: Decision
}

/** What is known of a user in a namespace. */
interface Known {
  readonly grants: Grants
  readonly refused: Decision
  readonly candidates: Map<string, ReadonlyArray<Candidate>>
}

/** Questions remembered of one user in one namespace: paths may be anything. */
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

  /** The rules of the role that a binding refers to; undefined where there is none. */
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
