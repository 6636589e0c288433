/**
 * `Refusal`: the requests of an operator that its roles do not allow, from the audit events of a server, and what to
 * add to the options of its manifests.
 */
import * as Resource from "@effect-operator/core/Resource"
import { stringAt } from "../../api/Plain.ts"
import { CustomResourceDefinition } from "../../kinds/apiextensions.v1.ts"
import { ClusterRole, Role } from "../../kinds/rbac.v1.ts"
import { splitServiceAccount } from "../../api/UserInfo.ts"
import * as Audit from "./Audit.ts"

/** A request, in terms of RBAC. */
export interface Asked {
  readonly verb: string
  readonly group: string
  /** Includes the subresource: `pods/status`. */
  readonly resource: string
  /** `""` for all namespaces. */
  readonly namespace: string
  readonly name: string
}

/** The permissions that a request needed, by whether the user had them. */
export interface Decided {
  readonly allowed: ReadonlyArray<Asked>
  readonly refused: ReadonlyArray<Asked>
}

export const textOf = ({ group, name, namespace, resource, verb }: Asked): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`}${name === "" ? "" : ` ${JSON.stringify(name)}`}` +
  (namespace === "" ? " in all namespaces" : ` in namespace ${JSON.stringify(namespace)}`)

const askedBy = ({ objectRef = {}, verb }: Audit.Event): Asked => ({
  verb,
  group: objectRef.apiGroup ?? "",
  resource: objectRef.subresource === undefined
    ? objectRef.resource ?? ""
    : `${objectRef.resource}/${objectRef.subresource}`,
  namespace: objectRef.namespace ?? "",
  name: objectRef.name ?? ""
})

/** A refusal by the authorizer for a verb other than the request's. */
const refusal = / is forbidden: User ".*" cannot create resource /

/** A server-side apply that created its object, or was not allowed to, also needed `create`. */
const askedBesides = (event: Audit.Event, asked: Asked): Asked | undefined => {
  const { code, message = "" } = event.responseStatus
  return asked.verb === "patch" && (code === 201 || (code === 403 && refusal.test(message)))
    ? { ...asked, verb: "create" }
    : undefined
}

const writes: ReadonlySet<string> = new Set(["create", "update", "patch"])

/** The permission that is required for granting permissions which the user does not have. */
const handsOut = (event: Audit.Event, asked: Asked): Asked | undefined => {
  if (asked.group !== ClusterRole.group || !writes.has(asked.verb) || asked.resource.includes("/")) return undefined
  if (!asked.resource.endsWith("bindings")) return { ...asked, verb: "escalate" }
  const written = stringAt(event.requestObject, "roleRef", "name") === "" ? event.responseObject : event.requestObject
  const name = stringAt(written, "roleRef", "name")
  const { plural } = stringAt(written, "roleRef", "kind") === Role.kind ? Role : ClusterRole
  return name === "" ? undefined : { ...asked, verb: "bind", resource: plural, name }
}

const escalation = / is attempting to grant RBAC permissions not currently held/

/** The permission to make requests as this user. */
const becoming = (username: string): Asked => {
  const account = splitServiceAccount(username)
  return account === undefined
    ? { verb: "impersonate", group: "", resource: "users", namespace: "", name: username }
    : { verb: "impersonate", group: "", resource: "serviceaccounts", ...account }
}

/** A refusal to make requests as somebody else. */
const unbecoming =
  / is forbidden: User ".*" cannot impersonate resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?/

const unbecome = ({ responseStatus: { code, details, message = "" } }: Audit.Event): Asked | undefined => {
  const found = code === 403 ? unbecoming.exec(message) : null
  if (found === null) return undefined
  const [, resource = "", group = "", namespace = ""] = found
  return { verb: "impersonate", group, resource, namespace, name: details?.name ?? "" }
}

/** What a user requested; empty for other users, and for requests that are not for a resource. */
export const decided = (event: Audit.Event, username: string): Decided => {
  if (event.user.username !== username) return { allowed: [], refused: [] }
  // What somebody else may do is not up to the roles of this user.
  if (event.impersonatedUser !== undefined) {
    return { allowed: [becoming(event.impersonatedUser.username)], refused: [] }
  }
  const unallowed = unbecome(event)
  if (unallowed !== undefined) return { allowed: [], refused: [unallowed] }
  if (event.objectRef === undefined) return { allowed: [], refused: [] }
  const asked = askedBy(event)
  if (event.annotations?.[Audit.decisionAnnotation] === "forbid") return { allowed: [], refused: [asked] }
  const { code, message = "" } = event.responseStatus
  const besides = askedBesides(event, asked)
  if (besides !== undefined && code === 403) return { allowed: [asked], refused: [besides] }
  const handed = handsOut(event, asked)
  const allowed = [asked, besides].filter((one) => one !== undefined)
  if (handed === undefined) return { allowed, refused: [] }
  return code === 403 && escalation.test(message)
    ? { allowed, refused: [handed] }
    : { allowed: [...allowed, handed], refused: [] }
}

/** What to add to the options, and where. `kinds` are those that can be named. */
export const remedy = (
  kinds: ReadonlyArray<{ readonly group: string; readonly plural: string; readonly kind: string }>,
  { group, name, resource, verb }: Asked
): string => {
  if (verb === "bind" || verb === "escalate") {
    const role = resource === Role.plural ? Role.kind : ClusterRole.kind
    return `add the permissions of the role to \`writes\`, or add ` +
      `{ resource: ${role}, verbs: [${JSON.stringify(verb)}], names: [${JSON.stringify(name)}] }`
  }
  const [plural, subresource] = resource.split("/")
  const known = kinds.find((one) => one.group === group && one.plural === plural)
  const kind = known?.kind ?? `/* the kind of ${Resource.qualifiedName({ group, plural: plural! })} */`
  const write =
    `{ resource: ${kind}${subresource === undefined ? "" : `, subresource: ${JSON.stringify(subresource)}`}, ` +
    `verbs: [${JSON.stringify(verb)}] }`
  if (group === CustomResourceDefinition.group && plural === CustomResourceDefinition.plural) {
    return `for StoredVersions.migrate, list the kind in \`migrates\`; otherwise add ${write} to \`writes\``
  }
  return verb === "list" || verb === "watch"
    ? `declare the kind in \`owns\` or \`watches\` of the controller, or add ${write} to \`writes\``
    : `add ${write} to \`writes\``
}
