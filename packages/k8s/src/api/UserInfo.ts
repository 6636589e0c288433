/**
 * `UserInfo`: the authenticated user of a request, and the user and group names that are special to a server.
 *
 * Source: k8s.io/apiserver/pkg/authentication/user and pkg/authentication/serviceaccount.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as Names from "./Names.ts"

export interface UserInfo {
  readonly username: string
  readonly groups: ReadonlyArray<string>
  readonly uid?: string
  /** Additional attributes of the user, by key. */
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
}

export const masters = "system:masters"
export const authenticated = "system:authenticated"
export const unauthenticated = "system:unauthenticated"

/** The user of in-process requests that name none: an administrator. */
export const administrator: UserInfo = { username: "kubernetes-admin", groups: [masters, authenticated] }

/** The user of requests without credentials over a network. */
export const anonymous: UserInfo = { username: "system:anonymous", groups: [unauthenticated] }

/** Members of `system:masters` may do everything, whatever the roles say. */
export const isMaster = (user: UserInfo): boolean => user === administrator || user.groups.includes(masters)

/** The user with `system:authenticated` among the groups, as for every user with credentials. */
export const known = (user: UserInfo): UserInfo =>
  user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] }

const prefix = "system:serviceaccount:"

/** The groups of every service account of a namespace. */
export const serviceAccountGroups = (namespace: string): ReadonlyArray<string> => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`
]

/** A service account, as its token would authenticate it. */
export const serviceAccount = (
  namespace: string,
  name: string,
  more: Pick<UserInfo, "uid" | "extra"> = {}
): UserInfo => ({
  username: KubeClient.serviceAccount(namespace, name),
  groups: [...serviceAccountGroups(namespace), authenticated],
  ...more
})

/** The namespace and name of the service account in a user name. */
export const splitServiceAccount = (
  username: string
): { readonly namespace: string; readonly name: string } | undefined => {
  if (!username.startsWith(prefix)) return undefined
  const [namespace, name, ...rest] = username.slice(prefix.length).split(":")
  return name === undefined || rest.length > 0 || Names.dnsLabel(namespace!).length > 0 ||
      Names.dnsSubdomain(name).length > 0
    ? undefined
    : { namespace: namespace!, name }
}

/** The user in reviews and audit events, without empty fields. */
export const toApi = (user: UserInfo): Readonly<Record<string, unknown>> => ({
  username: user.username,
  ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
  ...(user.groups.length === 0 ? {} : { groups: user.groups }),
  ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra })
})
