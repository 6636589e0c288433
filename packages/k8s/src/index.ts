/**
 * Kubernetes for `@effect-operator/core`: the live client, and what is derived from a declared kind.
 *
 * The built-in kinds are `@effect-operator/k8s/kinds`, the in-memory API server `@effect-operator/k8s/testing`.
 */
export * as ApiService from "./ApiService.ts"
export * as Crd from "./Crd.ts"
export * as CrdDiff from "./CrdDiff.ts"
export { crdToSchema } from "./CrdToSchema.ts"
export * as CrdValidation from "./CrdValidation.ts"
export * as Endpoints from "./Endpoints.ts"
export * as Environment from "./Environment.ts"
export * as KubeConfig from "./KubeConfig.ts"
export * as LiveClient from "./LiveClient.ts"
export * as Logging from "./Logging.ts"
export * as Main from "./Main.ts"
export { runMain, runTask } from "./Main.ts"
export * as Manifests from "./Manifests.ts"
export * as PodEviction from "./PodEviction.ts"
export * as PodExec from "./PodExec.ts"
export * as PodLogs from "./PodLogs.ts"
export * as StoredVersions from "./StoredVersions.ts"
export * as Telemetry from "./Telemetry.ts"
export * as Webhook from "./Webhook.ts"
