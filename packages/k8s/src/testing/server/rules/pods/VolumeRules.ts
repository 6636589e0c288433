/**
 * `VolumeRules`: validates the volumes of a Pod: one source each, with what it requires.
 *
 * Sources that have been replaced by CSI drivers (cloud disks) are only checked for required fields. Two paths contain
 * the server's own typos.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateVolumes`.
 */
import * as MetadataRules from "../../../../api/MetadataRules.ts"
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import * as Quantity from "../../../../api/Quantity.ts"
import { type Faults, givenLabel, invalids, oneOf, optional, required, when } from "../Checks.ts"
import * as ClaimRules from "../ClaimRules.ts"
import * as EnvironmentRules from "./EnvironmentRules.ts"
import * as NetworkDiskRules from "./NetworkDiskRules.ts"
import * as PathRules from "./PathRules.ts"
import * as ProjectionRules from "./ProjectionRules.ts"

/** The owner of the volumes: a Pod, which may have a name, or a template. */
export interface Owner {
  readonly isPod: boolean
  readonly name?: string
}

type Source = (source: unknown, path: string, owner: Owner) => Faults

const needs = (...fields: ReadonlyArray<string>): Source => (source, path) => required(source, path, ...fields)

const items = (source: unknown, path: string): Faults => [
  ...PathRules.mode(source, "defaultMode", path),
  ...arrayAt(source, "items").flatMap((item, index) => PathRules.keyToPath(item, `${path}.items[${index}]`))
]

/** Faults of a driver's name. */
export const driverName = (name: string, path: string): Faults =>
  name === "" ? [FieldError.required(path, "")] : [
    ...when(Names.byteLength(name) > 63, FieldError.tooLong(path, 63)),
    ...invalids(path, name, Names.dnsSubdomain(name.toLowerCase()))
  ]

/** Options with a prefix in a Kubernetes domain are reserved. */
const flexVolume: Source = (source, path) => [
  ...required(source, path, "driver"),
  ...Object.keys(objectAt(source, "options")).filter((key) =>
    /\.(?:kubernetes|k8s)\.io$/.test(`.${(key.includes("/") ? key.slice(0, key.indexOf("/")) : key).toLowerCase()}`)
  ).map((key) => FieldError.invalid(`${path}.options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved"))
]

const partition = (source: unknown, path: string): Faults => {
  const number = at(source, "partition")
  return when(
    typeof number === "number" && (number < 0 || number > 255),
    FieldError.invalid(`${path}.partition`, number, "must be between 1 and 255, inclusive")
  )
}

/** `driverName` for a source that names a driver. */
export const driver = (source: unknown, path: string): Faults =>
  driverName(stringAt(source, "driver"), `${path}.driver`)

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket"
]

/** The claim template of an ephemeral volume, which may have little metadata. */
const claimTemplate = (template: unknown, path: string): Faults => {
  return [
    ...MetadataRules.validateTemplateMeta(objectAt(template, "metadata"), `${path}.metadata`),
    ...ClaimRules.specFaults(objectAt(template, "spec"), `${path}.spec`)
  ]
}

const hostPorts = "must be a host:port pair or multiple pairs separated by commas"

const hostPort = /^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/

const managedDisk = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"

const blobDisk = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

/** A secret reference must have a name. */
const secretName = (source: unknown, path: string): Faults =>
  at(source, "secretRef") === undefined ? [] : required(at(source, "secretRef"), `${path}.secretRef`, "name")

/** In the order in which the server checks them: all but the first are too many. */
const sources: Readonly<Record<string, Source>> = {
  emptyDir: (source, path) => {
    const limit = at(source, "sizeLimit")
    return when(
      limit !== undefined && Quantity.compare(String(limit), "0") < 0,
      FieldError.forbidden(`${path}.sizeLimit`, "SizeLimit field must be a valid resource quantity")
    )
  },
  hostPath: (source, path) =>
    stringAt(source, "path") === "" ? required(source, path, "path") : [
      ...PathRules.noBacksteps(stringAt(source, "path"), `${path}.path`),
      ...optional(source, "type", path, hostPathTypes)
    ],
  gitRepo: (source, path) => [
    ...required(source, path, "repository"),
    ...PathRules.descending(stringAt(source, "directory"), `${path}.directory`)
  ],
  gcePersistentDisk: (source, path) => {
    const here = path.replace(/gceP/, "p")
    return [...required(source, here, "pdName"), ...partition(source, here)]
  },
  awsElasticBlockStore: (source, path) => [...required(source, path, "volumeID"), ...partition(source, path)],
  secret: (source, path) => [...required(source, path, "secretName"), ...items(source, path)],
  nfs: (source, path) => [
    ...required(source, path, "server", "path"),
    ...when(
      !stringAt(source, "path").startsWith("/"),
      FieldError.invalid(`${path}.path`, stringAt(source, "path"), "must be an absolute path")
    )
  ],
  iscsi: NetworkDiskRules.iscsi,
  glusterfs: needs("endpoints", "path"),
  flocker: (source, path) => {
    const [name, uuid] = [stringAt(source, "datasetName"), stringAt(source, "datasetUUID")]
    return [
      ...when(
        name === "" && uuid === "",
        FieldError.required(path, "one of datasetName and datasetUUID is required")
      ),
      ...when(
        name !== "" && uuid !== "",
        FieldError.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
      ),
      ...when(name.includes("/"), FieldError.invalid(`${path}.datasetName`, name, "must not contain '/'"))
    ]
  },
  persistentVolumeClaim: needs("claimName"),
  rbd: (source, path) => [
    ...when(arrayAt(source, "monitors").length === 0, FieldError.required(`${path}.monitors`, "")),
    ...required(source, path, "image")
  ],
  cinder: (source, path) => [...required(source, path, "volumeID"), ...secretName(source, path)],
  cephfs: (source, path) => when(arrayAt(source, "monitors").length === 0, FieldError.required(`${path}.monitors`, "")),
  quobyte: (source, path) => {
    const registry = stringAt(source, "registry")
    return [
      ...(registry === ""
        ? [FieldError.required(`${path}.registry`, hostPorts)]
        : stringAt(source, "tenant").length >= 65
        ? [FieldError.required(`${path}.tenant`, "must be a UUID and may not exceed a length of 64 characters")]
        : registry.split(",").filter((pair) => !hostPort.test(pair)).map(() =>
          FieldError.invalid(`${path}.registry`, registry, hostPorts)
        )),
      ...required(source, path, "volume")
    ]
  },
  downwardAPI: (source, path) => [
    ...PathRules.mode(source, "defaultMode", path),
    // The path does not include the index of the file.
    ...arrayAt(source, "items").flatMap((file) => EnvironmentRules.fileFaults(file, path))
  ],
  fc: NetworkDiskRules.fc,
  flexVolume,
  configMap: (source, path) => [...required(source, path, "name"), ...items(source, path)],
  azureFile: needs("secretName", "shareName"),
  vsphereVolume: needs("volumePath"),
  photonPersistentDisk: needs("pdID"),
  portworxVolume: needs("volumeID"),
  azureDisk: (source, path) => {
    const [kind, uri] = [at(source, "kind"), stringAt(source, "diskURI")]
    const managed = kind === "Managed"
    return [
      ...required(source, path, "diskName", "diskURI"),
      ...optional(source, "cachingMode", path, ["None", "ReadOnly", "ReadWrite"]),
      ...optional(source, "kind", path, ["Dedicated", "Managed", "Shared"]),
      ...when(
        kind !== undefined && !uri.startsWith(managed ? "/subscriptions/" : "https://"),
        FieldError.notSupported(`${path}.diskURI`, uri, [managed ? managedDisk : blobDisk])
      )
    ]
  },
  storageos: (source, path) => [
    ...(stringAt(source, "volumeName") === ""
      ? required(source, path, "volumeName")
      : invalids(`${path}.volumeName`, stringAt(source, "volumeName"), Names.dnsLabel(stringAt(source, "volumeName")))),
    ...givenLabel(source, "volumeNamespace", path),
    ...secretName(source, path)
  ],
  projected: ProjectionRules.faults,
  scaleIO: needs("gateway", "system", "volumeName"),
  csi: (source, path) => {
    const secret = at(source, "nodePublishSecretRef")
    const name = stringAt(secret, "name")
    return [
      ...driver(source, path),
      ...(secret === undefined
        ? []
        : name === ""
        ? [FieldError.required(`${path}.nodePublishSecretRef.name`, "")]
        : invalids(`${path}.name`, name, Names.dnsSubdomain(name)))
    ]
  },
  ephemeral: (source, path) => {
    const template = at(source, "volumeClaimTemplate")
    return template === undefined
      ? required(source, path, "volumeClaimTemplate")
      : claimTemplate(template, `${path}.volumeClaimTemplate`)
  },
  image: (source, path, { isPod }) => [
    ...(isPod ? required(source, path, "reference") : []),
    ...oneOf(source, "pullPolicy", path, ["Always", "IfNotPresent", "Never"])
  ]
}

/** Faults of a source that persistent volumes can have, too. */
export const source = (name: string, value: unknown, path: string): Faults =>
  sources[name]?.(value, path, { isPod: false }) ?? []

/** The paths of superfluous sources, if they differ from the names. */
const tooMany: Readonly<Record<string, string>> = { downwardAPI: "downwarAPI", cephfs: "cephFS" }

/** The fault of a superfluous source. */
export const oneTooMany = (source: string, path: string): Faults => [
  FieldError.forbidden(`${path}.${tooMany[source] ?? source}`, "may not specify more than 1 volume type")
]

const sourceFaults = (volume: unknown, path: string, owner: Owner): Faults => {
  const [first, ...others] = Object.keys(sources).filter((source) => at(volume, source) !== undefined)
  if (first === undefined) return [FieldError.required(path, "must specify a volume type")]
  return [
    ...sources[first]!(at(volume, first), `${path}.${first}`, owner),
    ...others.flatMap((other) => oneTooMany(other, path))
  ]
}

/** The generated claim of an ephemeral volume must have a valid name. */
const ownClaim = (volume: unknown, path: string, owner: Owner): Faults => {
  const name = stringAt(volume, "name")
  if (at(volume, "ephemeral") === undefined || (owner.name ?? "") === "" || name === "") return []
  const claim = `${owner.name}-${name}`
  return Names.dnsSubdomain(claim).map((fault) =>
    FieldError.invalid(`${path}.name`, name, `PVC name "${claim}": ${fault}`)
  )
}

/** Faults of all volumes, and the valid ones by name. */
export const judge = (
  spec: unknown,
  path: string,
  owner: Owner
): { readonly faults: Faults; readonly known: ReadonlyMap<string, unknown> } => {
  const volumes = arrayAt(spec, "volumes")
  const made = new Set(
    (owner.name ?? "") === ""
      ? []
      : volumes.filter((volume) => at(volume, "ephemeral") !== undefined).map((volume) =>
        `${owner.name}-${stringAt(volume, "name")}`
      )
  )
  const known = new Map<string, unknown>()
  const all = volumes.flatMap((volume, index) => {
    const here = `${path}.volumes[${index}]`
    const name = stringAt(volume, "name")
    const claim = stringAt(volume, "persistentVolumeClaim", "claimName")
    const faults = [
      ...sourceFaults(volume, here, owner),
      ...ownClaim(volume, here, owner),
      ...(name === "" ? required(volume, here, "name") : invalids(`${here}.name`, name, Names.dnsLabel(name))),
      ...when(known.has(name), FieldError.duplicate(`${here}.name`, name))
    ]
    if (faults.length === 0) known.set(name, volume)
    return [
      ...faults,
      ...when(
        made.has(claim),
        FieldError.invalid(
          `${here}.persistentVolumeClaim.claimName`,
          claim,
          "must not reference a PVC that gets created for an ephemeral volume"
        )
      )
    ]
  })
  return { faults: all, known }
}
