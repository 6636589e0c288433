/**
 * `PodSpecRules`: what the spec of a Pod must be, in a Pod and in every template of one.
 *
 * Containers, their ports, environment, probes and resources; volumes, tolerations and the enumerations. Parts that
 * operators seldom write (affinity, security contexts, DNS, lifecycle) are taken as they are.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, `ValidatePodSpec`.
 */
import * as Amounts from "./Amounts.ts"
import { keyFaults } from "./ContentRules.ts"
import * as FieldError from "../schema/FieldError.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as MetadataRules from "../../api/MetadataRules.ts"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as PodSecurityRules from "./PodSecurityRules.ts"
import * as Quantity from "./Quantity.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const invalids = (path: string, value: unknown, texts: ReadonlyArray<string>): Faults =>
  texts.map((text) => FieldError.invalid(path, value, text))

const oneOf = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults => {
  const value = stringAt(object, field)
  return value === ""
    ? [FieldError.required(`${path}.${field}`, "")]
    : values.includes(value)
    ? []
    : [FieldError.notSupported(`${path}.${field}`, value, values)]
}

const portRange = "must be between 1 and 65535, inclusive"

const portNumber = (path: string, value: number): Faults =>
  value >= 1 && value <= 65535 ? [] : [FieldError.invalid(path, value, portRange)]

/** Faults of the name of a port. */
export const portName = (name: string): ReadonlyArray<string> => [
  ...(name.length > 15 ? ["must be no more than 15 bytes"] : []),
  ...(/^[-a-z0-9]+$/.test(name) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
  ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
  ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
  ...(name.startsWith("-") || name.endsWith("-") ? ["must not begin or end with a hyphen"] : [])
]

/** Faults of a port that is a number or a name. */
export const portOrName = (path: string, value: unknown): Faults =>
  typeof value === "number" ? portNumber(path, value) : invalids(path, value, portName(String(value)))

export const protocols = ["SCTP", "TCP", "UDP"]

const ports = (container: unknown, path: string): Faults => {
  const names = new Set<string>()
  return arrayAt(container, "ports").flatMap((port, index) => {
    const here = `${path}.ports[${index}]`
    const name = stringAt(port, "name")
    const number = at(port, "containerPort")
    const host = at(port, "hostPort")
    const badName = name === "" ? [] : invalids(`${here}.name`, name, portName(name))
    const repeated = name !== "" && badName.length === 0 && names.has(name)
    names.add(name)
    return [
      ...badName,
      ...(repeated ? [FieldError.duplicate(`${here}.name`, name)] : []),
      ...(typeof number !== "number" || number === 0
        ? [FieldError.required(`${here}.containerPort`, "")]
        : portNumber(`${here}.containerPort`, number)),
      ...(typeof host === "number" && host !== 0 ? portNumber(`${here}.hostPort`, host) : []),
      ...oneOf(port, "protocol", here, protocols)
    ]
  })
}

const environmentName = (name: string): ReadonlyArray<string> =>
  /^[\x20-\x3c\x3e-\x7e]*$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]

const keySelector = (path: string, selector: unknown): Faults => {
  const name = stringAt(selector, "name")
  const key = stringAt(selector, "key")
  return [
    ...invalids(`${path}.name`, name, Names.dnsSubdomain(name)),
    ...(key === "" ? [FieldError.required(`${path}.key`, "")] : invalids(`${path}.key`, key, keyFaults(key)))
  ]
}

const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs"
]

const fieldRef = (path: string, reference: unknown): Faults => {
  const field = stringAt(reference, "fieldPath")
  if (field === "") return [FieldError.required(`${path}.fieldPath`, "")]
  if (/^metadata\.(?:labels|annotations)\['.*'\]$/.test(field)) return []
  return fieldPaths.includes(field) ? [] : [
    FieldError.invalid(
      `${path}.fieldPath`,
      field,
      `error converting fieldPath: field label not supported: ${field}`
    )
  ]
}

const sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"]

const valueFrom = (path: string, entry: unknown): Faults => {
  const from = at(entry, "valueFrom")
  if (from === undefined) return []
  const given = sources.filter((source) => at(from, source) !== undefined)
  const whole = given.length === 0
    ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    : stringAt(entry, "value") !== ""
    ? "may not be specified when `value` is not empty"
    : given.length > 1
    ? "may not have more than one field specified at a time"
    : undefined
  return [
    ...(given.includes("fieldRef") ? fieldRef(`${path}.fieldRef`, at(from, "fieldRef")) : []),
    ...["configMapKeyRef", "secretKeyRef"].flatMap((source) =>
      given.includes(source) ? keySelector(`${path}.${source}`, at(from, source)) : []
    ),
    ...(whole === undefined ? [] : [FieldError.invalid(path, "", whole)])
  ]
}

const environment = (container: unknown, path: string): Faults =>
  arrayAt(container, "env").flatMap((entry, index) => {
    const here = `${path}.env[${index}]`
    const name = stringAt(entry, "name")
    return [
      ...(name === ""
        ? [FieldError.required(`${here}.name`, "")]
        : invalids(`${here}.name`, name, environmentName(name))),
      ...valueFrom(`${here}.valueFrom`, entry)
    ]
  })

const standardResources: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"])

const resourceName = (path: string, name: string): Faults => {
  const faults = invalids(path, name, Names.labelKey(name))
  if (faults.length > 0 || name.includes("/")) return faults
  return standardResources.has(name) || name.startsWith("hugepages-")
    ? []
    : ["must be a standard resource type or fully qualified", "must be a standard resource for containers"].map((
      fault
    ) => FieldError.invalid(path, name, fault))
}

const amount = (path: string, text: unknown): Faults =>
  typeof text === "string" && text.startsWith("-")
    ? [FieldError.invalid(path, text, "must be greater than or equal to 0")]
    : []

const resources = (container: unknown, path: string): Faults => {
  const limits = objectAt(container, "resources", "limits")
  const requests = objectAt(container, "resources", "requests")
  const each = (amounts: JsonValue.JsonObject, field: string) =>
    Object.entries(amounts).flatMap(([name, text]) => {
      const here = `${path}.resources.${field}[${name}]`
      return [...resourceName(here, name), ...amount(here, text)]
    })
  return [
    ...each(limits, "limits"),
    ...each(requests, "requests"),
    ...Object.entries(requests).flatMap(([name, text]) => {
      const limit = limits[name]
      return limit !== undefined && Quantity.compare(String(text), String(limit)) > 0
        ? [
          FieldError.invalid(
            `${path}.resources.requests`,
            text,
            `must be less than or equal to ${name} limit of ${String(limit)}`
          )
        ]
        : []
    })
  ]
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc"]

const handler = (path: string, probe: unknown): Faults => {
  const [first, ...others] = handlers.filter((name) => at(probe, name) !== undefined)
  if (first === undefined) return [FieldError.required(path, "must specify a handler type")]
  const action = at(probe, first)
  const own = first === "exec"
    ? arrayAt(action, "command").length === 0 ? [FieldError.required(`${path}.exec.command`, "")] : []
    : first === "httpGet"
    ? [
      ...(stringAt(action, "path") === "" ? [FieldError.required(`${path}.httpGet.path`, "")] : []),
      ...portOrName(`${path}.httpGet.port`, at(action, "port")),
      ...(["HTTP", "HTTPS"].includes(stringAt(action, "scheme"))
        ? []
        : [FieldError.notSupported(`${path}.httpGet.scheme`, stringAt(action, "scheme"), ["HTTP", "HTTPS"])])
    ]
    : first === "tcpSocket"
    ? portOrName(`${path}.tcpSocket.port`, at(action, "port"))
    : []
  return [
    ...own,
    ...others.map((name) => FieldError.forbidden(`${path}.${name}`, "may not specify more than 1 handler type"))
  ]
}

const amounts = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]

/** Probes, by whether they may ask for more than one success. */
const probes: ReadonlyArray<readonly [field: string, single: boolean]> = [
  ["livenessProbe", true],
  ["readinessProbe", false],
  ["startupProbe", true]
]

const probeFaults = (container: unknown, path: string): Faults =>
  probes.flatMap(([field, single]) => {
    const probe = at(container, field)
    if (probe === undefined) return []
    const here = `${path}.${field}`
    const successes = at(probe, "successThreshold")
    return [
      ...handler(here, probe),
      ...Amounts.notNegativeAt(here, probe, ...amounts),
      ...(single && successes !== 1
        ? [FieldError.invalid(`${here}.successThreshold`, successes ?? 0, "must be 1")]
        : [])
    ]
  })

const common = (container: unknown, path: string): Faults => {
  const name = stringAt(container, "name")
  return [
    ...(name === "" ? [FieldError.required(`${path}.name`, "")] : invalids(`${path}.name`, name, Names.dnsLabel(name))),
    ...(stringAt(container, "image") === "" ? [FieldError.required(`${path}.image`, "")] : []),
    ...oneOf(container, "terminationMessagePolicy", path, ["File", "FallbackToLogsOnError"]),
    ...ports(container, path),
    ...environment(container, path),
    ...oneOf(container, "imagePullPolicy", path, ["Always", "IfNotPresent", "Never"]),
    ...resources(container, path),
    ...PodSecurityRules.ofContainer(container, path)
  ]
}

const containers = (spec: unknown, path: string): Faults => {
  const list = arrayAt(spec, "containers")
  if (list.length === 0) return [FieldError.required(`${path}.containers`, "")]
  const names = new Set<string>()
  return list.flatMap((container, index) => {
    const here = `${path}.containers[${index}]`
    const name = stringAt(container, "name")
    const repeated = names.has(name)
    names.add(name)
    return [
      ...common(container, here),
      ...(repeated ? [FieldError.duplicate(`${here}.name`, name)] : []),
      ...probeFaults(container, here)
    ]
  })
}

const initContainers = (spec: unknown, path: string): Faults => {
  const names = new Set(arrayAt(spec, "containers").map((container) => stringAt(container, "name")))
  return arrayAt(spec, "initContainers").flatMap((container, index) => {
    const here = `${path}.initContainers[${index}]`
    const name = stringAt(container, "name")
    const repeated = names.has(name)
    if (name !== "") names.add(name)
    return [
      ...common(container, here),
      ...(repeated ? [FieldError.duplicate(`${here}.name`, name)] : []),
      ...(stringAt(container, "restartPolicy") === "Always"
        ? probeFaults(container, here)
        : ["lifecycle", ...probes.map(([field]) => field)].flatMap((field) =>
          at(container, field) === undefined
            ? []
            : [FieldError.forbidden(
              `${here}.${field}`,
              "may not be set for init containers without restartPolicy=Always"
            )]
        ))
    ]
  })
}

/** What a source of a volume must have. */
const sourceFields: Readonly<Record<string, string>> = { secret: "secretName", configMap: "name", hostPath: "path" }

/** The order in which the server looks for sources: all but the first are too many. */
const sourceOrder = (
  "emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker " +
  "persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc configMap azureFile vsphereVolume " +
  "photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi ephemeral image"
).split(" ")

const volumeSource = (volume: unknown, path: string): Faults => {
  const [first, ...others] = sourceOrder.filter((source) => at(volume, source) !== undefined)
  if (first === undefined) return [FieldError.required(path, "must specify a volume type")]
  const required = sourceFields[first]
  return [
    ...(required !== undefined && stringAt(volume, first, required) === ""
      ? [FieldError.required(`${path}.${first}.${required}`, "")]
      : []),
    ...others.map((other) => FieldError.forbidden(`${path}.${other}`, "may not specify more than 1 volume type"))
  ]
}

const volumes = (spec: unknown, path: string): Faults => {
  const names = new Set<string>()
  return arrayAt(spec, "volumes").flatMap((volume, index) => {
    const here = `${path}.volumes[${index}]`
    const name = stringAt(volume, "name")
    const faults = [
      ...volumeSource(volume, here),
      ...(name === ""
        ? [FieldError.required(`${here}.name`, "")]
        : invalids(`${here}.name`, name, Names.dnsLabel(name))),
      ...(names.has(name) ? [FieldError.duplicate(`${here}.name`, name)] : [])
    ]
    if (faults.length === 0) names.add(name)
    return faults
  })
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]

const tolerations = (spec: unknown, path: string): Faults =>
  arrayAt(spec, "tolerations").flatMap((toleration, index) => {
    const here = `${path}.tolerations[${index}]`
    const key = stringAt(toleration, "key")
    const operator = stringAt(toleration, "operator")
    const value = stringAt(toleration, "value")
    const effect = stringAt(toleration, "effect")
    return [
      ...(key === "" ? [] : invalids(`${here}.key`, key, Names.labelKey(key))),
      ...(key === "" && operator !== "Exists"
        ? [FieldError.invalid(
          `${here}.operator`,
          operator,
          "operator must be Exists when `key` is empty, which means \"match all values and all keys\""
        )]
        : []),
      ...(at(toleration, "tolerationSeconds") !== undefined && effect !== "NoExecute"
        ? [FieldError.invalid(`${here}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
        : []),
      ...(operator === "" || operator === "Equal"
        ? Names.labelValue(value).length > 0
          ? [FieldError.invalid(`${here}.operator`, value, Names.labelValue(value).join(";"))]
          : []
        : operator === "Exists"
        ? value === ""
          ? []
          : [FieldError.invalid(`${here}.operator`, value, "value must be empty when `operator` is 'Exists'")]
        : [FieldError.notSupported(`${here}.operator`, operator, ["Equal", "Exists"])]),
      ...(effect === "" || effects.includes(effect)
        ? []
        : [FieldError.notSupported(`${here}.effect`, effect, effects)])
    ]
  })

/** An image may be anything in a template, but of a Pod that is to run it has no blanks around it. */
export const imagesOfPod = (spec: JsonValue.JsonObject, path: string): Faults =>
  ["containers", "initContainers"].flatMap((field) =>
    arrayAt(spec, field).flatMap((container, index) => {
      const name = stringAt(container, "image")
      return name === name.trim() ? [] : [FieldError.invalid(
        `${path}.${field}[${index}].image`,
        name,
        "must not have leading or trailing whitespace"
      )]
    })
  )

/** Faults of the spec of a Pod. */
export const podSpec = (spec: JsonValue.JsonObject, path: string): Faults => {
  const account = stringAt(spec, "serviceAccountName")
  const deadline = at(spec, "activeDeadlineSeconds")
  return [
    ...volumes(spec, path),
    ...containers(spec, path),
    ...initContainers(spec, path),
    ...oneOf(spec, "restartPolicy", path, ["Always", "OnFailure", "Never"]),
    ...oneOf(spec, "dnsPolicy", path, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
    ...MetadataRules.validateLabels(
      objectAt(spec, "nodeSelector") as Readonly<Record<string, string>>,
      `${path}.nodeSelector`
    ),
    ...PodSecurityRules.ofPod(spec, path),
    ...(account === "" ? [] : invalids(`${path}.serviceAccountName`, account, Names.dnsSubdomain(account))),
    ...(typeof deadline === "number" && (deadline < 1 || deadline > 2147483647)
      ? [FieldError.invalid(`${path}.activeDeadlineSeconds`, deadline, "must be between 1 and 2147483647, inclusive")]
      : []),
    ...tolerations(spec, path)
  ]
}

/** Faults of a template of Pods. */
export const podTemplate = (template: JsonValue.JsonObject, path: string): Faults => [
  ...MetadataRules.validateLabels(
    objectAt(template, "metadata", "labels") as Readonly<Record<string, string>>,
    `${path}.labels`
  ),
  ...MetadataRules.validateAnnotations(
    objectAt(template, "metadata", "annotations") as Readonly<Record<string, string>>,
    `${path}.annotations`
  ),
  ...podSpec(objectAt(template, "spec"), `${path}.spec`)
]
