/**
 * `CaBundle`: maintains the caBundle in an operator's own webhook configurations, definitions and APIServices.
 *
 * They are watched by name, so that a removed bundle or a reapplied configuration is fixed at once. Only entries that
 * lead to the operator's Service (or URL) are changed, with one patch per object that is guarded by its
 * resourceVersion: if the object has changed meanwhile, it is checked again. Missing objects are awaited; an object
 * that cannot be listed for lack of permission does not block the others.
 */
import type * as Informers from "@effect-operator/core/Informers"
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { hint } from "@effect-operator/core/Reflector"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "../kinds/admissionregistration.v1.ts"
import { CustomResourceDefinition } from "../kinds/apiextensions.v1.ts"
import { APIService } from "../kinds/apiregistration.v1.ts"
import type { Any, Hook } from "./Hook.ts"
import { isObject, type JsonObject } from "./Review.ts"

export const defaults = {
  /** How long to wait for the first list of a target. */
  patience: "2 seconds"
} as const

/** How the API server reaches the hooks or the API. */
export type Reachable =
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number | undefined } }
  | { readonly url: string }

/** An object that contains a bundle. */
export interface Target {
  readonly resource: Resource.Any
  readonly name: string
}

/** The objects with bundles, for hooks whose configurations have this name. */
export const targets = (hooks: ReadonlyArray<Any>, configuration: string): ReadonlyArray<Target> => {
  const some = (tag: Hook["_tag"]) => hooks.filter(({ _tag }) => _tag === tag)
  return [
    ...(some("Mutating").length === 0 ? [] : [{ resource: MutatingWebhookConfiguration, name: configuration }]),
    ...(some("Validating").length === 0 ? [] : [{ resource: ValidatingWebhookConfiguration, name: configuration }]),
    ...some("Conversion").map(({ resource }) => ({
      resource: CustomResourceDefinition,
      name: Resource.qualifiedName(resource)
    }))
  ]
}

/** The `clientConfig`s of an object with their paths; the spec of an APIService is one. */
const clientConfigs = (object: KubeObject): ReadonlyArray<readonly [path: string, config: JsonObject]> => {
  const { spec, webhooks } = object as KubeObject & { readonly webhooks?: unknown; readonly spec?: unknown }
  const found: Array<readonly [string, unknown]> = Array.isArray(webhooks)
    ? webhooks.map((webhook, i) => [`/webhooks/${i}/clientConfig`, isObject(webhook) ? webhook["clientConfig"] : null])
    : []
  const conversion = isObject(spec) ? spec["conversion"] : undefined
  const webhook = isObject(conversion) && conversion["strategy"] === "Webhook" ? conversion["webhook"] : undefined
  if (isObject(webhook)) found.push(["/spec/conversion/webhook/clientConfig", webhook["clientConfig"]])
  if (object.kind === APIService.kind) found.push(["/spec", spec])
  return found.flatMap(([path, config]) => isObject(config) ? [[path, config] as const] : [])
}

const leadsTo = (config: JsonObject, reachable: Reachable): boolean => {
  if ("url" in reachable) {
    return typeof config["url"] === "string" && config["url"].startsWith(`${reachable.url.replace(/\/+$/, "")}/`)
  }
  const { service } = config
  return isObject(service) && service["name"] === reachable.service.name &&
    service["namespace"] === reachable.service.namespace
}

/** The patch that makes an object trust the bundle (PEM); undefined if it does already. */
export const patch = (
  object: KubeObject,
  bundlePem: string,
  reachable: Reachable
): ReadonlyArray<KubeClient.JsonPatchOperation> => {
  const caBundle = Buffer.from(bundlePem, "utf8").toString("base64")
  const stale = clientConfigs(object).filter(([, config]) =>
    leadsTo(config, reachable) && config["caBundle"] !== caBundle
  )
  return stale.length === 0 ? [] : [
    { op: "test", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
    ...stale.flatMap(([path, config]): ReadonlyArray<KubeClient.JsonPatchOperation> => [
      // For an APIService: `insecureSkipTLSVerify` excludes a bundle.
      ...(config["insecureSkipTLSVerify"] === true
        ? [{ op: "remove", path: `${path}/insecureSkipTLSVerify` } as const]
        : []),
      { op: "add", path: `${path}/caBundle`, value: caBundle }
    ])
  ]
}

/** Watched targets. */
export interface Injector {
  /** Updates all existing targets. Returns whether all are up to date: false if one could not be read or patched. */
  readonly inject: (bundlePem: string) => Effect.Effect<boolean>
  /** Why one of them cannot be read, if so. */
  readonly trouble: () => string | undefined
}

/** Why an object that is watched by name cannot be read, if so. */
export const unseen = ({ resource, status }: Informers.Informer, name: string): string | undefined => {
  const now = SubscriptionRef.getUnsafe(status)
  return now._tag === "Degraded"
    ? `${resource.kind} ${name}: ${now.reason.message}${hint(now.reason, Resource.qualifiedName(resource))}`
    : undefined
}

/** Watches the targets; calls `changed` on every change. */
export const make = Effect.fnUntraced(function*(
  informers: Informers.Informers["Service"],
  client: KubeClient.Client,
  all: ReadonlyArray<Target>,
  reachable: Reachable,
  changed: () => void
) {
  const watched = yield* Effect.forEach(all, ({ name, resource }) =>
    Effect.gen(function*() {
      // Unstructured, since what others wrote need not satisfy a Schema.
      const plain = Resource.unstructured(resource)
      const informer = yield* informers.get({ resource: plain, fields: `metadata.name=${name}` })
      yield* informer.subscribe(changed)
      return { resource: plain, name, informer }
    }))

  const injectInto = Effect.fnUntraced(function*(
    { informer, name, resource }: (typeof watched)[number],
    bundlePem: string
  ) {
    if (Option.isNone(yield* Effect.timeoutOption(informer.synced, defaults.patience))) return false
    const object = informer.store.get(name)
    if (object === undefined) return true
    const operations = patch(object, bundlePem, reachable)
    if (operations.length === 0) return true
    return yield* client.patch(resource, { name }, KubeClient.Patch.json(operations)).pipe(
      Effect.tap(() => Effect.logInfo(`caBundle of ${resource.kind} ${name} is up to date`)),
      Effect.as(true),
      Effect.catch((error) =>
        Effect.as(
          // A failed test means that somebody else has changed the object; the watch will report it.
          error.reason._tag === "Invalid" || error.reason._tag === "Conflict" || error.reason._tag === "NotFound"
            ? Effect.logDebug(`caBundle of ${resource.kind} ${name}: ${error.message}`)
            : Effect.logWarning(`caBundle of ${resource.kind} ${name} is not up to date: ${error.message}`),
          false
        )
      )
    )
  })

  return {
    inject: (bundlePem) =>
      Effect.map(
        Effect.forEach(watched, (one) => injectInto(one, bundlePem), { concurrency: "unbounded" }),
        (results) => results.every((done) => done)
      ),
    trouble: () => {
      for (const { informer, name } of watched) {
        const why = unseen(informer, name)
        if (why !== undefined) return why
      }
      return undefined
    }
  } satisfies Injector
})
