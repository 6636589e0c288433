/**
 * `FrontProxy`: authenticates users as the cluster's aggregator reports them.
 *
 * The aggregator presents a client certificate and names the user in headers. A ConfigMap of every cluster holds the
 * authority that signs the certificate, the allowed common names, and the names of the headers. Without such a
 * certificate a request has no user, whatever its headers say. Every user is in `system:authenticated`, whether or not
 * the headers say so.
 *
 * Source: k8s.io/apiserver/pkg/authentication/request/headerrequest.
 */
import type { ConfigMap } from "../kinds/core.v1.ts"
import { known, type UserInfo } from "../api/UserInfo.ts"

/** The ConfigMap with the configuration. */
export const configMap = { namespace: "kube-system", name: "extension-apiserver-authentication" } as const

/** The role in the same namespace that may read it; every cluster has it. */
export const readerRole = "extension-apiserver-authentication-reader"

/** The contents of the ConfigMap. */
export interface Trust {
  readonly clientAuthorityPem: string
  /** Allowed common names; any if empty. */
  readonly allowedNames: ReadonlyArray<string>
  /** Header names in lower case. */
  readonly username: ReadonlyArray<string>
  readonly uid: ReadonlyArray<string>
  readonly group: ReadonlyArray<string>
  readonly extraPrefix: ReadonlyArray<string>
}

const names = (text: string | undefined): ReadonlyArray<string> => {
  try {
    const value: unknown = JSON.parse(text ?? "[]")
    return Array.isArray(value) ? value.filter((name) => typeof name === "string") : []
  } catch {
    return []
  }
}

const lower = (text: string | undefined): ReadonlyArray<string> => names(text).map((name) => name.toLowerCase())

/** Reads the ConfigMap; undefined if it has no authority or no header for the user name. */
export const read = ({ data = {} }: Pick<ConfigMap, "data">): Trust | undefined => {
  const clientAuthorityPem = data["requestheader-client-ca-file"] ?? ""
  const username = lower(data["requestheader-username-headers"])
  return clientAuthorityPem === "" || username.length === 0 ? undefined : {
    clientAuthorityPem,
    allowedNames: names(data["requestheader-allowed-names"]),
    username,
    uid: lower(data["requestheader-uid-headers"]),
    group: lower(data["requestheader-group-headers"]),
    extraPrefix: lower(data["requestheader-extra-headers-prefix"])
  }
}

/** Header values by name in lower case. */
export type Headers = Readonly<Record<string, ReadonlyArray<string>>>

/** From raw headers: names and values alternate. */
export const headersOf = (raw: ReadonlyArray<string>): Headers => {
  // A client chooses the names, which may be those of what every object inherits.
  const headers = Object.create(null) as Record<string, Array<string>>
  for (let i = 0; i + 1 < raw.length; i += 2) (headers[raw[i]!.toLowerCase()] ??= []).push(raw[i + 1]!)
  return headers
}

const unescaped = (key: string): string => {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

const first = (headers: Headers, wanted: ReadonlyArray<string>): string | undefined =>
  wanted.map((name) => headers[name]?.[0]?.trim() ?? "").find((value) => value !== "")

const extraOf = (headers: Headers, prefixes: ReadonlyArray<string>): Record<string, ReadonlyArray<string>> =>
  Object.fromEntries(
    prefixes.flatMap((prefix) =>
      Object.entries(headers).filter(([name]) => name.startsWith(prefix) && name !== prefix).map((
        [name, values]
      ) => [unescaped(name.slice(prefix.length)), values])
    )
  )

/** The user that the headers name; undefined if the peer, identified by its verified common name, may not name one. */
export const identify = (trust: Trust, peer: string | undefined, headers: Headers): UserInfo | undefined => {
  if (peer === undefined || (trust.allowedNames.length > 0 && !trust.allowedNames.includes(peer))) return undefined
  const username = first(headers, trust.username)
  if (username === undefined) return undefined
  const uid = first(headers, trust.uid)
  const extra = extraOf(headers, trust.extraPrefix)
  return known({
    username,
    groups: trust.group.flatMap((name) => headers[name] ?? []),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra })
  })
}
