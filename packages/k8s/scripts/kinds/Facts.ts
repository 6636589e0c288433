/**
 * Facts that the OpenAPI document of Kubernetes does not contain, written by hand: short names, categories, the order
 * of groups, defaults of list keys, and, if two kinds have the same name, which one `@effect-operator/k8s/kinds`
 * exports.
 *
 * Source: `ShortNames`, `Categories`, the APIService priorities and the `+default` markers of the Kubernetes 1.35
 * sources. Names, categories and order equal the discovery of a running kube-apiserver for everything that 1.20 had.
 * The generator refuses an entry that refers to nothing.
 */

/** Short names by `plural` or `plural.group`. */
export const shortNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  "componentstatuses": ["cs"],
  "configmaps": ["cm"],
  "endpoints": ["ep"],
  "events": ["ev"],
  "limitranges": ["limits"],
  "namespaces": ["ns"],
  "nodes": ["no"],
  "persistentvolumeclaims": ["pvc"],
  "persistentvolumes": ["pv"],
  "pods": ["po"],
  "replicationcontrollers": ["rc"],
  "resourcequotas": ["quota"],
  "serviceaccounts": ["sa"],
  "services": ["svc"],
  "customresourcedefinitions.apiextensions.k8s.io": ["crd", "crds"],
  "daemonsets.apps": ["ds"],
  "deployments.apps": ["deploy"],
  "replicasets.apps": ["rs"],
  "statefulsets.apps": ["sts"],
  "horizontalpodautoscalers.autoscaling": ["hpa"],
  "cronjobs.batch": ["cj"],
  "certificatesigningrequests.certificates.k8s.io": ["csr"],
  "events.events.k8s.io": ["ev"],
  "ingresses.networking.k8s.io": ["ing"],
  "ipaddresses.networking.k8s.io": ["ip"],
  "networkpolicies.networking.k8s.io": ["netpol"],
  "poddisruptionbudgets.policy": ["pdb"],
  "priorityclasses.scheduling.k8s.io": ["pc"],
  "storageclasses.storage.k8s.io": ["sc"],
  "volumeattributesclasses.storage.k8s.io": ["vac"]
}

/** Resources by category, each as `plural` or `plural.group`. */
export const categories: Readonly<Record<string, ReadonlyArray<string>>> = {
  "all": [
    "pods",
    "replicationcontrollers",
    "services",
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "horizontalpodautoscalers.autoscaling",
    "cronjobs.batch",
    "jobs.batch"
  ],
  "api-extensions": [
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "apiservices.apiregistration.k8s.io"
  ]
}

/** The order of groups in `/apis`: descending `groupPriorityMinimum` of their APIService. */
export const groupPriority: Readonly<Record<string, number>> = {
  "apiregistration.k8s.io": 20000,
  "": 18000,
  "apps": 17800,
  "events.k8s.io": 17750,
  "authentication.k8s.io": 17700,
  "authorization.k8s.io": 17600,
  "autoscaling": 17500,
  "batch": 17400,
  "certificates.k8s.io": 17300,
  "networking.k8s.io": 17200,
  "policy": 17100,
  "rbac.authorization.k8s.io": 17000,
  "storage.k8s.io": 16800,
  "admissionregistration.k8s.io": 16700,
  "apiextensions.k8s.io": 16700,
  "scheduling.k8s.io": 16600,
  "coordination.k8s.io": 16500,
  "node.k8s.io": 16300,
  "discovery.k8s.io": 16200,
  "resource.k8s.io": 16200,
  "flowcontrol.apiserver.k8s.io": 16100,
  "internal.apiserver.k8s.io": 16000,
  "storagemigration.k8s.io": 15800
}

/** Defaults of optional properties that are list keys; a merge needs them to distinguish list elements. */
export const keyDefaults: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "io.k8s.api.core.v1.ContainerPort": { protocol: "TCP" },
  "io.k8s.api.core.v1.ServicePort": { protocol: "TCP" },
  "io.k8s.api.core.v1.LocalObjectReference": { name: "" }
}

/** If several groups have a kind of this name in their preferred versions: the group whose kind the index exports. */
export const indexChoices: Readonly<Record<string, string>> = {
  Event: ""
}
