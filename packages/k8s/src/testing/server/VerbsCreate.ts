/**
 * `create`: POST of a collection, and the creating half of a PUT.
 *
 * Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go `Create` and pkg/registry/rest/create.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Admission from "../Admission.ts"
import * as Body from "./Body.ts"
import * as Exchange from "./Exchange.ts"
import * as MetadataRules from "./MetadataRules.ts"
import { asObject, freeze } from "./Plain.ts"
import * as StatusError from "../StatusError.ts"

type Refused = StatusError.StatusError

/** How often a generated name is tried. */
const attempts = 8

/** What the server sets in new metadata, whatever the client wrote. */
const systemMetadata = (exchange: Exchange.Exchange, object: KubeObject, name: string): KubeObject["metadata"] => {
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
    uid: Exchange.uuid(exchange.random),
    creationTimestamp: Exchange.timestamp(exchange.now),
    ...(exchange.resource.strategy.generation ? { generation: 1 } : {})
  } as KubeObject["metadata"]
}

const withoutStatus = (object: KubeObject): KubeObject => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  return rest
}

/** Repeated owner references are merged, with a warning. */
export const mergeOwners = (exchange: Exchange.Exchange, object: KubeObject): KubeObject => {
  const given = object.metadata.ownerReferences ?? []
  const { references, repeated } = MetadataRules.dedupeOwnerReferences(given)
  if (!repeated) return object
  const uids = [...new Set(given.map(({ uid }) => uid).filter((uid, index, all) => all.indexOf(uid) < index))]
  exchange.warnings.push(
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may " +
      `reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(", ")}`
  )
  return { ...object, metadata: { ...object.metadata, ownerReferences: references } }
}

/** A resourceVersion other than "0" or nonsense means that the object was read before. */
const setVersion = (version: string | undefined): boolean =>
  version !== undefined && /^\d+$/.test(version) && BigInt(version) !== 0n

const faults = (exchange: Exchange.Exchange, object: KubeObject) => {
  const { resource } = exchange
  return [
    ...MetadataRules.validateObjectMeta(object.metadata, {
      namespaced: resource.scope === "Namespaced",
      nameRule: resource.nameRule,
      builtIn: resource.custom === undefined
    }),
    ...resource.schemaFaults(object, undefined, "object"),
    ...resource.strategy.validate(object)
  ]
}

const attempt = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  object: KubeObject,
  name: string
) {
  const { core, resource, route } = exchange
  const { resourceVersion, ...metadata } = systemMetadata(exchange, object, name)
  const base = resource.strategy.statusSubresource ? withoutStatus(object) : object
  const { apiVersion, kind } = object
  const filled = resource.strategy.prepareCreate({ ...base, metadata })
  const prepared = mergeOwners(exchange, asObject({ ...filled, apiVersion, kind }))
  const attributes: Admission.Attributes = {
    operation: "CREATE",
    resource,
    subresource: "",
    namespace: route.namespace,
    name,
    object: prepared,
    oldObject: undefined,
    user: exchange.user,
    dryRun: options.dryRun,
    warn: (text) => exchange.warnings.push(text)
  }
  const admitted = yield* Admission.admit(core, attributes, prepared)
  const found = faults(exchange, admitted)
  if (found.length > 0) return yield* Effect.fail(Exchange.invalid(exchange, admitted.metadata.name ?? "", found))
  yield* Admission.review(core, { ...attributes, object: admitted })
  if (resource.custom !== undefined) {
    exchange.warnings.push(...MetadataRules.finalizerWarnings(admitted.metadata.finalizers, undefined))
  }
  if (setVersion(resourceVersion)) {
    return yield* Effect.fail(StatusError.plain("resourceVersion should not be set on objects to be created"))
  }
  const key = Exchange.storageKey(route.namespace, admitted.metadata.name)
  const existing = core.storage.get(resource.collection, key)
  if (existing !== undefined) {
    const refused = existing.metadata.deletionTimestamp !== undefined
      ? StatusError.alreadyExistsTerminating
      : (admitted.metadata.generateName ?? "") === ""
      ? StatusError.alreadyExists
      // Whoever gave a generateName is told that it failed, though the name was the client's own.
      : StatusError.generateNameConflict
    return yield* Effect.fail(refused(resource, admitted.metadata.name))
  }
  if (options.dryRun) return freeze(admitted)
  const { object: stored } = core.storage.put(resource.collection, key, route.namespace, resource.toStorage(admitted))
  return resource.fromStorage(stored)
})

/** Creates an object that `Body` has read and placed. */
export const createObject = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  object: KubeObject
) {
  const { resource } = exchange
  if (resource.custom?.terminating === true) {
    return yield* Effect.fail(
      StatusError.methodNotAllowedBecause(
        resource,
        "create not allowed while custom resource definition is terminating"
      )
    )
  }
  const { generateName, name } = object.metadata
  if ((name ?? "") !== "" || (generateName ?? "") === "") return yield* attempt(exchange, options, object, name ?? "")
  for (let tries = 1;; tries++) {
    const generated = Exchange.generatedName(generateName!, exchange.random)
    const result = yield* Effect.result(attempt(exchange, options, object, generated))
    if (result._tag === "Success") return result.success
    if (result.failure.body.reason !== "AlreadyExists") return yield* Effect.fail(result.failure)
    if (tries === attempts) return yield* Effect.fail(StatusError.generateNameConflict(resource, generated))
  }
})

/** POST. */
export const create: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const options = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const body = yield* Body.read(exchange, options)
  const placed = yield* Body.placed(exchange, body, "create")
  // Where a URL with a name takes a POST, the name in it means nothing.
  const object = yield* createObject(exchange, options, placed)
  return { _tag: "Object", status: 201, object } as const satisfies Exchange.Answer
}) as (exchange: Exchange.Exchange) => Effect.Effect<Exchange.Answer, Refused>
