/**
 * `CelVariables`: the variables for an admission request in CEL expressions, in match conditions and policies.
 *
 * `request` has the fields of its JSON form in Go: name, namespace, subresource and parts of the user are missing if
 * they are empty. Objects are passed as they are. `authorizer` checks the permissions of the requesting user, or of a
 * service account.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/cel/{activation,condition}.go.
 */
import type { Attributes, Kind, Server } from "../Admission.ts"
import * as Cel from "../../cel/Cel.ts"
import * as Authorizer from "../../cel/library/Authorizer.ts"
import type { Served } from "../server/Registry.ts"
import { serviceAccount, splitServiceAccount } from "../../api/UserInfo.ts"
import type { Seen } from "./AdmissionReview.ts"

export type Variables = Readonly<Record<string, Cel.Value>>

const kindOf = ({ group, kind, version }: Kind) => ({ group, version, kind })
const resourceOf = ({ group, plural, version }: Served) => ({ group, version, resource: plural })

const isEmpty = (value: unknown): boolean =>
  value === "" || value === undefined || typeof value === "object" && Object.keys(value ?? {}).length === 0

const withoutEmpty = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))

/** The variable `request`. */
const request = ({ attributes, kind, resource }: Seen) => {
  const { dryRun, name, namespace, operation, subresource, user } = attributes
  return {
    kind: kindOf(kind),
    resource: resourceOf(resource),
    requestKind: kindOf(attributes.kind),
    requestResource: resourceOf(attributes.resource),
    ...withoutEmpty({ subResource: subresource, requestSubResource: subresource, name, namespace }),
    operation,
    userInfo: withoutEmpty({ username: user.username, uid: user.uid, groups: user.groups, extra: user.extra }),
    dryRun,
    options: attributes.options() ?? null
  }
}

/** The decisions behind `authorizer`. */
const decider = ({ authorizer }: Pick<Server, "authorizer">, { user }: Attributes): Authorizer.Decide => (question) => {
  const account = question.user === undefined ? undefined : splitServiceAccount(question.user)
  const asking = account === undefined ? user : serviceAccount(account.namespace, account.name)
  const { allowed, reason } = authorizer.authorize(
    asking,
    question._tag === "Path"
      ? { _tag: "Path", verb: question.verb, path: question.path }
      : {
        _tag: "Resource",
        verb: question.verb,
        group: question.group,
        version: "*",
        resource: question.resource,
        subresource: question.subresource,
        namespace: question.namespace,
        name: question.name
      }
  )
  return { allowed, reason }
}

/** The variables of a request, in the view of one webhook or policy. */
export const make = (server: Pick<Server, "authorizer">, seen: Seen): Variables => {
  const { attributes, object, oldObject } = seen
  const { name, namespace, resource, subresource } = attributes
  const decide = decider(server, attributes)
  return {
    object: Cel.fromJson(object),
    oldObject: Cel.fromJson(oldObject),
    request: Cel.fromJson(request(seen)),
    authorizer: Authorizer.value(decide),
    "authorizer.requestResource": Authorizer.requestResource(decide, {
      group: resource.group,
      resource: resource.plural,
      subresource,
      namespace,
      name
    })
  }
}
