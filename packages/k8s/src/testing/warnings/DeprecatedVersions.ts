/**
 * `DeprecatedVersions`: served kinds that are deprecated in the current release. Every response about one has a
 * warning.
 *
 * Source: the `prerelease-lifecycle` comments of k8s.io/api, release 1.35, and
 * k8s.io/apiserver/pkg/endpoints/deprecation.
 */

interface Lifecycle {
  readonly since: string
  readonly until?: string
  readonly use?: string
}

const lifecycles: Readonly<Record<string, Lifecycle>> = {
  "v1 ComponentStatus": { since: "1.19" },
  "v1 Endpoints": { since: "1.33", use: "discovery.k8s.io/v1 EndpointSlice" },
  "networking.k8s.io/v1beta1 IPAddress": { since: "1.34", until: "1.37" },
  "networking.k8s.io/v1beta1 ServiceCIDR": { since: "1.34", until: "1.37" },
  "storage.k8s.io/v1beta1 VolumeAttributesClass": {
    since: "1.34",
    until: "1.37",
    use: "storage.k8s.io/v1 VolumeAttributesClass"
  },
  "certificates.k8s.io/v1alpha1 ClusterTrustBundle": { since: "1.34", until: "1.37" },
  "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy": { since: "1.35", until: "1.38" },
  "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding": { since: "1.35", until: "1.38" },
  "coordination.k8s.io/v1alpha2 LeaseCandidate": { since: "1.35", until: "1.38" },
  "resource.k8s.io/v1beta1 DeviceClass": { since: "1.35", until: "1.38" },
  "resource.k8s.io/v1beta1 ResourceClaim": { since: "1.35", until: "1.38" },
  "resource.k8s.io/v1beta1 ResourceClaimTemplate": { since: "1.35", until: "1.38" },
  "resource.k8s.io/v1beta1 ResourceSlice": { since: "1.35", until: "1.38" }
}

/** The warning about a kind in a version; undefined if it is not deprecated. */
export const warning = (apiVersion: string, kind: string): string | undefined => {
  const name = `${apiVersion} ${kind}`
  const found = lifecycles[name]
  if (found === undefined) return undefined
  const { since, until, use } = found
  return `${name} is deprecated in v${since}+` + (until === undefined ? "" : `, unavailable in v${until}+`) +
    (use === undefined ? "" : `; use ${use}`)
}
