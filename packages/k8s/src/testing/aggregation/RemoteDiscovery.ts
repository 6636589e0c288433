/**
 * `RemoteDiscovery`: the resources of a remote group version, in the form of aggregated discovery.
 *
 * The backend is asked for aggregated discovery first, and for its classic resource list if it does not have that.
 *
 * Source: k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go and k8s.io/apiserver/pkg/endpoints/installer.go
 * (`ConvertGroupVersionIntoToDiscovery`).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ApiServices from "./ApiServices.ts"
import { aggregator } from "./Availability.ts"
import * as Backends from "../Backends.ts"
import type { JsonObject } from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"

/** The resources of a group version; `Stale` if the last attempt to read them failed. */
export interface Entry {
  readonly resources: ReadonlyArray<unknown> | undefined
  readonly freshness: "Current" | "Stale"
}

const accept = ["v2", "v2beta1"].map((version) =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
).join(",")

const kindOf = (resource: unknown) => ({
  group: stringAt(resource, "group"),
  version: stringAt(resource, "version"),
  kind: stringAt(resource, "kind")
})

const list = (resource: unknown, key: string): JsonObject => {
  const values = arrayAt(resource, key)
  return values.length === 0 ? {} : { [key]: values }
}

/** Converts the classic list: subresources are nested in their resource. */
export const fromClassic = (document: unknown): ReadonlyArray<unknown> => {
  const entries = arrayAt(document, "resources")
  const subresources = new Map<string, Array<unknown>>()
  for (const entry of entries) {
    const [parent = "", ...rest] = stringAt(entry, "name").split("/")
    if (rest.length === 0) continue
    const known = subresources.get(parent) ?? []
    known.push({
      subresource: rest.join("/"),
      ...(stringAt(entry, "kind") === "" ? {} : { responseKind: kindOf(entry) }),
      verbs: arrayAt(entry, "verbs")
    })
    subresources.set(parent, known)
  }
  return entries.filter((entry) => !stringAt(entry, "name").includes("/")).map((entry) => {
    const name = stringAt(entry, "name")
    const below = subresources.get(name)
    return {
      resource: name,
      responseKind: kindOf(entry),
      scope: at(entry, "namespaced") === true ? "Namespaced" : "Cluster",
      singularResource: stringAt(entry, "singularName"),
      verbs: arrayAt(entry, "verbs"),
      ...list(entry, "shortNames"),
      ...list(entry, "categories"),
      ...(below === undefined ? {} : { subresources: below })
    }
  })
}

const fromAggregated = (document: unknown, group: string, version: string): ReadonlyArray<unknown> | undefined => {
  const found = arrayAt(document, "items").find((item) => stringAt(item, "metadata", "name") === group)
  const own = arrayAt(found, "versions").find((entry) => stringAt(entry, "version") === version)
  return own === undefined ? undefined : arrayAt(own, "resources")
}

/** Reads discovery from the backend of an APIService. */
export const read = (
  apiService: KubeObject,
  calls: Backends.Calls,
  trust: Pick<Backends.Call, "caBundle" | "insecureSkipTlsVerify" | "certificate">
): Effect.Effect<Entry> => {
  const reference = ApiServices.serviceOf(apiService)
  const stale: Entry = { resources: undefined, freshness: "Stale" }
  if (reference === undefined) return Effect.succeed(stale)
  const [group, version] = [ApiServices.groupOf(apiService), ApiServices.versionOf(apiService)]
  const ask = (path: string, accepted: string) =>
    calls.call({
      target: { service: reference },
      ...trust,
      method: "GET",
      path,
      headers: { accept: accepted, ...aggregator },
      timeout: "5 seconds"
    })
  const body = (reply: Backends.Reply): JsonObject => objectAt(Result.getOrUndefined(Backends.json(reply.body)))
  const read = Effect.gen(function*() {
    const whole = yield* ask("/apis", accept)
    if (whole.status === 503) return stale
    if (whole.status === 200 && (whole.headers["content-type"] ?? "").includes("as=APIGroupDiscoveryList")) {
      return { resources: fromAggregated(body(whole), group, version), freshness: "Current" } as const
    }
    const classic = yield* ask(`/apis/${group}/${version}`, "application/json")
    return classic.status === 200
      ? { resources: fromClassic(body(classic)), freshness: "Current" } as const
      : stale
  })
  return Effect.orElseSucceed(read, () => stale)
}
