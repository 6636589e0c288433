/**
 * `RuntimeConfig`: which versions of built-in groups are served, as a kube-apiserver's `--runtime-config` says it.
 *
 * Stable versions are, alpha and beta ones are not, unless they are asked for. `api/all`, `api/ga`, `api/beta` and
 * `api/alpha` speak of all versions of that kind, `batch/v1` of one; what is said of one counts more, then what is said
 * of a kind.
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
