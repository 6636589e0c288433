/**
 * `OverlapWarnings`: warnings about files in a volume that overwrite each other, or whose path lies below another file.
 *
 * Source: k8s.io/kubernetes/pkg/api/pod/warnings.go (`warningsForOverlappingVirtualPaths`).
 */
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Warnings } from "./NodeLabelWarnings.ts"

/** A file, and its source in a volume with several sources. */
interface File {
  readonly path: string
  readonly source: string
}

const print = ({ path, source }: File): string => source === "" ? `"${path}"` : `"${path}" (${source})`

const overlap = (one: File, other: File): boolean =>
  one.path !== "" && other.path !== "" &&
  (`${one.path}/`.startsWith(`${other.path}/`) || `${other.path}/`.startsWith(`${one.path}/`))

/** A warning for each file that conflicts with earlier ones. */
const collisions = (files: ReadonlyArray<File>): Warnings => {
  const trimmed = files.map(({ path, source }) => ({ path: path.replace(/\/+$/, ""), source }))
  return trimmed.flatMap((file, index) =>
    trimmed.slice(0, index).filter((earlier) => overlap(file, earlier)).map((earlier) =>
      `${print(file)} with ${print(earlier)}`
    )
  )
}

const filesOf = (items: ReadonlyArray<unknown>, source = ""): ReadonlyArray<File> =>
  items.map((item) => ({ path: stringAt(item, "path"), source }))

const ofTrustBundle = (bundle: unknown): File => ({
  path: stringAt(bundle, "path"),
  source: `ClusterTrustBundle "${stringAt(bundle, "name") || stringAt(bundle, "signerName")}"`
})

const ofCertificate = (certificate: unknown): ReadonlyArray<File> =>
  ([
    ["certificateChainPath", "PodCertificate chain"],
    ["keyPath", "PodCertificate key"],
    ["credentialBundlePath", "PodCertificate credential bundle"]
  ] as const).flatMap(([field, source]) => {
    const path = stringAt(certificate, field)
    return path === "" ? [] : [{ path, source }]
  })

const ofProjection = (source: unknown): ReadonlyArray<File> => {
  const [key] = Object.keys(objectAt(source))
  const found = key === undefined ? undefined : at(source, key)
  switch (key) {
    case "configMap":
      return filesOf(arrayAt(found, "items"), `ConfigMap "${stringAt(found, "name")}"`)
    case "secret":
      return filesOf(arrayAt(found, "items"), `Secret "${stringAt(found, "name")}"`)
    case "downwardAPI":
      return filesOf(arrayAt(found, "items"), "DownwardAPI")
    case "serviceAccountToken":
      return [{ path: stringAt(found, "path"), source: "ServiceAccountToken" }]
    case "clusterTrustBundle":
      return [ofTrustBundle(found)]
    case "podCertificate":
      return ofCertificate(found)
    default:
      return []
  }
}

const ofVolume = (volume: unknown): Warnings => {
  const name = stringAt(volume, "name")
  const told = (what: string, files: ReadonlyArray<File>): Warnings =>
    collisions(files).map((text) => `volume "${name}" (${what}): overlapping paths: ${text}`)
  const sources = arrayAt(volume, "projected", "sources")
  return [
    ...told(`ConfigMap "${stringAt(volume, "configMap", "name")}"`, filesOf(arrayAt(volume, "configMap", "items"))),
    ...told(`Secret "${stringAt(volume, "secret", "secretName")}"`, filesOf(arrayAt(volume, "secret", "items"))),
    ...told("DownwardAPI", filesOf(arrayAt(volume, "downwardAPI", "items"))),
    ...sources.filter((source) => Object.keys(objectAt(source)).length === 0).map(() =>
      `volume "${name}" (Projected) has no sources provided`
    ),
    ...told("Projected", sources.flatMap(ofProjection))
  ]
}

export const ofVolumes = (volumes: ReadonlyArray<unknown>): Warnings => volumes.flatMap(ofVolume)
