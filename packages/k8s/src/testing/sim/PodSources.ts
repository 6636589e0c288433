/**
 * `PodSources`: the Secrets and ConfigMaps that a Pod needs to start, and a kubelet's messages while one is missing.
 *
 * A missing source of a volume keeps the whole Pod from starting; a missing source of a container's environment keeps
 * that container from starting. Optional sources are ignored, and so is the ConfigMap with the cluster's CA, which
 * every namespace of a real cluster has.
 *
 * Source: k8s.io/kubernetes/pkg/volume/{secret,configmap,projected}, pkg/kubelet/kubelet_pods.go
 * (makeEnvironmentVariables).
 */
import type { Container, Pod } from "../../kinds/core.v1.ts"

/** A required object, and the keys that it must have. */
export interface Source {
  readonly kind: "Secret" | "ConfigMap"
  readonly name: string
  readonly keys: ReadonlyArray<string>
  /** The name of the volume or container that needs it. */
  readonly by: string
}

/** Returns the keys of an object; undefined if it does not exist. */
export type Lookup = (source: Source) => ReadonlySet<string> | undefined

const isPresumed = ({ kind, name }: Source): boolean => kind === "ConfigMap" && name === "kube-root-ca.crt"

interface Reference {
  readonly name?: string | undefined
  readonly optional?: boolean | undefined
}

const source = (
  kind: Source["kind"],
  reference: Reference | undefined,
  keys: ReadonlyArray<string>,
  by: string
): ReadonlyArray<Source> => {
  const { name = "", optional = false } = reference ?? {}
  const found = { kind, name, keys, by }
  return name === "" || optional || isPresumed(found) ? [] : [found]
}

const keysOf = (items: ReadonlyArray<{ readonly key: string }> | undefined): ReadonlyArray<string> =>
  items?.map(({ key }) => key) ?? []

/** The sources of a Pod's volumes. */
export const mounted = ({ spec }: Pod): ReadonlyArray<Source> =>
  (spec.volumes ?? []).flatMap(({ configMap, name, projected, secret }) => [
    ...source("Secret", secret && { name: secret.secretName, optional: secret.optional }, keysOf(secret?.items), name),
    ...source("ConfigMap", configMap, keysOf(configMap?.items), name),
    ...(projected?.sources ?? []).flatMap((part) => [
      ...source("Secret", part.secret, keysOf(part.secret?.items), name),
      ...source("ConfigMap", part.configMap, keysOf(part.configMap?.items), name)
    ])
  ])

const environmentOf = ({ env = [], envFrom = [], name }: Container): ReadonlyArray<Source> => [
  ...envFrom.flatMap(({ configMapRef, secretRef }) => [
    ...source("ConfigMap", configMapRef, [], name),
    ...source("Secret", secretRef, [], name)
  ]),
  ...env.flatMap(({ valueFrom }) => [
    ...source("ConfigMap", valueFrom?.configMapKeyRef, [valueFrom?.configMapKeyRef?.key ?? ""], name),
    ...source("Secret", valueFrom?.secretKeyRef, [valueFrom?.secretKeyRef?.key ?? ""], name)
  ])
]

/** The sources of the environments of a Pod's containers. */
export const environment = ({ spec }: Pod): ReadonlyArray<Source> =>
  [...spec.initContainers ?? [], ...spec.containers].flatMap(environmentOf)

const lacking = ({ keys }: Source, there: ReadonlySet<string>): string | undefined =>
  keys.find((key) => !there.has(key))

const notFound = ({ kind, name }: Source): string => `${kind.toLowerCase()} "${name}" not found`

/** Why a volume cannot be mounted. */
export const mountError = (source: Source, there: ReadonlySet<string> | undefined): string | undefined => {
  const failed = `MountVolume.SetUp failed for volume "${source.by}" : `
  if (there === undefined) return `${failed}${notFound(source)}`
  const key = lacking(source, there)
  const what = source.kind === "Secret" ? "secret" : "config"
  return key === undefined ? undefined : `${failed}references non-existent ${what} key: ${key}`
}

/** Why the environment of a container cannot be set. */
export const environmentError = (
  source: Source,
  there: ReadonlySet<string> | undefined,
  namespace: string
): string | undefined => {
  if (there === undefined) return notFound(source)
  const key = lacking(source, there)
  return key === undefined ? undefined : `couldn't find key ${key} in ${source.kind} ${namespace}/${source.name}`
}
