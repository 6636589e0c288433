/**
 * `Registration`: registers an API in the cluster: its APIService, and the Service that this refers to.
 *
 * An APIService that the cluster created itself (for its own groups and for custom resources) is never touched:
 * `install` refuses, and a server whose group version has such an APIService reports that in its status. The applied
 * objects have no caBundle: the operator fills it in.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as KubeError from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { APIService } from "../kinds/apiregistration.v1.ts"
import { Namespace, Service } from "../kinds/core.v1.ts"
import type { Api } from "./Api.ts"

/** The Service through which the aggregator reaches the operator; port 443 by default. */
export interface ServiceReference {
  readonly namespace: string
  readonly name: string
  readonly port?: number | undefined
}

export const defaults = {
  /** How long to wait after a failed registration. */
  retry: "2 seconds",
  /** How long removing the registration may take. */
  goodbye: "2 seconds"
} as const

/** The label of an APIService that the cluster created itself. */
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

/** The APIService without its caBundle. */
export const apiService = (
  { group, groupPriorityMinimum, name, version, versionPriority }: Api<unknown>,
  service: ServiceReference,
  labels?: Readonly<Record<string, string>>
) => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
  spec: {
    group,
    version,
    groupPriorityMinimum,
    versionPriority,
    service: { namespace: service.namespace, name: service.name, port: service.port ?? 443 }
  }
} as const)

const owned = ({ metadata: { labels }, spec }: APIService): boolean =>
  labels?.[automanaged] !== undefined || spec.service === undefined

/** What is wrong with the registration; undefined if nothing is. */
export const fault = (
  stored: APIService | undefined,
  { groupVersion, name }: Api<unknown>,
  service: ServiceReference
): string | undefined => {
  if (stored === undefined) return `APIService ${name} does not exist: apply the manifests, or use ApiService.install`
  if (owned(stored)) {
    return `APIService ${name} is the cluster's own: ${groupVersion} is served by a CustomResourceDefinition or by the ` +
      "cluster itself: choose another group or version, or delete the definition"
  }
  const { name: leads, namespace } = stored.spec.service!
  return leads === service.name && namespace === service.namespace
    ? undefined
    : `APIService ${name} points to Service ${namespace}/${leads}, not to ${service.namespace}/${service.name}: ` +
      "apply the manifests"
}

/** Creates the namespace of a Service if it does not exist. */
export const makeRoom = Effect.fnUntraced(function*({ namespace }: ServiceReference) {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Namespace, { metadata: { name: namespace } }).pipe(
    Effect.catchReason("KubeError", "AlreadyExists", () => Effect.void)
  )
})

/**
 * Creates or updates the APIService, for development and tests. With `localhost` also the Service's namespace and a
 * Service that leads to the host of the cluster's API server, where the operator runs, at the port on which it listens.
 */
export const install = Effect.fn("ApiService.install")(function*(
  api: Api<unknown>,
  options: { readonly service: ServiceReference; readonly localhost?: boolean | undefined }
) {
  const client = yield* KubeClient.KubeClient
  const { service } = options
  const key = { name: api.name }
  const stored = yield* client.get(APIService, key).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
  )
  if (stored !== undefined && owned(stored)) {
    const message = fault(stored, api, service)!
    return yield* KubeError.make(
      { verb: "replace", resource: "apiservices.apiregistration.k8s.io" },
      new KubeError.Conflict({ message, code: 409 })
    )
  }
  if (options.localhost === true) {
    const { name, namespace } = service
    yield* makeRoom(service)
    const spec = { type: "ExternalName", externalName: "localhost" } as const
    yield* client.create(Service, { metadata: { namespace, name }, spec }).pipe(
      Effect.catchReason(
        "KubeError",
        "AlreadyExists",
        () => client.patch(Service, { namespace, name }, KubeClient.Patch.merge({ spec }))
      )
    )
  }
  const { spec } = apiService(api, service)
  yield* stored === undefined
    ? client.create(APIService, { metadata: key, spec })
    : client.patch(APIService, key, KubeClient.Patch.merge({ spec }))
})

/** Registers an operator that runs beside the cluster, until the scope closes. Retries until it succeeds. */
export const beside = Effect.fnUntraced(function*(api: Api<unknown>, service: ServiceReference) {
  const client = yield* KubeClient.KubeClient
  yield* install(api, { service, localhost: true }).pipe(
    Effect.tapError(({ message }) =>
      Effect.logError(`${api.groupVersion} could not be registered; retrying: ${message}`)
    ),
    Effect.retry(Schedule.spaced(defaults.retry))
  )
  yield* Effect.logInfo(`${api.groupVersion} is registered with the cluster, at port ${service.port} of its host`)
  // An API that does not respond would block the deletion of namespaces. One that another process has registered by now
  // does respond.
  const goodbye = Effect.gen(function*() {
    const { metadata, spec } = yield* client.get(APIService, { name: api.name })
    const { name, namespace, port } = spec.service ?? {}
    if (namespace !== service.namespace || name !== service.name || port !== service.port) return
    const { resourceVersion, uid } = metadata
    yield* client.delete(APIService, { name: api.name }, { preconditions: { resourceVersion, uid } })
  })
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(goodbye, defaults.goodbye)))
})
