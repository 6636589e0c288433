/** The files of `Manifests.files` except the kustomization, in the order to apply them; not every operator has all. */
export const fileNames = [
  "crd.yaml",
  "rbac.yaml",
  "ring.yaml",
  "service.yaml",
  "network-policy.yaml",
  "deployment.yaml",
  "webhooks.yaml",
  "apiservice.yaml"
] as const

export type FileName = (typeof fileNames)[number]
