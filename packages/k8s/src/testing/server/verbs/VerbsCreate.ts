/**
 * `create`: POST to a collection, and PUT of an object that does not exist.
 *
 * Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go `Create` and pkg/registry/rest/create.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Bodies from "../../../api/Bodies.ts"
import { uuid } from "../../../api/Identity.ts"
import * as Metadata from "../../../api/Metadata.ts"
import * as MetadataRules from "../../../api/MetadataRules.ts"
import { asObject, freeze } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as Admission from "../../Admission.ts"
import * as Escalation from "../../auth/Escalation.ts"
import * as Exchange from "../Exchange.ts"
import * as Body from "./Body.ts"
import * as Ownership from "./Ownership.ts"
import * as Versions from "./Versions.ts"

type Refused = StatusError.StatusError

/** The maximum number of attempts to generate an unused name. */
const attempts = 8

/** The object without the fields that only the server sets. */
const wiped = (object: KubeObject): KubeObject => {
  const { creationTimestamp: _, deletionGracePeriodSeconds: __, deletionTimestamp: ___, uid: ____, ...metadata } =
    object.metadata
  return asObject({ ...object, metadata })
}

const withoutStatus = (object: KubeObject): KubeObject => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  return rest
}

const faults = (exchange: Exchange.Exchange, object: KubeObject) => {
  const { nameRule, schemaFaults, scope, strategy } = exchange.resource
  const namespaced = scope === "Namespaced"
  const builtIn = strategy.metadataJudge === "builtIn"
  const ofMetadata = MetadataRules.validateObjectMeta(object.metadata, { namespaced, nameRule, builtIn })
  const own = [
    ...schemaFaults(object, undefined, "object", (text) => exchange.warnings.push(text), ofMetadata),
    ...strategy.validate(object)
  ]
  return strategy.metadataJudge === "registry" && own.length > 0 ? own : [...ofMetadata, ...own]
}

const attempt = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  attributes: Admission.Attributes,
  object: KubeObject,
  name: string
) {
  const { core, resource, route } = exchange
  const { resourceVersion, ...metadata } = Metadata.systemMetadata(exchange, object, name)
  const base = resource.strategy.statusSubresource && !resource.strategy.createsStatus ? withoutStatus(object) : object
  const { apiVersion, kind } = object
  const signed = resource.strategy.signed({ ...base, metadata }, exchange.user)
  exchange.warnings.push(...resource.strategy.arrivalWarnings(signed))
  const filled = resource.strategy.prepareCreate(signed, core.services)
  const admitted = asObject({ ...filled, apiVersion, kind })
  const refusal = resource.strategy.refusal(admitted, undefined, core.services, options.dryRun)
  if (refusal !== undefined) return yield* Effect.fail(refusal)
  const found = faults(exchange, admitted)
  if (found.length > 0) return yield* Effect.fail(Exchange.invalid(exchange, admitted.metadata.name ?? "", found))
  exchange.warnings.push(...resource.strategy.warnings(admitted, undefined))
  yield* Admission.review(core, { ...attributes, name: attributes.name || name, object: admitted })
  if (resource.custom !== undefined) {
    exchange.warnings.push(...MetadataRules.finalizerWarnings(admitted.metadata.finalizers, undefined))
  }
  // A dry run does not reach the store, which would refuse the version or remove it.
  if (!options.dryRun && Metadata.setVersion(resourceVersion)) {
    return yield* Effect.fail(StatusError.plain("resourceVersion should not be set on objects to be created"))
  }
  const encoded = yield* Versions.store(resource, admitted)
  const key = Exchange.storageKey(route.namespace, admitted.metadata.name)
  const existing = core.storage.get(resource.collection, key)
  if (existing !== undefined) {
    const generated = (admitted.metadata.generateName ?? "") !== ""
    // Name generation knows an object by the group in which it is stored.
    const [plural = "", ...group] = resource.collection.split(".")
    const target = generated ? { plural, group: group.join(".") } : resource
    return yield* Effect.fail(StatusError.alreadyExists(target, admitted.metadata.name, {
      generated,
      terminating: existing.metadata.deletionTimestamp !== undefined
    }))
  }
  if (options.dryRun) {
    const rehearsed = yield* Versions.rehearse(resource, admitted, encoded)
    return freeze(
      resourceVersion === undefined
        ? rehearsed
        : { ...rehearsed, metadata: { ...rehearsed.metadata, resourceVersion } }
    )
  }
  const { object: stored } = core.storage.put(resource.collection, key, route.namespace, encoded)
  return yield* Versions.show(resource, stored)
})

/** Creates an object that `Body` has decoded and placed. */
export const createObject = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  object: KubeObject
): Effect.Effect<KubeObject, Refused> =>
  Effect.flatMap(
    Ownership.created(exchange, options, Metadata.mergeOwners(exchange, wiped(object))),
    (owned) => createOwned(exchange, options, owned)
  )

/** Creates an object that has its managedFields already. */
export const createOwned = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  object: KubeObject
) {
  const { core, resource } = exchange
  if (resource.custom?.terminating === true) {
    const why = "create not allowed while custom resource definition is terminating"
    return yield* Effect.fail(StatusError.forbidden(resource, object.metadata.name ?? "", why))
  }
  const sent = Metadata.mergeOwners(exchange, wiped(object))
  const attributes = Admission.attributes(exchange, "CREATE", {
    name: object.metadata.name ?? "",
    object: sent,
    dryRun: options.dryRun
  })
  const mutated = yield* Admission.admit(core, attributes, sent)
  const admitted = mutated === sent ? sent : Metadata.mergeOwners(
    exchange,
    yield* Bodies.placed(exchange, mutated),
    " after mutating admission happens"
  )
  const escalation = Escalation.fault(exchange, admitted)
  if (escalation !== undefined) return yield* Effect.fail(escalation)
  const { generateName, name } = admitted.metadata
  if ((name ?? "") !== "" || (generateName ?? "") === "") {
    const own = (name ?? "") === "" && resource.strategy.namesItself ? uuid(exchange.random) : name
    return yield* attempt(exchange, options, attributes, admitted, own ?? "")
  }
  for (let tries = 1;; tries++) {
    const generated = Exchange.generatedName(generateName!, exchange.random)
    const result = yield* Effect.result(attempt(exchange, options, attributes, admitted, generated))
    if (result._tag === "Success") return result.success
    if (result.failure.body.reason !== "AlreadyExists" || tries === attempts) {
      return yield* Effect.fail(result.failure)
    }
  }
})

/** POST. */
export const create: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const options = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const body = yield* Body.read(exchange, options)
  const placed = yield* Bodies.placed(exchange, body)
  // In a POST to a URL with a name, that name is ignored.
  const object = yield* createObject(exchange, options, placed)
  return { _tag: "Object", status: 201, object } as const satisfies Exchange.Answer
}) as (exchange: Exchange.Exchange) => Effect.Effect<Exchange.Answer, Refused>
