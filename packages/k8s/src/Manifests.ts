/**
 * `Manifests`: the manifests that deploy an operator: definitions, identity, permissions, the Deployment and what it
 * needs around it.
 *
 * Everything follows from what the program declares: permissions from its controllers (`Permissions`), ports, Service
 * and configurations from its webhooks and its own API, the grace period from its drain and linger. Deterministic: the
 * same declaration gives the same text, so that a check in CI is a comparison.
 *
 * `files` is a folder for `kubectl apply -k`. `stream` is the same for `kubectl apply -f`, in an order that can be
 * applied.
 */
import type { Selected } from "@effect-operator/core/Cache"
import type * as Controller from "@effect-operator/core/Controller"
import type { CustomResource } from "@effect-operator/core/CustomResource"
import { type CustomResourceVersions, storageOf } from "@effect-operator/core/CustomResourceVersions"
import type * as Duration from "effect/Duration"
import * as Yaml from "yaml"
import type * as ApiService from "./apiservice/Api.ts"
import * as ApiServiceServer from "./apiservice/ApiServiceServer.ts"
import * as FrontProxy from "./apiservice/FrontProxy.ts"
import * as Registration from "./apiservice/Registration.ts"
import * as Crd from "./Crd.ts"
import type { FileName } from "./manifests/fileNames.ts"
import * as Lease from "./manifests/Lease.ts"
import type { Manifest } from "./manifests/Manifest.ts"
import * as Permissions from "./manifests/Permissions.ts"
import * as PodEnvironment from "./manifests/PodEnvironment.ts"
import * as Ring from "./manifests/Ring.ts"
import * as UserRoles from "./manifests/UserRoles.ts"
import * as Workload from "./manifests/Workload.ts"
import * as Configurations from "./webhook/Configurations.ts"
import type { Any as AnyHook } from "./webhook/Hook.ts"
import { secretName } from "./webhook/WebhookServer.ts"

export { containerfile } from "./manifests/Containerfile.ts"
export type { Manifest } from "./manifests/Manifest.ts"
export type { Permission, Rule, Verb, Write } from "./manifests/Permissions.ts"

/** Defaults, unless options override them. */
export const defaults = Workload.defaults

export interface Options {
  /** The name of all generated objects. */
  readonly name: string
  /** The namespace in which the operator runs. */
  readonly namespace: string
  readonly image: string
  readonly resources: ReadonlyArray<CustomResource | CustomResourceVersions>
  readonly controllers: ReadonlyArray<Controller.Controller<any>>
  /** The kinds of its `Cache.layer`, if it has one. */
  readonly cached?: ReadonlyArray<Selected> | undefined
  /**
   * What the reconcilers write, apart from the status of their own custom kind, and what they read apart from what they
   * watch.
   */
  readonly writes: ReadonlyArray<Permissions.Write>
  /** Kinds whose objects `StoredVersions.migrate` rewrites in the storage version, under the operator's account. */
  readonly migrates?: ReadonlyArray<CustomResource> | undefined
  readonly webhooks?: ReadonlyArray<AnyHook> | undefined
  /** The API that the operator serves itself. */
  readonly apiService?: ApiService.Api<any> | undefined
  /**
   * Whether and how replicas elect a leader; `true`, one leader for all controllers, by default. With `{ per:
   * "controller" }` each controller has a lease, and so a leader, of its own. With `{ per: "object" }` each replica has
   * a share of the objects; the operator may then write all leases of its namespace. `{ per: "ring" }` is the same with
   * shares assigned by the `ControllerRing` of the operator's name; the manifests contain it, and RBAC that lets the
   * sharder label the objects.
   */
  readonly leaderElection?: Lease.Election | undefined
  /** Replicas of the Deployment; 1 by default. More than one need `leaderElection` if there are controllers. */
  readonly replicas?: number | undefined
  /** How long reconciles in flight may take on shutdown; the manager's 25 s by default. */
  readonly drain?: Duration.Input | undefined
  /**
   * How long webhooks and the operator's own API are still served after SIGTERM, until no API server sends requests any
   * more; 5 s by default, 0 for none. Ignored if there are neither.
   */
  readonly linger?: Duration.Input | undefined
  /** Whether reading metrics needs the API server's permission; false by default. */
  readonly authentication?: boolean | undefined
  /** Whether the cluster's roles `view` and `edit` also cover objects of these kinds; true by default. */
  readonly userRoles?: boolean | undefined
  /** Requests and limits of the container. */
  readonly quantities?: Workload.Options["resources"]
  /** Additional environment variables. Ports and grace period follow them. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

const leaseOf = ({ leaderElection, name }: Pick<Options, "leaderElection" | "name">): Lease.Lease | undefined =>
  Lease.of(name, leaderElection)

/** The Service through which the API server reaches the webhooks: `service` of `Webhook.layer`. */
export const webhookService = ({ name, namespace }: Pick<Options, "name" | "namespace">) => ({
  namespace,
  name: Workload.webhookService(name)
})

/** The Service through which the aggregator reaches the operator's own API: `service` of `ApiService.layer`. */
export const apiServiceService = ({ name, namespace }: Pick<Options, "name" | "namespace">) => ({
  namespace,
  name: Workload.apiServiceService(name)
})

/** The definitions of the custom kinds. */
export const definitions = (
  { name, namespace, resources, webhooks = [] }: Pick<Options, "name" | "namespace" | "resources" | "webhooks">
): ReadonlyArray<Manifest> =>
  resources.map((declared) => {
    const { group, kind } = storageOf(declared)
    const reachable = { service: webhookService({ name, namespace }) }
    const conversion = Configurations.conversion(webhooks, { group, kind }, reachable)
    return Crd.make(
      declared,
      conversion === undefined ? {} : { conversion: conversion.webhook as Crd.Conversion }
    ) as Manifest
  })

/** Every permission, with the reason for it. */
export const permissions = (options: Omit<Options, "image" | "resources">): ReadonlyArray<Permissions.Permission> => {
  const { apiService, authentication, cached, controllers, migrates, name, namespace, webhooks = [], writes } = options
  const lease = leaseOf(options)
  return Permissions.of({
    name,
    namespace,
    controllers,
    cached,
    writes,
    migrates,
    authentication,
    leases: lease === undefined ? [] : Lease.names(lease, controllers),
    webhooks: webhooks.length === 0 ? undefined : { hooks: webhooks, secret: secretName({ name }) },
    apiService: apiService === undefined
      ? undefined
      : { api: apiService, secret: ApiServiceServer.secretName({ name }) }
  })
}

/** The rules by namespace: of the ClusterRole (key `""`) and of the Roles. */
export const rules = (
  options: Omit<Options, "image" | "resources">
): Readonly<Record<string, ReadonlyArray<Permissions.Rule>>> => Permissions.rules(permissions(options))

/** ServiceAccount, roles and bindings. */
export const rbac = (options: Omit<Options, "image" | "resources">): ReadonlyArray<Manifest> => {
  const { name, namespace } = options
  const labels = Workload.labelsOf(name)
  const group = "rbac.authorization.k8s.io"
  const apiVersion = `${group}/v1`
  const subjects = [{ kind: "ServiceAccount", name, namespace }]
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
    ...Object.entries(rules(options)).flatMap(([place, rules]): ReadonlyArray<Manifest> => {
      const [prefix, metadata] = place === "" ? ["Cluster", { name, labels }] : ["", { name, namespace: place, labels }]
      const roleRef = { apiGroup: group, kind: `${prefix}Role`, name }
      return [
        { apiVersion, kind: `${prefix}Role`, metadata, rules },
        { apiVersion, kind: `${prefix}RoleBinding`, metadata, roleRef, subjects }
      ]
    }),
    ...(options.apiService === undefined ? [] : [{
      apiVersion,
      kind: "RoleBinding",
      // To read the CA that signs the aggregator's client certificates. Every cluster has this role.
      metadata: { name: `${name}-authentication-reader`, namespace: FrontProxy.configMap.namespace, labels },
      roleRef: { apiGroup: group, kind: "Role", name: FrontProxy.readerRole },
      subjects
    }]),
    ...(options.authentication === true
      ? [{
        apiVersion,
        kind: "ClusterRole",
        // For readers of the metrics: bind it to the account of the scraper.
        metadata: { name: `${name}-metrics-reader`, labels },
        rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]
      }]
      : [])
  ]
}

/** Permissions for people, aggregated into the cluster's roles `view`, `edit` and `admin`. */
export const userRoles = (
  { apiService, name, resources, userRoles = true }: Pick<Options, "apiService" | "name" | "resources" | "userRoles">
): ReadonlyArray<Manifest> =>
  userRoles
    ? UserRoles.make(name, Workload.labelsOf(name), [
      ...resources.map((declared) => ({
        resource: storageOf(declared),
        writable: true
      })),
      ...(apiService?.kinds ?? []).map(({ resource, source }) => ({ resource, writable: source._tag === "Stored" }))
    ])
    : []

/**
 * Every replica may serve webhooks and an API, but without a leader several replicas would reconcile the same objects.
 */
const checkReplicas = ({ controllers, leaderElection, replicas = defaults.replicas }: Options): void => {
  if (leaderElection !== false || replicas < 2 || controllers.length === 0) return
  throw new Error(
    `Manifests: replicas: ${replicas}: without leaderElection every replica reconciles, in conflict with the others: ` +
      "remove `leaderElection: false`, or use one replica"
  )
}

const workloadOf = (options: Options): Workload.Options => ({
  ...options,
  lease: leaseOf(options),
  webhooks: (options.webhooks ?? []).length > 0,
  apiService: options.apiService !== undefined,
  authentication: options.authentication === true,
  resources: options.quantities
})

/** The Deployment: unprivileged, with a grace period long enough to drain. */
export const deployment = (options: Options): ReadonlyArray<Manifest> => {
  checkReplicas(options)
  const workload = workloadOf(options)
  PodEnvironment.check(workload)
  return [Workload.deployment(workload)]
}

/**
 * The webhook configurations without `caBundle`, which the operator fills in. Throws if two hooks have the same name or
 * path, which the API server, or the operator, would refuse later.
 */
export const webhooks = (
  { name, namespace, webhooks = [] }: Pick<Options, "name" | "namespace" | "webhooks">
): ReadonlyArray<Manifest> =>
  Configurations.make(webhooks, {
    name,
    reachable: { service: webhookService({ name, namespace }) },
    labels: Workload.labelsOf(name)
  }) as ReadonlyArray<Configurations.Configuration & Manifest>

/** The registration of the operator's own API without `caBundle`, which the operator fills in. */
export const apiServices = (options: Pick<Options, "name" | "namespace" | "apiService">): ReadonlyArray<Manifest> =>
  options.apiService === undefined
    ? []
    : [Registration.apiService(options.apiService, apiServiceService(options), Workload.labelsOf(options.name))]

/** The ring whose shards the replicas are, and RBAC for the sharder. Empty unless `leaderElection` is per ring. */
export const ring = (options: Pick<Options, "name" | "controllers" | "leaderElection">): ReadonlyArray<Manifest> =>
  leaseOf(options)?.per === "ring" ? Ring.make(options.name, options.controllers, Workload.labelsOf(options.name)) : []

/** The files without `kustomization.yaml`, in an order in which they can be applied. */
const applied = (options: Options): Readonly<Partial<Record<FileName, ReadonlyArray<Manifest>>>> => {
  const workload = workloadOf(options)
  const configurations = webhooks(options)
  const registrations = apiServices(options)
  const sharded = ring(options)
  return {
    ...(options.resources.length === 0 ? {} : { "crd.yaml": definitions(options) }),
    "rbac.yaml": [
      {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: {
          name: options.namespace,
          labels: { ...Workload.labelsOf(options.name), "pod-security.kubernetes.io/enforce": "restricted" }
        }
      },
      ...rbac(options),
      ...userRoles(options)
    ],
    ...(sharded.length === 0 ? {} : { "ring.yaml": sharded }),
    "service.yaml": Workload.services(workload),
    "network-policy.yaml": [Workload.networkPolicy(workload)],
    "deployment.yaml": [...deployment(options), ...Workload.disruptionBudget(workload)],
    ...(configurations.length === 0 ? {} : { "webhooks.yaml": configurations }),
    ...(registrations.length === 0 ? {} : { "apiservice.yaml": registrations })
  }
}

/** All files by name: those to apply, and the `kustomization.yaml` that lists them. */
export const files = (options: Options): Readonly<Record<string, ReadonlyArray<unknown>>> => {
  const all = applied(options)
  return {
    ...all,
    "kustomization.yaml": [{
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: Object.keys(all),
      images: [imageOf(options.image)]
    }]
  }
}

/** An image as kustomize names it: `registry:5000/name:tag` or `name@sha256:…`. */
const imageOf = (image: string) => {
  const [tagged = "", digest] = image.split("@")
  const colon = tagged.lastIndexOf(":")
  const name = colon > tagged.lastIndexOf("/") ? tagged.slice(0, colon) : tagged
  if (digest !== undefined) return { name, digest }
  return name === tagged ? { name } : { name, newTag: tagged.slice(colon + 1) }
}

/** All manifests, in the order to apply them. */
export const stream = (options: Options): ReadonlyArray<Manifest> => Object.values(applied(options)).flat()

/** Manifests as one YAML stream. */
export const format = (manifests: ReadonlyArray<unknown>): string =>
  manifests.map((manifest) => Yaml.stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n")
