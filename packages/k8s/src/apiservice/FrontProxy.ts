/**
 * `FrontProxy`: who asks, as the cluster's aggregator says.
 *
 * The aggregator shows a certificate and names the user in headers. Which authority signs that certificate, which common
 * names may be on it and which headers there are stands in a ConfigMap of every cluster. Whoever comes without such a
 * certificate is nobody, whatever headers he sends. A user is one of `system:authenticated`, whether or not the headers
 * say so.
 *
 * Source: k8s.io/apiserver/pkg/authentication/request/headerrequest.
 */
import type { ConfigMap } from "../kinds/core.v1.ts"
import { known, type UserInfo } from "../api/UserInfo.ts"

/** Where the configuration is. */
export const configMap = { namespace: "kube-system", name: "extension-apiserver-authentication" } as const

/** The role that may read it, in the same namespace, in every cluster. */
export const readerRole = "extension-apiserver-authentication-reader"

/** What the ConfigMap says. */
export interface Trust {
  readonly clientAuthorityPem: string
  /** Common names; any if empty. */
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

/** Reads the ConfigMap; nothing where it names no authority or no header. */
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

/** Headers as they came: names and values by turns. */
export const headersOf = (raw: ReadonlyArray<string>): Headers => {
  const headers: Record<string, Array<string>> = {}
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

/** The user that the headers name; nothing where the peer, by its verified common name, may not say so. */
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
