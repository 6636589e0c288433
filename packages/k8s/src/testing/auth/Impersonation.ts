/**
 * `Impersonation`: requests that are made in the name of another user (`kubectl --as`).
 *
 * Every header is authorized separately: may the user `impersonate` this user or service account, each of these groups,
 * each extra value, this uid? One refusal refuses the request. Impersonating a service account without groups implies
 * the account's groups. `system:authenticated` is added to the requested groups, or `system:unauthenticated` for the
 * anonymous user.
 *
 * Headers have one value here: several groups are separated by a comma and a space, as Node joins repeated headers.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation/impersonation.go.
 */
import * as Result from "effect/Result"
import {
  anonymous,
  authenticated,
  serviceAccountGroups,
  splitServiceAccount,
  unauthenticated,
  type UserInfo
} from "../../api/UserInfo.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Attributes from "../../api/Attributes.ts"
import type { Authorizer } from "./Rbac.ts"

type Headers = Readonly<Record<string, string>>

const extraPrefix = "impersonate-extra-"

/** The requested identity, by header. */
interface Wanted {
  readonly user: string
  readonly uid: string
  readonly groups: ReadonlyArray<string>
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

const values = (header: string | undefined): ReadonlyArray<string> => header === undefined ? [] : header.split(", ")

/** A key is part of a header name, in which some characters are percent-encoded. */
const extraKey = (name: string): string => {
  const encoded = name.slice(extraPrefix.length).toLowerCase()
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** Whether a request impersonates another user. */
export const isAsked = (headers: Headers): boolean => {
  for (const name in headers) if (name.startsWith("impersonate-")) return true
  return false
}

const wantedOf = (headers: Headers): Wanted => ({
  user: headers["impersonate-user"] ?? "",
  uid: headers["impersonate-uid"] ?? "",
  groups: values(headers["impersonate-group"]),
  extra: Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith(extraPrefix)).map((
      [name, value]
    ) => [extraKey(name), values(value)])
  )
})

const authentication = "authentication.k8s.io"

/** The permissions to check, in order. */
const questions = ({ extra, groups, uid, user }: Wanted): ReadonlyArray<Attributes.ResourceAttributes> => {
  const account = splitServiceAccount(user)
  const ask = (resource: string, name: string, more: Partial<Attributes.ResourceAttributes> = {}) =>
    Attributes.resource({ verb: "impersonate", resource, name, ...more })
  return [
    account === undefined
      ? ask("users", user)
      : ask("serviceaccounts", account.name, { namespace: account.namespace }),
    ...groups.map((group) => ask("groups", group)),
    ...Object.entries(extra).flatMap(([subresource, all]) =>
      all.map((value) => ask("userextras", value, { group: authentication, version: "v1", subresource }))
    ),
    ...(uid === "" ? [] : [ask("uids", uid, { group: authentication, version: "v1" })])
  ]
}

/** The 400 of a request with groups and the like but without a user, with the list as Go prints it. */
const nobody = ({ extra, groups, uid }: Wanted): StatusError.StatusError => {
  const asked = [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...Object.entries(extra).flatMap(([key, all]) =>
      all.map((value) => `{UserExtra  ${value}  ${authentication}/v1  ${key}}`)
    ),
    ...(uid === "" ? [] : [`{UID  ${uid}  ${authentication}/v1  }`])
  ]
  return {
    ...StatusError.badRequest(`requested [${asked.join(" ")}] without impersonating a user`),
    headers: { "x-content-type-options": "nosniff" }
  }
}

/** The impersonated user. */
const becomes = ({ extra, groups, uid, user }: Wanted): UserInfo => {
  const account = splitServiceAccount(user)
  const named = groups.length > 0 || account === undefined ? groups : serviceAccountGroups(account.namespace)
  const told = user === anonymous.username
    ? named.includes(unauthenticated)
    : named.includes(authenticated) || named.includes(unauthenticated)
  const implied = user === anonymous.username ? unauthenticated : authenticated
  return {
    username: user,
    groups: told ? named : [...named, implied],
    ...(uid === "" ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra })
  }
}

/** The number of users to keep, so that the authorizer's cache for them stays valid. */
const memory = 100

/** Returns the user as whom a request is answered. Requests without such headers need no check. */
export const make = (
  authorizer: Authorizer
): (headers: Headers, user: UserInfo) => Result.Result<UserInfo, StatusError.StatusError> => {
  const users = new Map<string, UserInfo>()
  const remembered = (user: UserInfo): UserInfo => {
    const key = JSON.stringify(user)
    const known = users.get(key)
    if (known !== undefined) return known
    if (users.size >= memory) users.clear()
    users.set(key, user)
    return user
  }
  return (headers, user) => {
    const wanted = wantedOf(headers)
    if (wanted.user === "") {
      return wanted.uid === "" && wanted.groups.length === 0 && Object.keys(wanted.extra).length === 0
        ? Result.succeed(user)
        : Result.fail(nobody(wanted))
    }
    for (const attributes of questions(wanted)) {
      const { allowed, reason } = authorizer.authorize(user, attributes)
      if (!allowed) return Result.fail(Attributes.forbidden(user, attributes, reason))
    }
    return Result.succeed(remembered(becomes(wanted)))
  }
}

/** The headers without those for impersonation. */
export const without = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith("impersonate-")))
