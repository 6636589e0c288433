/**
 * `JudgedMetadata`: how many times a kind's own validation of an update includes metadata, in addition to the
 * registry's validation for all kinds.
 *
 * A fault of metadata is reported each time it is found. Most kinds validate the metadata of an update as an update
 * and, because they validate the whole object, as a new object. Some validate only other parts of the object; others
 * validate the whole object twice.
 *
 * Source: the `ValidateUpdate` of the strategies in k8s.io/kubernetes/pkg/registry; counted on a kube-apiserver 1.35.
 */
import type { Strategy } from "../Strategy.ts"

type Judged = Partial<Pick<Strategy, "judgedAnew" | "judgedWithStatus">>

const partly: ReadonlySet<string> = new Set([
  "limitranges",
  "podtemplates",
  "replicationcontrollers",
  "resourcequotas",
  "services",
  "daemonsets.apps",
  "deployments.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "horizontalpodautoscalers.autoscaling",
  "cronjobs.batch",
  "endpointslices.discovery.k8s.io",
  "flowschemas.flowcontrol.apiserver.k8s.io",
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
  "servicecidrs.networking.k8s.io",
  "resourceslices.resource.k8s.io",
  "priorityclasses.scheduling.k8s.io",
  "csidrivers.storage.k8s.io",
  "volumeattachments.storage.k8s.io"
])

const twice: ReadonlySet<string> = new Set(["controllerrevisions.apps", "resourceclaims.resource.k8s.io"])

const withStatus: Readonly<Record<string, number>> = {
  "cronjobs.batch": 0,
  "certificatesigningrequests.certificates.k8s.io": 2
}

/** The numbers for a built-in kind. */
export const of = (collection: string): Judged => ({
  ...(partly.has(collection) ? { judgedAnew: 0 } : {}),
  ...(twice.has(collection) ? { judgedAnew: 2 } : {}),
  // Unlike other kinds of the API machinery, it validates the whole object.
  ...(collection === "apiservices.apiregistration.k8s.io" ? { judgedAnew: 1 } : {}),
  ...(withStatus[collection] === undefined ? {} : { judgedWithStatus: withStatus[collection] })
})
