/**
 * `Plugins`: the admission plugins of a server, in the order of a real server.
 *
 * The built-in ones are always on. The user's own plugins come after them, but before policies, webhooks and quotas.
 *
 * Source: k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go (`AllOrderedPlugins`, `DefaultOffAdmissionPlugins`).
 */
import type * as Admission from "../Admission.ts"
import * as CertificatePlugins from "./CertificatePlugins.ts"
import * as LimitRanger from "./LimitRanger.ts"
import * as MutatingPolicy from "./MutatingPolicy.ts"
import * as PodPlugins from "./PodPlugins.ts"
import * as PodSecurity from "./PodSecurity.ts"
import * as ResourceQuota from "./ResourceQuota.ts"
import * as StoragePlugins from "./StoragePlugins.ts"
import * as ValidatingPolicy from "./ValidatingPolicy.ts"
import * as Webhooks from "./Webhooks.ts"

/** Makes a plugin for a server. */
export type Factory = (server: Admission.Server) => Admission.Plugin

/** Before the user's plugins. */
const first: ReadonlyArray<Factory> = [
  LimitRanger.plugin,
  PodPlugins.taintNodesByCondition,
  PodSecurity.plugin,
  PodPlugins.priority,
  PodPlugins.defaultTolerationSeconds,
  StoragePlugins.defaultStorageClass,
  StoragePlugins.storageObjectInUseProtection,
  StoragePlugins.persistentVolumeClaimResize,
  PodPlugins.runtimeClass,
  CertificatePlugins.approval,
  CertificatePlugins.signing,
  CertificatePlugins.subjectRestriction,
  StoragePlugins.defaultIngressClass,
  PodPlugins.podTopologyLabels
]

/** After the user's plugins. */
const last: ReadonlyArray<Factory> = [
  MutatingPolicy.plugin,
  Webhooks.mutating,
  ValidatingPolicy.plugin,
  Webhooks.validating,
  ResourceQuota.plugin
]

/** All plugins of a server, in order. */
export const make = (
  server: Admission.Server,
  own: ReadonlyArray<Admission.Plugin | Factory>
): ReadonlyArray<Admission.Plugin> => {
  const built = (plugins: ReadonlyArray<Admission.Plugin | Factory>) =>
    plugins.map((plugin) => (typeof plugin === "function" ? plugin(server) : plugin))
  return [...built(first), ...built(own), ...built(last)]
}
