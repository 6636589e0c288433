/** `Builtins`: the built-in resources of a Kubernetes server, from the generated tables. */
import * as Result from "effect/Result"
import type { Decoded } from "../../api/CustomBody.ts"
import * as MetadataRules from "../../api/MetadataRules.ts"
import { asObject } from "../../api/Plain.ts"
import * as Remembered from "../../api/Remembered.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Tables from "../../kinds/tables.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as ApiServiceRules from "../aggregation/ApiServiceRules.ts"
import * as ApiServices from "../aggregation/ApiServices.ts"
import * as DeprecatedVersions from "../warnings/DeprecatedVersions.ts"
import * as AutoscalerConversion from "./AutoscalerConversion.ts"
import * as BuiltinStrategies from "./BuiltinStrategies.ts"
import * as Conversion from "./Conversion.ts"
import { apiVersionOf, type Conversion as Converted, type Served } from "./Registry.ts"
import * as RuntimeConfig from "./RuntimeConfig.ts"
import * as Defaults from "./defaults/Defaults.ts"
import * as Parts from "./defaults/Parts.ts"
import { definitions } from "./definitions/CustomResources.ts"
import * as DefinitionRules from "./definitions/DefinitionRules.ts"
import * as BuiltinSchema from "./go/BuiltinSchema.ts"
import * as GoZero from "./go/GoZero.ts"

/** Resources that share the store of another one. */
const aliases: Readonly<Record<string, string>> = { "events.events.k8s.io": "events" }

const conversion = (resource: Tables.ServedResource, storageVersion: string): Converted => {
  const own = apiVersionOf(resource)
  const stored = apiVersionOf({ group: resource.group, version: storageVersion })
  switch (`${own}/${resource.plural}`) {
    case "events.k8s.io/v1/events":
      return { _tag: "Local", fromStorage: Conversion.eventFromCore, toStorage: Conversion.eventToCore }
    case "autoscaling/v1/horizontalpodautoscalers":
      return { _tag: "Local", fromStorage: AutoscalerConversion.toV1, toStorage: AutoscalerConversion.toV2 }
    default:
      return {
        _tag: "Local",
        fromStorage: (object) => Conversion.withApiVersion(object, own),
        toStorage: (object) => Conversion.withApiVersion(object, stored)
      }
  }
}

/** Reads bodies as the type that is stored and back, if fields do not survive that. */
const through = (resource: Tables.ServedResource, read: Served["decode"]): Served["decode"] =>
  `${apiVersionOf(resource)}/${resource.plural}` === "autoscaling/v1/horizontalpodautoscalers"
    ? (body, merged) =>
      Result.map(read(body, merged), (made) => ({
        ...made,
        object: { ...AutoscalerConversion.decoded(asObject({ metadata: {}, ...made.object })) }
      }))
    : read

/** Kinds whose defaults are not in `Defaults`. */
const special: ReadonlySet<string> = new Set(["CustomResourceDefinition", "APIService"])

const decoder = (resource: Tables.ServedResource): Served["decode"] => {
  const definition = BuiltinSchema.definitionOf(resource.group, resource.version, resource.kind)
  if (definition === undefined) return (body) => Result.succeed({ object: body, unknown: [] })
  const { version } = resource
  const parts = special.has(resource.kind) ? undefined : Defaults.partsOf(resource.group, resource.kind)
  const byParts = parts === undefined ? undefined : Parts.make(definition, parts)
  const defaults = resource.kind === "CustomResourceDefinition"
    ? DefinitionRules.applyDefaults
    : resource.kind === "APIService"
    ? ApiServiceRules.applyDefaults
    : (object: JsonValue.JsonObject) => Defaults.apply(resource.group, resource.kind, object)
  return (body: JsonValue.JsonObject, merged?: boolean): Result.Result<Decoded, StatusError.StatusError> => {
    const object = byParts?.(body)
    if (object !== undefined) return Result.succeed({ object, unknown: [] })
    const decoded = BuiltinSchema.decode(definition, body, merged)
    return Result.isFailure(decoded)
      ? Result.fail(StatusError.badRequest(
        `${resource.kind} in version "${version}" cannot be handled as a ${resource.kind}: ${decoded.failure}`
      ))
      : Result.succeed({
        ...decoded.success,
        object: GoZero.complete(definition, defaults(decoded.success.object))
      })
  }
}

/** The storage version of a resource: the first version of its group that serves it. */
const storageVersion = (resource: Tables.ServedResource): string =>
  Tables.groups.find((group) => group.name === resource.group)?.versions.find((version) =>
    Tables.resources.some((other) =>
      other.group === resource.group && other.plural === resource.plural && other.version === version
    )
  ) ?? resource.version

const serve = (resource: Tables.ServedResource): Served => {
  const name = StatusError.targetName(resource)
  const collection = aliases[name] ?? name
  const version = storageVersion(resource)
  const definition = BuiltinSchema.definitionOf(resource.group, resource.version, resource.kind)
  const namespaced = resource.scope === "Namespaced"
  const statusSubresource = resource.subresources.some((entry) => entry.name === "status")
  const own = BuiltinStrategies.strategyOf(collection, { namespaced, statusSubresource })
  const strategy = {
    ...own,
    ...(collection === name ? {} : { fields: Conversion.eventFields(own.fields) }),
    ...(collection === definitions ? DefinitionRules.strategy : {}),
    ...(collection === ApiServices.collection ? ApiServiceRules.strategy : {})
  }
  const decode = through(resource, decoder(resource))
  const intern = Remembered.interning()
  // Metadata is always different. Of all other parts, equal values are stored once, however many objects contain them.
  const shared = (object: JsonValue.JsonObject) =>
    JsonValue.mapObject(object, (part, key) => key === "metadata" ? part : intern(part))
  return {
    ...resource,
    conversion: conversion(resource, version),
    collection,
    storageVersion: version,
    nameRule: MetadataRules.nameRuleFor(resource.group, resource.kind),
    strategy: {
      ...strategy,
      prepareCreate: (object, pool) => {
        const created = shared(Defaults.status(collection, strategy.prepareCreate(object, pool)))
        return definition === undefined ? created : GoZero.complete(definition, created)
      }
    },
    decode,
    adopt: (object) => Result.map(decode(object), ({ object }) => object),
    schemaFaults: () => [],
    columns: undefined,
    deprecation: DeprecatedVersions.warning(apiVersionOf(resource), resource.kind),
    custom: undefined
  }
}

let all: ReadonlyArray<Served> | undefined

/** Every built-in resource in every version. */
export const resources = (): ReadonlyArray<Served> => all ??= Tables.resources.map(serve)

const chosen = new Map<string, ReadonlyArray<Served>>()

/** The resources that are served, as one list per configuration. */
export const served = (config: RuntimeConfig.RuntimeConfig): ReadonlyArray<Served> => {
  const key = JSON.stringify(Object.entries(config).sort())
  const found = chosen.get(key) ?? resources().filter((resource) => RuntimeConfig.serves(config, resource))
  chosen.set(key, found)
  return found
}
