/**
 * `JudgedMetadata`: how often the validation of a kind judges the metadata of an update, beyond what the registry does for
 * all kinds.
 *
 * A fault of metadata is told as a cause as often as it is found. Most kinds judge the metadata of an update as of an
 * update and, because they judge the whole object, as of a new one; some judge the parts of the object only, others do
 * both for themselves.
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

/** What is known of a built-in kind. */
export const of = (collection: string): Judged => ({
  ...(partly.has(collection) ? { judgedAnew: 0 } : {}),
  ...(twice.has(collection) ? { judgedAnew: 2 } : {}),
  // Though a kind of the machinery, which do not, it judges the whole object.
  ...(collection === "apiservices.apiregistration.k8s.io" ? { judgedAnew: 1 } : {}),
  ...(withStatus[collection] === undefined ? {} : { judgedWithStatus: withStatus[collection] })
})
