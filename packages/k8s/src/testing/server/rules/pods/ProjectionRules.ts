/**
 * `ProjectionRules`: validates projected volumes: each source, and that no two of them have the same file.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateProjectedVolumeSource`.
 */
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, oneOfGiven, required, when } from "../Checks.ts"
import * as LabelSelectorRules from "../LabelSelectorRules.ts"
import * as EnvironmentRules from "./EnvironmentRules.ts"
import * as PathRules from "./PathRules.ts"

/**
 * `root` is the path of the volume, which some faults contain; `taken` returns the fault of a file that another source
 * has.
 */
interface Place {
  readonly root: string
  readonly path: string
  readonly taken: (file: string, value: string) => Faults
}

type Source = (source: unknown, place: Place) => Faults

const keys: Source = (source, { path, taken }) => [
  ...required(source, path, "name"),
  ...arrayAt(source, "items").flatMap((item, index) => [
    ...PathRules.keyToPath(item, `${path}.items[${index}]`),
    ...taken(stringAt(item, "path"), stringAt(source, "name"))
  ])
]

const shortest = 600
const longest = 2 ** 32

const token: Source = (source, { path, root }) => {
  const seconds = at(source, "expirationSeconds")
  const file = stringAt(source, "path")
  const bound = (wrong: boolean, why: string) =>
    when(wrong, FieldError.invalid(`${path}.expirationSeconds`, seconds, `may not specify a duration ${why}`))
  return [
    ...bound(typeof seconds === "number" && seconds < shortest, "less than 10 minutes"),
    ...bound(typeof seconds === "number" && seconds > longest, "larger than 2^32 seconds"),
    ...(file === "" ? [FieldError.required(`${root}.path`, "")] : PathRules.nonReserved(file, `${root}.path`))
  ]
}

const bundle: Source = (source, { path, taken }) => {
  const [name, signer] = [at(source, "name"), at(source, "signerName")]
  const file = stringAt(source, "path")
  const chosen = name !== undefined && signer !== undefined
    ? [FieldError.invalid(path, source, "only one of name and signerName may be used")]
    : name !== undefined
    ? [
      ...when(name === "", FieldError.required(`${path}.name`, "must be a valid object name")),
      ...when(
        at(source, "labelSelector") !== undefined,
        FieldError.invalid(
          `${path}.labelSelector`,
          at(source, "labelSelector"),
          "labelSelector must be unset if name is specified"
        )
      )
    ]
    : signer !== undefined
    ? [
      ...when(signer === "", FieldError.required(`${path}.signerName`, "must be a valid signer name")),
      ...LabelSelectorRules.validate(at(source, "labelSelector"), `${path}.labelSelector`)
    ]
    : [FieldError.required(path, "either name or signerName must be specified")]
  return [
    ...chosen,
    ...required(source, path, "path"),
    ...PathRules.nonReserved(file, `${path}.path`),
    ...taken(file, file)
  ]
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"]

const certificate: Source = (source, { path, taken }) => {
  const fields = ["credentialBundlePath", "keyPath", "certificateChainPath"]
  const files = fields.map((field) => [field, stringAt(source, field)] as const).filter(([, file]) => file !== "")
  return [
    ...oneOfGiven(source, "keyType", path, keyTypes),
    ...files.flatMap(([field, file]) => [...PathRules.nonReserved(file, `${path}.${field}`), ...taken(file, file)]),
    ...when(
      files.length === 0,
      FieldError.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
    )
  ]
}

const sources: Readonly<Record<string, Source>> = {
  secret: keys,
  configMap: keys,
  downwardAPI: (source, { path, taken }) =>
    arrayAt(source, "items").flatMap((file) => [
      ...EnvironmentRules.fileFaults(file, path),
      ...taken(stringAt(file, "path"), stringAt(file, "path"))
    ]),
  serviceAccountToken: token,
  clusterTrustBundle: bundle,
  podCertificate: certificate
}

/** Faults of a projected volume. */
export const faults = (volume: unknown, root: string): Faults => {
  const files = new Set<string>()
  const taken = (file: string, value: string): Faults => {
    const repeated = files.has(file)
    if (file !== "") files.add(file)
    return when(repeated, FieldError.invalid(root, value, "conflicting duplicate paths"))
  }
  return [
    ...PathRules.mode(volume, "defaultMode", root),
    ...arrayAt(volume, "sources").flatMap((source, index) => {
      const here = `${root}.sources[${index}]`
      const given = Object.keys(sources).filter((name) => at(source, name) !== undefined)
      return [
        ...given.flatMap((name) => sources[name]!(at(source, name), { root, path: `${here}.${name}`, taken })),
        ...when(given.length > 1, FieldError.forbidden(here, "may not specify more than 1 volume type per source"))
      ]
    })
  ]
}
