/**
 * `Refusal`: what an operator asked for and its roles do not allow, as the audit of a server tells it, and what to add to
 * the options of its manifests.
 */
import * as Resource from "@effect-operator/core/Resource"
import { CustomResourceDefinition } from "../../kinds/apiextensions.v1.ts"
import * as Audit from "./Audit.ts"

/** A request, as roles see it. */
export interface Asked {
  readonly verb: string
  readonly group: string
  /** With its subresource: `pods/status`. */
  readonly resource: string
  /** `""` for everywhere. */
  readonly namespace: string
  readonly name: string
}

/** What an event asked for, apart: what was allowed, and what was not. */
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

/** The authorizer's word, which is about another verb than the request's. */
const refusal = / is forbidden: User ".*" cannot create resource /

/** A server-side apply that made its object, or was not allowed to, has asked for `create` as well. */
const askedBesides = (event: Audit.Event, asked: Asked): Asked | undefined => {
  const { code, message = "" } = event.responseStatus
  return asked.verb === "patch" && (code === 201 || (code === 403 && refusal.test(message)))
    ? { ...asked, verb: "create" }
    : undefined
}

/** What a user asked for; nothing of others, nor of what is no resource. */
export const decided = (event: Audit.Event, username: string): Decided => {
  if (event.user.username !== username || event.objectRef === undefined) return { allowed: [], refused: [] }
  const asked = askedBy(event)
  if (event.annotations?.[Audit.decisionAnnotation] === "forbid") return { allowed: [], refused: [asked] }
  const besides = askedBesides(event, asked)
  if (besides === undefined) return { allowed: [asked], refused: [] }
  return event.responseStatus.code === 403
    ? { allowed: [asked], refused: [besides] }
    : { allowed: [asked, besides], refused: [] }
}

/** What to add, and where; a kind that is among these is named. */
export const remedy = (
  kinds: ReadonlyArray<{ readonly group: string; readonly plural: string; readonly kind: string }>,
  { group, resource, verb }: Asked
): string => {
  const [plural, subresource] = resource.split("/")
  const known = kinds.find((one) => one.group === group && one.plural === plural)
  const kind = known?.kind ?? `/* the kind of ${Resource.qualifiedName({ group, plural: plural! })} */`
  const write =
    `{ resource: ${kind}${subresource === undefined ? "" : `, subresource: ${JSON.stringify(subresource)}`}, ` +
    `verbs: [${JSON.stringify(verb)}] }`
  if (group === CustomResourceDefinition.group && plural === CustomResourceDefinition.plural) {
    return `name the kind in \`migrates\`, for StoredVersions.migrate; for anything else add ${write} to \`writes\``
  }
  return verb === "list" || verb === "watch"
    ? `declare the kind in \`owns\` or \`watches\` of the controller, or add ${write} to \`writes\``
    : `add ${write} to \`writes\``
}
