/**
 * `RuntimeConfig`: which versions of built-in groups are served, as with kube-apiserver's `--runtime-config`.
 *
 * By default stable versions are served, and alpha and beta versions are not. `api/all`, `api/ga`, `api/beta` and
 * `api/alpha` apply to all versions of that level, `batch/v1` to a single one. A setting for a single version takes
 * precedence over one for a level, and that over `api/all`.
 *
 * Source: k8s.io/apiserver/pkg/server/resourceconfig/helpers.go and k8s.io/kubernetes/pkg/controlplane/instance.go.
 */
import { isLater } from "../../kinds/Schema.ts"
import { apiVersionOf } from "./Registry.ts"

export type RuntimeConfig = Readonly<Record<string, boolean>>

const stageOf = (version: string): "alpha" | "beta" | "ga" =>
  version.includes("alpha") ? "alpha" : version.includes("beta") ? "beta" : "ga"

/** Whether a resource is served. */
export const serves = (
  config: RuntimeConfig,
  resource: { readonly group: string; readonly version: string; readonly plural: string }
): boolean => {
  const groupVersion = apiVersionOf(resource)
  if (isLater(resource)) return false
  const stage = stageOf(resource.version)
  return config[groupVersion] ?? config[`api/${stage}`] ?? config["api/all"] ?? stage === "ga"
}
