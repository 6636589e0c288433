/**
 * `DiscoveryDocuments`: the discovery documents of an API server, in the classic form of many small documents and in
 * the aggregated form (`as=APIGroupDiscoveryList`), which carries an ETag.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/discovery.
 */
import type { Request } from "@effect-operator/core/Transport"
import { createHash } from "node:crypto"
import type { ServedResource, ServedSubresource } from "../kinds/tables.ts"
import * as Negotiation from "./Negotiation.ts"
import type { ApiResponse } from "./Representation.ts"

/** A resource in one version, with the collection and the version in which it is stored. */
export interface Told extends ServedResource {
  readonly collection: string
  readonly storageVersion: string
}

/** A group, in the order of `/apis`. */
export interface Group {
  readonly name: string
  /** The preferred version first. */
  readonly versions: ReadonlyArray<string>
}

const hash = (text: string): Buffer => createHash("sha256").update(text).digest()

const groupVersion = (group: string, name: string) => ({
  groupVersion: group === "" ? name : `${group}/${name}`,
  version: name
})

export const groupOf = ({ name, versions }: Group) => ({
  name,
  versions: versions.map((entry) => groupVersion(name, entry)),
  preferredVersion: groupVersion(name, versions[0]!)
})

const nonEmpty = (key: string, values: ReadonlyArray<string>) => (values.length === 0 ? {} : { [key]: values })

/**
 * Collections stored in another group version: both kinds of Event, and kinds that older servers must still be able to
 * read.
 */
const forms: Readonly<Record<string, string>> = {
  events: "/v1",
  "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/v1beta1",
  "volumeattributesclasses.storage.k8s.io": "storage.k8s.io/v1beta1"
}

/** The hash of the group, version and kind that is stored. */
const storageHash = ({ collection, group, kind, storageVersion, verbs }: Told) =>
  verbs.includes("watch")
    ? {
      storageVersionHash: hash(`${forms[collection] ?? `${group}/${storageVersion}`}/${kind}`)
        .subarray(0, 8).toString("base64")
    }
    : {}

const foreign = (resource: Told, entry: Pick<ServedSubresource, "group" | "version">) =>
  entry.group === resource.group && entry.version === resource.version
    ? {}
    : { group: entry.group, version: entry.version }

export const entriesOf = (resource: Told): ReadonlyArray<unknown> => {
  const namespaced = resource.scope === "Namespaced"
  return [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...nonEmpty("shortNames", resource.shortNames),
      ...nonEmpty("categories", resource.categories),
      ...storageHash(resource)
    },
    ...resource.subresources.map((entry) => ({
      name: `${resource.plural}/${entry.name}`,
      singularName: "",
      namespaced,
      ...foreign(resource, entry),
      kind: entry.kind,
      verbs: entry.verbs
    }))
  ]
}

export const aggregatedResource = (resource: Told) => {
  const { categories, group, kind, plural, scope, shortNames, singular, subresources, verbs, version } = resource
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: scope === "Namespaced" ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...nonEmpty("shortNames", shortNames),
    ...nonEmpty("categories", categories),
    ...(subresources.length === 0 ? {} : {
      subresources: subresources.map((entry) => ({
        subresource: entry.name,
        responseKind: { group: entry.group, version: entry.version, kind: entry.kind },
        verbs: entry.verbs
      }))
    })
  }
}

/**
 * As `aggregatedResource`, for a kind that is built into the server. Those were registered with the internal version of
 * their kinds, so the document has neither group nor version.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/installer.go `ConvertGroupVersionIntoToDiscovery`; compared with a
 * kube-apiserver.
 */
export const aggregatedBuiltin = (resource: Told) => {
  const untold = <A extends { readonly responseKind: { readonly group: string; readonly version: string } }>(
    entry: A
  ) =>
    entry.responseKind.group === resource.group && entry.responseKind.version === resource.version
      ? { ...entry, responseKind: { ...entry.responseKind, group: "", version: "" } }
      : entry
  const told = aggregatedResource(resource)
  return {
    ...untold(told),
    ...(told.subresources === undefined ? {} : { subresources: told.subresources.map(untold) })
  }
}

/**
 * The version of the aggregated form that a client accepts, out of the supported ones. It has precedence over the
 * classic form, wherever it stands in the Accept header.
 */
export const aggregatedForm = (request: Request, spoken: ReadonlyArray<string> = ["v2"]): string | undefined =>
  Negotiation.parseAccept(request.headers["accept"]).map(({ parameters }) => parameters)
    .find(({ as, g, v }) =>
      as === "APIGroupDiscoveryList" && g === "apidiscovery.k8s.io" && v !== undefined && spoken.includes(v)
    )?.["v"]

/** The groups in the requested version of the aggregated form. */
export const aggregated = (request: Request, items: ReadonlyArray<unknown>, form: string): ApiResponse => {
  const body = { kind: "APIGroupDiscoveryList", apiVersion: `apidiscovery.k8s.io/${form}`, metadata: {}, items }
  const etag = `"${hash(JSON.stringify(body)).toString("hex").toUpperCase()}"`
  const headers = {
    "content-type": `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`,
    etag,
    // Not secret, and cheaper to revalidate by ETag than to fetch again.
    "cache-control": "public",
    vary: "Accept"
  }
  return request.headers["if-none-match"] === etag ? { status: 304, headers } : { status: 200, headers, body }
}
