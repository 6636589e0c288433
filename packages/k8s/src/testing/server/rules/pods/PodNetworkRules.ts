/**
 * `PodNetworkRules`: validates host names, DNS and host networking of Pods.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validatePodDNSConfig`, `ValidateHostAliases`,
 * `validatePodHostNetworkDeps`.
 */
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, invalids, ip, when } from "../Checks.ts"

const mostServers = 3
const mostSearches = 32
const longestSearch = 2048

/** Search domains may contain underscores. */
const searchFaults = (name: string): ReadonlyArray<string> => {
  if (name === ".") return []
  const text = name.endsWith(".") ? name.slice(0, -1) : name
  const part = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
  const format = `${part}(\\.${part})*`
  return [
    ...Names.longName(text, 253),
    ...(new RegExp(`^${format}$`).test(text) ? [] : [
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start " +
      `and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${format}')`
    ])
  ]
}

/** Faults of the DNS policy and configuration. */
export const dns = (spec: unknown, path: string): Faults => {
  const config = at(spec, "dnsConfig")
  const here = `${path}.dnsConfig`
  const servers = arrayAt(config, "nameservers").map(String)
  const searches = arrayAt(config, "searches").map(String)
  if (stringAt(spec, "dnsPolicy") === "None" && servers.length === 0) {
    return config === undefined
      ? [FieldError.required(here, "must provide `dnsConfig` when `dnsPolicy` is None")]
      : [FieldError.required(
        `${here}.nameservers`,
        "must provide at least one DNS nameserver when `dnsPolicy` is None"
      )]
  }
  const tooMany = (found: number, max: number, field: string, value: unknown, what: string) =>
    when(found > max, FieldError.invalid(`${here}.${field}`, value, `must not have more than ${max} ${what}`))
  return [
    ...tooMany(servers.length, mostServers, "nameservers", servers, "nameservers"),
    ...servers.flatMap((server, index) => ip(`${here}.nameservers[${index}]`, server)),
    ...tooMany(searches.length, mostSearches, "searches", searches, "search paths"),
    ...tooMany(
      Names.byteLength(searches.join(" ")),
      longestSearch,
      "searches",
      searches,
      "characters (including spaces) in the search list"
    ),
    ...searches.flatMap((name, index) =>
      invalids(`${here}.searches[${index}]`, name === "." ? name : name.replace(/\.$/, ""), searchFaults(name))
    ),
    ...arrayAt(config, "options").flatMap((option, index) =>
      when(stringAt(option, "name") === "", FieldError.required(`${here}.options[${index}]`, "must not be empty"))
    )
  ]
}

/** Faults of host aliases. */
export const hostAliases = (spec: unknown, path: string): Faults =>
  arrayAt(spec, "hostAliases").flatMap((alias, index) => {
    const here = `${path}.hostAliases[${index}]`
    return [
      ...ip(`${here}.ip`, stringAt(alias, "ip")),
      ...arrayAt(alias, "hostnames").map(String).flatMap((name, place) =>
        invalids(`${here}.hostnames[${place}]`, name, Names.dnsSubdomain(name))
      )
    ]
  })

/** Faults of the override of the Pod's host name. */
export const hostnameOverride = (spec: unknown, path: string): Faults => {
  const name = at(spec, "hostnameOverride")
  if (typeof name !== "string") return []
  const here = `${path}.hostnameOverride`
  return [
    ...when(
      at(spec, "setHostnameAsFQDN") === true,
      FieldError.forbidden(here, "may not be specified when setHostnameAsFQDN is true")
    ),
    ...when(
      at(spec, "hostNetwork") === true,
      FieldError.forbidden(here, "may not be specified when hostNetwork is true")
    ),
    ...when(Names.byteLength(name) > 64, FieldError.tooLong(here, 64)),
    ...invalids(here, name, Names.dnsSubdomain(name))
  ]
}

/** Faults of ports with host networking, which must equal the container ports. In a template they need not be set. */
export const hostPorts = (spec: unknown, path: string, isPod: boolean): Faults =>
  at(spec, "hostNetwork") !== true ?
    [] :
    arrayAt(spec, "containers").flatMap((container, place) =>
      arrayAt(container, "ports").flatMap((port, index) => {
        const [host, own] = [at(port, "hostPort") ?? 0, at(port, "containerPort") ?? 0]
        return when(
          (isPod || host !== 0) && host !== own,
          FieldError.invalid(
            `${path}.containers[${place}].ports[${index}].hostPort`,
            host,
            "must match `containerPort` when `hostNetwork` is true"
          )
        )
      })
    )
