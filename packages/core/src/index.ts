/** Kubernetes operators on Effect. Data flows down this list; no module imports from below itself. */
export * as KubeObject from "./KubeObject.ts"
export * as Status from "./Status.ts"
export * as Selector from "./Selector.ts"
export * as Resource from "./Resource.ts"
export * as KubeError from "./KubeError.ts"
export * as WatchEvent from "./WatchEvent.ts"
export * as Transport from "./Transport.ts"
export * as KubeClient from "./KubeClient.ts"
