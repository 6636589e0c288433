/**
 * `FlowControl`: the FlowSchema of a request, which response headers name, and refusals on request of a test.
 *
 * The first FlowSchema, by precedence and then by name, that matches user, verb and resource or path applies. Its uid
 * and that of its PriorityLevelConfiguration are in every response to an authenticated request. Nothing is ever queued,
 * because this server has no load, but a test can simulate an overloaded server (see `ApiServer.throttle`).
 *
 * Source: k8s.io/apiserver/pkg/util/flowcontrol/rule.go and pkg/server/filters/priority-and-fairness.go.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import type { ApiResponse } from "../../api/Representation.ts"
import type { Storage } from "../../api/Storage.ts"
import type { UserInfo } from "../../api/UserInfo.ts"
import { type Attributes, combined } from "../../api/Attributes.ts"
import * as BootstrapFlows from "./BootstrapFlows.ts"

/** Whether a list in a rule contains a string or is `*`. */
const contains = (values: ReadonlyArray<unknown>, value: string): boolean =>
  (values.length === 1 && values[0] === "*") || values.includes(value)

const subjectMatches = (subject: unknown, user: UserInfo): boolean => {
  switch (stringAt(subject, "kind")) {
    case "User":
      return ["*", user.username].includes(stringAt(subject, "user", "name"))
    case "Group": {
      const name = stringAt(subject, "group", "name")
      return name === "*" || user.groups.includes(name)
    }
    case "ServiceAccount": {
      const [namespace, name] = [
        stringAt(subject, "serviceAccount", "namespace"),
        stringAt(subject, "serviceAccount", "name")
      ]
      return name === "*"
        ? user.username.startsWith(KubeClient.serviceAccount(namespace, ""))
        : user.username === KubeClient.serviceAccount(namespace, name)
    }
    default:
      return false
  }
}

const pathMatches = (pattern: string, path: string): boolean => {
  const beginning = pattern.endsWith("*") ? pattern.slice(0, -1) : pattern
  return pattern === "*" || pattern === path ||
    path.startsWith(beginning.endsWith("/") ? beginning : `${beginning}/`)
}

const ruleMatches = (rule: unknown, attributes: Attributes): boolean => {
  if (attributes._tag === "Path") {
    return arrayAt(rule, "nonResourceRules").some((entry) =>
      contains(arrayAt(entry, "verbs"), attributes.verb) &&
      arrayAt(entry, "nonResourceURLs").some((pattern) => pathMatches(String(pattern), attributes.path))
    )
  }
  return arrayAt(rule, "resourceRules").some((entry) =>
    contains(arrayAt(entry, "verbs"), attributes.verb) &&
    contains(arrayAt(entry, "resources"), combined(attributes)) &&
    contains(arrayAt(entry, "apiGroups"), attributes.group) &&
    (attributes.namespace === ""
      ? at(entry, "clusterScope") === true
      : contains(arrayAt(entry, "namespaces"), attributes.namespace))
  )
}

const precedence = (schema: KubeObject): number => Number(at(schema, "spec", "matchingPrecedence") ?? 1000)

export type Headers = Readonly<Record<string, string>>

/** A FlowSchema with the response headers of its requests. */
interface Lane {
  readonly schema: KubeObject
  readonly headers: Headers
}

const lanesOf = (storage: Storage): ReadonlyArray<Lane> => {
  const { get, keys } = storage.list(BootstrapFlows.schemas)
  return keys.map(get)
    .sort((a, b) => precedence(a) - precedence(b))
    .map((schema) => {
      const level = storage.get(BootstrapFlows.levels, stringAt(schema, "spec", "priorityLevelConfiguration", "name"))
      return {
        schema,
        headers: {
          "x-kubernetes-pf-flowschema-uid": schema.metadata.uid,
          "x-kubernetes-pf-prioritylevel-uid": level?.metadata.uid ?? ""
        }
      }
    })
}

/** A rule that applies to a user; `whole` if it matches every request. */
interface Way {
  readonly rule: unknown
  readonly whole: boolean
  readonly headers: Headers
}

/** Whether a rule matches every request. */
const isWhole = (rule: unknown): boolean =>
  arrayAt(rule, "nonResourceRules").some((entry) => isAll(entry, "verbs") && isAll(entry, "nonResourceURLs")) &&
  arrayAt(rule, "resourceRules").some((entry) =>
    at(entry, "clusterScope") === true &&
    ["verbs", "resources", "apiGroups", "namespaces"].every((key) => isAll(entry, key))
  )

const isAll = (entry: unknown, key: string): boolean => contains(arrayAt(entry, key), "*")

/** The rules for a user in order, up to the first that matches every request. */
const waysOf = (lanes: ReadonlyArray<Lane>, user: UserInfo): ReadonlyArray<Way> => {
  const ways: Array<Way> = []
  for (const { headers, schema } of lanes) {
    for (const rule of arrayAt(schema, "spec", "rules")) {
      if (!arrayAt(rule, "subjects").some((subject) => subjectMatches(subject, user))) continue
      const whole = isWhole(rule)
      ways.push({ rule, whole, headers })
      if (whole) return ways
    }
  }
  return ways
}

/** Returns the headers of requests according to the stored objects. */
export const make = (storage: Storage): (user: UserInfo, attributes: Attributes) => Headers => {
  let lanes: ReadonlyArray<Lane> | undefined
  let byUser = new WeakMap<UserInfo, ReadonlyArray<Way>>()
  storage.listen((change) => {
    if (change.collection !== BootstrapFlows.schemas && change.collection !== BootstrapFlows.levels) return
    lanes = undefined
    byUser = new WeakMap()
  })
  return (user, attributes) => {
    let ways = byUser.get(user)
    if (ways === undefined) byUser.set(user, ways = waysOf(lanes ??= lanesOf(storage), user))
    for (const { headers, rule, whole } of ways) if (whole || ruleMatches(rule, attributes)) return headers
    return {}
  }
}

/** The response of an overloaded server. */
export const overloaded = (retryAfterSeconds: number): ApiResponse => ({
  status: 429,
  headers: {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "retry-after": String(retryAfterSeconds)
  },
  body: "Too many requests, please try again later.\n"
})
