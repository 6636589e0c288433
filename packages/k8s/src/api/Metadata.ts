/**
 * `Metadata`: what an API server does with the metadata of a write: fields that only the server sets, duplicate owner
 * references, the resourceVersion that a write expects, and the fields that count for the generation.
 *
 * Source: k8s.io/apiserver/pkg/registry/rest/{create,update,meta}.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import * as FieldError from "../schema/FieldError.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import { storageKey, timestamp, uuid } from "./Identity.ts"
import * as MetadataRules from "./MetadataRules.ts"
import * as StatusError from "./StatusError.ts"

type Refused = StatusError.StatusError

/** A write in progress. */
export interface Writing {
  readonly resource: StatusError.Target & {
    readonly strategy: { readonly generation: boolean | "first" | "later"; readonly unconditionalUpdate: boolean }
  }
  readonly route: { readonly name: string }
  /** Milliseconds since 1970. */
  readonly now: number
  readonly random: () => number
  /** Texts of Warning headers; rules append to it. */
  readonly warnings: Array<string>
}

/** The fields that the server sets in new metadata, whatever the client sent. */
export const systemMetadata = (
  writing: Pick<Writing, "now" | "random" | "resource">,
  object: KubeObject,
  name: string
): KubeObject["metadata"] => {
  const {
    creationTimestamp: _,
    deletionGracePeriodSeconds: __,
    deletionTimestamp: ___,
    name: ____,
    uid: _____,
    ...rest
  } = object.metadata
  return {
    ...(name === "" ? {} : { name }),
    ...rest,
    uid: uuid(writing.random),
    creationTimestamp: timestamp(writing.now),
    ...([true, "first"].includes(writing.resource.strategy.generation) ? { generation: 1 } : {})
  } as KubeObject["metadata"]
}

/** Merges duplicate owner references, with a warning. */
export const mergeOwners = (writing: Pick<Writing, "warnings">, object: KubeObject, when = ""): KubeObject => {
  const given = object.metadata.ownerReferences ?? []
  const { references, repeated } = MetadataRules.dedupeOwnerReferences(given)
  if (!repeated) return object
  const uids = [...Map.groupBy(given, ({ uid }) => uid)].flatMap(([uid, { length }]) => length > 1 ? [uid] : [])
  writing.warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and ` +
      `may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${
        uids.join(", ")
      }`
  )
  return { ...object, metadata: { ...object.metadata, ownerReferences: references } }
}

/** Whether a resourceVersion expects a specific version: any number but "0". */
export const setVersion = (version: string | undefined): boolean =>
  version !== undefined && /^\d+$/.test(version) && BigInt(version) !== 0n

/** The resourceVersion that a write expects; `undefined` for none. */
const namedVersion = (object: KubeObject): Result.Result<bigint | undefined, Refused> => {
  const text = object.metadata.resourceVersion ?? ""
  if (text === "") return Result.succeed(undefined)
  if (!/^\d+$/.test(text)) {
    return Result.fail(StatusError.plain(`strconv.ParseUint: parsing ${FieldError.quote(text)}: invalid syntax`))
  }
  const version = BigInt(text)
  return Result.succeed(version === 0n ? undefined : version)
}

/** Why a write may not replace the stored version. */
export const versionFault = (
  { resource, route }: Pick<Writing, "resource" | "route">,
  next: KubeObject,
  stored: KubeObject
): Refused | undefined => {
  const named = namedVersion(next)
  if (Result.isFailure(named)) return named.failure
  const version = named.success
  if (version === undefined) {
    // Names the resource, not the kind, unlike every other refusal of this form.
    return resource.strategy.unconditionalUpdate
      ? undefined
      : StatusError.invalid(resource.plural, resource.group, route.name, [
        FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
      ])
  }
  return version === BigInt(stored.metadata.resourceVersion)
    ? undefined
    : StatusError.conflict(resource, route.name, StatusError.objectModified)
}

/** The status of an object of any kind. */
export const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** The object with another status, or without one. */
export const withStatus = (object: KubeObject, status: unknown): KubeObject => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  return status === undefined ? rest : { ...rest, status } as KubeObject
}

/** The object without undefined entries. */
export const withoutUndefined = (object: object): object =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

/** The fields that count for the generation: all but metadata and, if it has its own subresource, the status. */
export const desired = (object: KubeObject, statusSubresource: boolean): JsonValue.JsonObject => {
  const { metadata: _, status, ...rest } = object as KubeObject & { readonly status?: unknown }
  return statusSubresource || status === undefined ? rest : { ...rest, status }
}

/** Storage paths that differ from the resource's name (k8s.io/kubernetes/pkg/kubeapiserver, special prefixes). */
const places: Readonly<Record<string, string>> = {
  endpoints: "services/endpoints",
  "ingresses.networking.k8s.io": "ingress",
  nodes: "minions",
  replicationcontrollers: "controllers",
  services: "services/specs"
}

/** A failed precondition that the store finds, not the registry. */
export const storageConflict = (
  { resource }: { readonly resource: StatusError.Target & { readonly custom?: object | undefined } },
  { name, namespace }: { readonly name: string; readonly namespace: string },
  dryRun: boolean,
  why: string
): StatusError.StatusError => {
  // A dry run does not reach the store that adds this prefix.
  const root = dryRun ? "" : "/registry"
  const group = resource.custom === undefined ? "" : `${resource.group}/`
  const place = places[StatusError.targetName(resource)] ?? `${group}${resource.plural}`
  const key = `${root}/${place}/${storageKey(namespace, name)}`
  return StatusError.conflict(
    resource,
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${why}`
  )
}
