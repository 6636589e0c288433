/**
 * `ServiceAccounts`: creates what every active namespace contains: the account `default`, and the ConfigMap
 * `kube-root-ca.crt` with the certificate authorities by which its Pods verify the API server.
 *
 * Both are created again if they are deleted. If the content of the ConfigMap differs or its description is missing, it
 * is corrected. A namespace that is being deleted is left alone. Secrets that hold tokens are filled in (see
 * `ServiceAccountTokens`).
 *
 * Source: k8s.io/kubernetes/pkg/controller/serviceaccount/serviceaccounts_controller.go,
 * pkg/controller/certificates/rootcacertpublisher.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ConfigMap, Namespace, ServiceAccount } from "../kinds/core.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as ServiceAccountTokens from "./ServiceAccountTokens.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import { namespaceEnds } from "./sim/PodControl.ts"

export interface Options {
  /** The certificate authorities to trust, as PEM; none by default, since in-memory requests need none. */
  readonly rootCa?: string | undefined
}

/** Maintains the namespaces of the server until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<never, never, KubeClient> =>
  Layer.merge(Layer.effectDiscard(Effect.suspend(() => run(options))), ServiceAccountTokens.layer(options)).pipe(
    Layer.provide(Informers.layer)
  )

const accountName = "default"
const configName = "kube-root-ca.crt"
const annotation = "kubernetes.io/description"
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints " +
  "such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of " +
  "Kubernetes clusters."

const run: (
  options: Options
) => Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.fnUntraced(function*(options) {
  const client = yield* KubeClient
  const informers = yield* Informers.Informers
  const namespaces = yield* informers.of(Namespace)
  const accounts = yield* informers.of(ServiceAccount)
  const configs = yield* informers.of(ConfigMap)
  const data = { "ca.crt": options.rootCa ?? "" }

  const isActive = (name: string): boolean => namespaces.get({ name })?.status?.phase === "Active"

  /** Ignores that the object exists already or that its namespace is being deleted. */
  const create = <A>(creation: Effect.Effect<A, KubeError>): Effect.Effect<void, KubeError> =>
    Effect.asVoid(creation).pipe(
      Effect.catchReason("KubeError", "AlreadyExists", () => Effect.void),
      Effect.catchIf(namespaceEnds, () => Effect.void)
    )

  const ofAccounts = yield* Loop.make({
    reads: [namespaces, accounts],
    sync: Effect.fnUntraced(function*(namespace) {
      const key = { namespace, name: accountName }
      if (!isActive(namespace) || accounts.get(key) !== undefined) return
      yield* create(client.create(ServiceAccount, { metadata: key }))
    })
  })

  const ofConfigs = yield* Loop.make({
    reads: [namespaces, configs],
    sync: Effect.fnUntraced(function*(namespace) {
      const key = { namespace, name: configName }
      if (!isActive(namespace)) return
      const config = configs.get(key)
      if (config === undefined) {
        const metadata = { ...key, annotations: { [annotation]: description } }
        return yield* create(client.create(ConfigMap, { metadata, data }))
      }
      const { annotations } = config.metadata
      if (JsonValue.equals(config.data, data) && (annotations?.[annotation] ?? "") !== "") return
      const metadata = { ...config.metadata, annotations: { ...annotations, [annotation]: description } }
      yield* client.replace(ConfigMap, { ...config, metadata, data })
    })
  })

  namespaces.listen((namespace, before) => {
    const { name } = (namespace ?? before)!.metadata
    for (const agenda of [ofAccounts, ofConfigs]) {
      if (namespace === undefined) agenda.forget(name)
      else agenda.now(name)
    }
  })
  const wake =
    (agenda: { readonly now: (key: string) => void }, name: string) =>
    (now: KubeObject | undefined, before: KubeObject | undefined) => {
      const { metadata } = (now ?? before)!
      if (metadata.name === name && before !== undefined) agenda.now(metadata.namespace ?? "")
    }
  accounts.listen(wake(ofAccounts, accountName))
  configs.listen(wake(ofConfigs, configName))
})
