/**
 * `Workload`: the Deployment of an operator and what belongs to it: Services, network policy, disruption budget.
 *
 * The pod meets the `restricted` security standard, has time to drain, and is probed through the operator's own
 * endpoints. With leader election a new version starts before the old one has gone; without election the old one stops
 * first. A pod that the API server calls is ready when it serves (`Probes`), not when its caches are synced: they may
 * need a conversion, which needs a ready pod. Only ready pods are called, not those that are starting, hanging or
 * terminating; therefore the Services do not publish not-ready addresses. From outside the pod, only the metrics,
 * webhook and API ports can be reached, and the probes by kubelet.
 */
import * as Manager from "@effect-operator/core/Manager"
import * as Duration from "effect/Duration"
import * as ApiServiceServer from "../apiservice/ApiServiceServer.ts"
import * as Endpoints from "../Endpoints.ts"
import * as Probes from "../endpoints/Probes.ts"
import * as Linger from "../Linger.ts"
import * as HttpsServer from "../webhook/HttpsServer.ts"
import * as WebhookAddress from "../webhook/WebhookAddress.ts"
import type { Lease } from "./Lease.ts"
import type { Manifest } from "./Manifest.ts"
import * as PodEnvironment from "./PodEnvironment.ts"

export const defaults = {
  replicas: 1,
  /**
   * How much longer than lingering and draining a pod may take to terminate, in seconds: for events, the lease and the
   * process itself.
   */
  graceAboveDrain: 10,
  resources: { requests: { cpu: "10m", memory: "128Mi" }, limits: { memory: "256Mi" } }
} as const

export interface Options {
  readonly name: string
  readonly namespace: string
  readonly image: string
  readonly replicas?: number | undefined
  /** How long reconciles in flight may take on shutdown; the manager's 25 s by default. */
  readonly drain?: Duration.Input | undefined
  /** How long what the API server calls is served after SIGTERM, if there is such a thing; 5 s by default. */
  readonly linger?: Duration.Input | undefined
  /** Absent without election. */
  readonly lease: Lease | undefined
  readonly webhooks: boolean
  /** Whether it serves its own API. */
  readonly apiService: boolean
  readonly authentication: boolean
  readonly resources?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

export const labelsOf = (name: string) => ({ "app.kubernetes.io/name": name })

export const webhookService = (name: string): string => `${name}-webhook`

export const apiServiceService = (name: string): string => `${name}-api`

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1))

const ports = ({ apiService, env = {}, webhooks }: Pick<Options, "apiService" | "env" | "webhooks">) => {
  const metrics = PodEnvironment.port(env, "EFFECT_OPERATOR_METRICS_ADDRESS", Endpoints.defaults.metrics)
  const probes = PodEnvironment.needed(env, "EFFECT_OPERATOR_PROBES_ADDRESS", Endpoints.defaults.probes)
  const hooks = PodEnvironment.needed(env, WebhookAddress.variable, HttpsServer.defaults.address)
  return [
    ...(metrics === undefined ? [] : [{ name: "metrics", containerPort: metrics }]),
    { name: "probes", containerPort: probes },
    ...(webhooks ? [{ name: "webhooks", containerPort: hooks }] : []),
    ...(apiService ? [{ name: "api", containerPort: portOf(ApiServiceServer.defaults.address) }] : [])
  ]
}

const showsMetrics = (options: Options): boolean => ports(options).some(({ name }) => name === "metrics")

/** Whether the API server calls it. */
const isCalled = ({ apiService, webhooks }: Options): boolean => apiService || webhooks

const readiness = (options: Options): string => isCalled(options) ? `/readyz/${Probes.serving}` : "/readyz"

const seconds = (input: Duration.Input): number => Math.ceil(Duration.toSeconds(Duration.fromInputUnsafe(input)))

const duration = (name: string, input: Duration.Input) => ({
  name,
  value: `${Duration.toMillis(Duration.fromInputUnsafe(input))} millis`
})

const fromField = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })

const environment = (options: Options) => {
  const { authentication, drain, env = {}, lease, linger } = options
  const own = [
    fromField("POD_NAMESPACE", "metadata.namespace"),
    fromField("EFFECT_OPERATOR_IDENTITY", "metadata.name"),
    ...(lease === undefined ? [] : [
      { name: "EFFECT_OPERATOR_LEADER_ELECTION", value: "true" },
      fromField("EFFECT_OPERATOR_LEASE_NAMESPACE", "metadata.namespace"),
      { name: "EFFECT_OPERATOR_LEASE_NAME", value: lease.name },
      ...(lease.per === "manager" ? [] : [{ name: "EFFECT_OPERATOR_LEASE_PER", value: lease.per }])
    ]),
    ...(drain === undefined ? [] : [duration("EFFECT_OPERATOR_DRAIN", drain)]),
    ...(linger === undefined || !isCalled(options) ? [] : [duration(Linger.variable, linger)]),
    ...(authentication ? [{ name: "EFFECT_OPERATOR_METRICS_AUTHENTICATION", value: "true" }] : [])
  ]
  // A server-side apply refuses a name that is there twice.
  return [
    ...own.filter(({ name }) => !Object.hasOwn(env, name)),
    ...Object.entries(env).map(([name, value]) => ({ name, value }))
  ]
}

export const deployment = (options: Options): Manifest => {
  const { env = {}, image, lease, name, namespace, resources = defaults.resources } = options
  const labels = labelsOf(name)
  const drain = PodEnvironment.duration(env, "EFFECT_OPERATOR_DRAIN", options.drain ?? Manager.defaults.drain)
  const linger = PodEnvironment.duration(env, Linger.variable, options.linger ?? Linger.defaults.linger)
  const lingered = isCalled(options) ? seconds(linger) : 0
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: options.replicas ?? defaults.replicas,
      // Without a leader two operators would work against each other, so the old one stops first.
      strategy: lease === undefined
        ? { type: "Recreate" }
        : { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: lingered + seconds(drain) + defaults.graceAboveDrain,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [{
            name: "operator",
            image,
            env: environment(options),
            ports: ports(options),
            readinessProbe: { httpGet: { path: readiness(options), port: "probes" }, periodSeconds: 10 },
            livenessProbe: {
              httpGet: { path: "/livez", port: "probes" },
              initialDelaySeconds: 15,
              periodSeconds: 20
            },
            resources,
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] }
            }
          }]
        }
      }
    }
  }
}

const service = (
  { name, namespace }: Options,
  suffix: string,
  port: { readonly name: string; readonly port: number; readonly targetPort: string }
): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: `${name}-${suffix}`, namespace, labels: labelsOf(name) },
  spec: { selector: labelsOf(name), ports: [{ ...port, protocol: "TCP" }] }
})

/** The Services for metrics and, if needed, for webhooks and the API. */
export const services = (options: Options): ReadonlyArray<Manifest> => [
  ...(showsMetrics(options)
    ? [
      service(options, "metrics", { name: "metrics", port: portOf(Endpoints.defaults.metrics), targetPort: "metrics" })
    ]
    : []),
  ...(options.webhooks ? [service(options, "webhook", { name: "webhooks", port: 443, targetPort: "webhooks" })] : []),
  ...(options.apiService ? [service(options, "api", { name: "api", port: 443, targetPort: "api" })] : [])
]

export const networkPolicy = (options: Options): Manifest => {
  const { name, namespace } = options
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: {
      podSelector: { matchLabels: labelsOf(name) },
      policyTypes: ["Ingress"],
      ingress: [
        ...(showsMetrics(options)
          ? [{
            // Label the scraper's namespace: `kubectl label namespace monitoring metrics=enabled`.
            from: [{ namespaceSelector: { matchLabels: { metrics: "enabled" } } }],
            ports: [{ protocol: "TCP", port: "metrics" }]
          }]
          : []),
        // The API server is not a pod that a selector could match.
        ...(options.webhooks ? [{ ports: [{ protocol: "TCP", port: "webhooks" }] }] : []),
        ...(options.apiService ? [{ ports: [{ protocol: "TCP", port: "api" }] }] : [])
      ]
    }
  }
}

/** Keeps one replica running while nodes are drained; empty if there is only one replica. */
export const disruptionBudget = (options: Options): ReadonlyArray<Manifest> => {
  const { name, namespace, replicas = defaults.replicas } = options
  return replicas < 2 ? [] : [{
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: { maxUnavailable: 1, selector: { matchLabels: labelsOf(name) } }
  }]
}
