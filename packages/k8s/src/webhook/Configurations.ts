/**
 * `Configurations`: registers hooks with the API server: webhook configurations, and the `conversion` of definitions.
 *
 * All mutating hooks of an operator are in one MutatingWebhookConfiguration, all validating ones in one
 * ValidatingWebhookConfiguration, in order of declaration. They have no caBundle: the operator fills it in, and an
 * apply without one leaves it alone. Until then, and whenever no operator runs, objects that a hook with the failure
 * policy `Fail` covers cannot be written.
 *
 * So a hook for a built-in kind could block the very Pods, Secrets and Leases that the operator, or the cluster under
 * it, needs to run. Unless its namespaces are selected explicitly, it is called for neither `kube-system` nor the
 * operator's own namespace.
 */
import type * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as ConversionPatch from "../crd/ConversionPatch.ts"
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
  type WebhookClientConfig
} from "../kinds/admissionregistration.v1.ts"
import { CustomResourceDefinition } from "../kinds/apiextensions.v1.ts"
import { Namespace } from "../kinds/core.v1.ts"
import type { Reachable } from "./CaBundle.ts"
import { checkDistinct } from "./Handler.ts"
import type { Any } from "./Hook.ts"

export interface Options {
  /** The name of both configurations. */
  readonly name: string
  readonly reachable: Reachable
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** A configuration as it is applied. */
export type Configuration =
  & Resource.Input<MutatingWebhookConfiguration | ValidatingWebhookConfiguration>
  & { readonly apiVersion: string; readonly kind: string; readonly metadata: { readonly name: string } }

const clientConfig = (reachable: Reachable, path: string): WebhookClientConfig => {
  if ("url" in reachable) return { url: `${reachable.url.replace(/\/+$/, "")}${path}` }
  const { name, namespace, port } = reachable.service
  return { service: { namespace, name, path, ...(port === undefined ? {} : { port }) } }
}

/** The namespaces in which the kind must be writable even if the hook is not served. */
const needed = ({ group, kind, scope }: Resource.Any, reachable: Reachable): ReadonlyArray<string> =>
  isReserved(group) && (scope === "Namespaced" || kind === Namespace.kind)
    ? [...new Set(["kube-system", ..."service" in reachable ? [reachable.service.namespace] : []])]
    : []

/** A group without a dot, or one below these two domains: KEP-2337. */
const isReserved = (group: string): boolean => !group.includes(".") || /(^|\.)(k8s|kubernetes)\.io$/.test(group)

/** Selects all namespaces except these. A Namespace is selected by its own labels. */
const elsewhere = (names: ReadonlyArray<string>) =>
  names.length === 0
    ? undefined
    : { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: names }] }

const entry = (hook: Any, reachable: Reachable) => {
  const { group, scope, version } = hook.resource
  const {
    failurePolicy,
    matchConditions,
    matchPolicy,
    namespaceSelector = elsewhere(needed(hook.resource, reachable)),
    objectSelector,
    operations,
    reinvocationPolicy,
    resources,
    sideEffects,
    timeoutSeconds
  } = hook.registration!
  return {
    name: hook.name,
    clientConfig: clientConfig(reachable, hook.path),
    rules: [{
      apiGroups: [group],
      apiVersions: [version],
      operations: [...operations],
      resources: [...resources],
      scope: scope === "Cluster" ? "Cluster" : "Namespaced"
    }],
    admissionReviewVersions: ["v1"],
    sideEffects,
    failurePolicy,
    matchPolicy,
    timeoutSeconds,
    ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
    ...(objectSelector === undefined ? {} : { objectSelector }),
    ...(matchConditions === undefined ? {} : { matchConditions }),
    ...(reinvocationPolicy === undefined ? {} : { reinvocationPolicy })
  }
}

/** The configurations of the hooks; empty ones are left out. Throws if two hooks have the same name or path. */
export const make = (hooks: ReadonlyArray<Any>, options: Options): ReadonlyArray<Configuration> => {
  checkDistinct(hooks)
  return (["Mutating", "Validating"] as const).flatMap((tag) => {
    const own = hooks.filter(({ _tag }) => _tag === tag)
    const { labels, name, reachable } = options
    return own.length === 0 ? [] : [{
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${tag}WebhookConfiguration`,
      metadata: { name, ...(labels === undefined ? {} : { labels }) },
      webhooks: own.map((hook) => entry(hook, reachable))
    }]
  }) as ReadonlyArray<Configuration>
}

/** `spec.conversion` for the definition of a kind; undefined if no hook converts it. */
export const conversion = (
  hooks: ReadonlyArray<Any>,
  resource: Pick<Resource.Any, "group" | "kind">,
  reachable: Reachable
) => {
  const hook = hooks.find(({ _tag, resource: { group, kind } }) =>
    _tag === "Conversion" && group === resource.group && kind === resource.kind
  )
  return hook === undefined ? undefined : {
    strategy: "Webhook",
    webhook: { clientConfig: clientConfig(reachable, hook.path), conversionReviewVersions: ["v1"] }
  } as const
}

/** Creates or updates the configurations, and the conversion of existing definitions, for development and tests. */
export const install = Effect.fn("Webhook.install")(function*(hooks: ReadonlyArray<Any>, options: Options) {
  const client = yield* KubeClient.KubeClient
  for (const configuration of make(hooks, options)) {
    const resource = configuration.kind === "MutatingWebhookConfiguration"
      ? MutatingWebhookConfiguration
      : ValidatingWebhookConfiguration
    yield* client.apply(resource as Resource.Any, configuration as never, { force: true })
  }
  for (const { _tag, resource } of hooks) {
    const converted = _tag === "Conversion" ? conversion(hooks, resource, options.reachable) : undefined
    if (converted === undefined) continue
    yield* client.patch(
      CustomResourceDefinition,
      { name: `${resource.plural}.${resource.group}` },
      KubeClient.Patch.merge({ spec: { conversion: ConversionPatch.make(converted) } })
    )
  }
})
