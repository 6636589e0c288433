/**
 * `Plugins`: the admission plugins of a server, in the order a real server asks them.
 *
 * Those of the list are always on. A plugin of the user's own comes after what a real server has compiled in, and
 * before policies and webhooks.
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

/** A plugin that is made for a server. */
export type Factory = (server: Admission.Server) => Admission.Plugin

/** In front of the user's plugins. */
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

/** Every plugin of a server, in order. */
export const make = (
  server: Admission.Server,
  own: ReadonlyArray<Admission.Plugin | Factory>
): ReadonlyArray<Admission.Plugin> => {
  const built = (plugins: ReadonlyArray<Admission.Plugin | Factory>) =>
    plugins.map((plugin) => (typeof plugin === "function" ? plugin(server) : plugin))
  return [...built(first), ...built(own), ...built(last)]
}
