/**
 * `ContainerRules`: validates the containers of a Pod: regular, init and ephemeral ones.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateContainers`, `validateInitContainers`,
 * `validateEphemeralContainers`.
 */
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, invalids, oneOf, oneOfGiven, required, when } from "../Checks.ts"
import * as EnvironmentRules from "./EnvironmentRules.ts"
import * as HandlerRules from "./HandlerRules.ts"
import * as MountRules from "./MountRules.ts"
import * as PodSecurityRules from "./PodSecurityRules.ts"
import * as PortRules from "./PortRules.ts"
import * as ResourceRules from "./ResourceRules.ts"

/** What containers can refer to. */
export interface Context {
  readonly spec: unknown
  readonly path: string
  readonly volumes: ReadonlyMap<string, unknown>
  /** The names of the Pod's resource claims. */
  readonly claims: ReadonlyArray<string>
}

const ports = (container: unknown, path: string): Faults => {
  const names = new Set<string>()
  return arrayAt(container, "ports").flatMap((port, index) => {
    const here = `${path}.ports[${index}]`
    const name = stringAt(port, "name")
    const number = at(port, "containerPort")
    const host = at(port, "hostPort")
    const badName = name === "" ? [] : invalids(`${here}.name`, name, PortRules.portName(name))
    const repeated = name !== "" && badName.length === 0 && names.has(name)
    names.add(name)
    return [
      ...badName,
      ...when(repeated, FieldError.duplicate(`${here}.name`, name)),
      ...(typeof number !== "number" || number === 0
        ? [FieldError.required(`${here}.containerPort`, "")]
        : PortRules.portNumber(`${here}.containerPort`, number)),
      ...(typeof host === "number" && host !== 0 ? PortRules.portNumber(`${here}.hostPort`, host) : []),
      ...oneOf(port, "protocol", here, PortRules.protocols)
    ]
  })
}

/** A host port can be used only once. */
const hostPorts = (containers: ReadonlyArray<unknown>, path: string): Faults => {
  const taken = new Set<string>()
  return containers.flatMap((container, at_) =>
    arrayAt(container, "ports").flatMap((port, index) => {
      const number = at(port, "hostPort") ?? 0
      if (number === 0) return []
      const text = `${stringAt(port, "protocol")}/${stringAt(port, "hostIP")}/${String(number)}`
      const repeated = taken.has(text)
      taken.add(text)
      return when(repeated, FieldError.duplicate(`${path}[${at_}].ports[${index}].hostPort`, text))
    })
  )
}

const resized = ["cpu", "memory"]
const resizing = ["NotRequired", "RestartContainer"]

const resizeFaults = (container: unknown, path: string, restartPolicy: string): Faults => {
  const here = `${path}.resizePolicy`
  const seen = new Set<string>()
  const choice = (value: string, values: ReadonlyArray<string>): Faults =>
    value === ""
      ? [FieldError.required(here, "")]
      : when(!values.includes(value), FieldError.notSupported(here, value, values))
  return arrayAt(container, "resizePolicy").flatMap((entry, index) => {
    const [resource, policy] = [stringAt(entry, "resourceName"), stringAt(entry, "restartPolicy")]
    const repeated = seen.has(resource)
    seen.add(resource)
    return [
      ...when(repeated, FieldError.duplicate(`${here}[${index}]`, resource)),
      ...choice(resource, resized),
      ...choice(policy, resizing),
      ...when(
        restartPolicy === "Never" && policy !== "NotRequired",
        FieldError.invalid(here, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'")
      )
    ]
  })
}

const common = (container: unknown, path: string, { claims, spec, volumes }: Context): Faults => {
  const name = stringAt(container, "name")
  return [
    ...(name === "" ? required(container, path, "name") : invalids(`${path}.name`, name, Names.dnsLabel(name))),
    ...required(container, path, "image"),
    ...oneOf(container, "terminationMessagePolicy", path, ["File", "FallbackToLogsOnError"]),
    ...ports(container, path),
    ...EnvironmentRules.variables(container, path),
    ...EnvironmentRules.variablesFrom(container, path),
    ...MountRules.faults(container, path, volumes),
    ...oneOf(container, "imagePullPolicy", path, ["Always", "IfNotPresent", "Never"]),
    ...ResourceRules.ofContainer(at(container, "resources"), `${path}.resources`, claims),
    ...resizeFaults(container, path, stringAt(spec, "restartPolicy")),
    ...PodSecurityRules.ofContainer(container, path, at(spec, "hostUsers") !== false)
  ]
}

const restartPolicies = ["Always", "Never", "OnFailure"]
const mostRules = 20
const mostCodes = 255

const restartFaults = (container: unknown, path: string): Faults => {
  const policy = at(container, "restartPolicy")
  const rules = arrayAt(container, "restartPolicyRules")
  const here = `${path}.restartPolicyRules`
  return [
    ...(policy === undefined
      ? when(
        rules.length > 0,
        FieldError.required(`${path}.restartPolicy`, "must specify restartPolicy when restart rules are used")
      )
      : oneOfGiven(container, "restartPolicy", path, restartPolicies)),
    ...(policy === undefined && rules.length === 0 ? [] : [
      ...when(rules.length > mostRules, FieldError.tooLong(here, mostRules)),
      ...rules.flatMap((rule, index) => [
        ...oneOfGiven(rule, "action", `${here}[${index}]`, ["Restart"]),
        ...(at(rule, "exitCodes") === undefined
          ? [FieldError.required(`${here}[${index}].exitCodes`, "must be specified")]
          : [
            ...oneOfGiven(at(rule, "exitCodes"), "operator", `${here}[${index}].exitCodes`, ["In", "NotIn"]),
            ...when(
              arrayAt(rule, "exitCodes", "values").length > mostCodes,
              FieldError.tooLong(`${here}[${index}].exitCodes.values`, mostCodes)
            )
          ])
      ])
    ])
  ]
}

const graceOf = (spec: unknown): unknown => at(spec, "terminationGracePeriodSeconds")

/** Faults of the regular containers. */
const regular = (context: Context): Faults => {
  const list = arrayAt(context.spec, "containers")
  const all = `${context.path}.containers`
  if (list.length === 0) return [FieldError.required(all, "")]
  const names = new Set<string>()
  return [
    ...list.flatMap((container, index) => {
      const here = `${all}[${index}]`
      const name = stringAt(container, "name")
      const repeated = names.has(name)
      names.add(name)
      return [
        ...common(container, here, context),
        ...when(repeated, FieldError.duplicate(`${here}.name`, name)),
        ...HandlerRules.faults(container, here, graceOf(context.spec)),
        ...restartFaults(container, here)
      ]
    }),
    ...hostPorts(list, all)
  ]
}

const initial = (context: Context): Faults => {
  const names = new Set(arrayAt(context.spec, "containers").map((container) => stringAt(container, "name")))
  const all = `${context.path}.initContainers`
  return arrayAt(context.spec, "initContainers").flatMap((container, index) => {
    const here = `${all}[${index}]`
    const name = stringAt(container, "name")
    const repeated = names.has(name)
    if (name !== "") names.add(name)
    const runsOn = stringAt(container, "restartPolicy") === "Always"
    return [
      ...common(container, here, context),
      ...(runsOn
        ? when(
          arrayAt(container, "restartPolicyRules").length > 0,
          FieldError.forbidden(
            `${here}.restartPolicyRules`,
            "restartPolicyRules are not allowed for init containers with restart policy Always"
          )
        )
        : restartFaults(container, here)),
      ...when(repeated, FieldError.duplicate(`${here}.name`, name)),
      // Init containers run one by one. The path is always that of the first one.
      ...hostPorts([container], all),
      ...(runsOn
        ? HandlerRules.faults(container, here, graceOf(context.spec))
        : HandlerRules.ofRunning.filter((field) => at(container, field) !== undefined).map((field) =>
          FieldError.forbidden(`${here}.${field}`, "may not be set for init containers without restartPolicy=Always")
        ))
    ]
  })
}

const forbiddenToEphemeral = ["ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"]

const isGiven = (value: unknown): boolean =>
  value !== undefined && (typeof value !== "object" || value === null || Object.keys(value).length > 0)

const ephemeral = (context: Context): Faults => {
  const others = new Set(
    ["containers", "initContainers"].flatMap((field) => arrayAt(context.spec, field)).map((container) =>
      stringAt(container, "name")
    )
  )
  const names = new Set(others)
  return arrayAt(context.spec, "ephemeralContainers").flatMap((container, index) => {
    const here = `${context.path}.ephemeralContainers[${index}]`
    const name = stringAt(container, "name")
    const target = stringAt(container, "targetContainerName")
    const repeated = names.has(name)
    names.add(name)
    return [
      ...common(container, here, context),
      ...image(container, here),
      ...when(repeated, FieldError.duplicate(`${here}.name`, name)),
      ...when(target !== "" && !others.has(target), FieldError.notFound(`${here}.targetContainerName`, target)),
      ...[...forbiddenToEphemeral, ...HandlerRules.ofRunning].filter((field) => isGiven(at(container, field))).map(
        (field) => FieldError.forbidden(`${here}.${field}`, "cannot be set for an Ephemeral Container")
      ),
      ...arrayAt(container, "volumeMounts").flatMap((mount, place) =>
        ["subPath", "subPathExpr"].filter((field) => stringAt(mount, field) !== "").map((field) =>
          FieldError.forbidden(
            `${here}.volumeMounts[${place}].${field}`,
            "cannot be set for an Ephemeral Container"
          )
        )
      )
    ]
  })
}

const image = (container: unknown, path: string): Faults => {
  const name = stringAt(container, "image")
  return when(
    name !== name.trim(),
    FieldError.invalid(`${path}.image`, name, "must not have leading or trailing whitespace")
  )
}

/** In a Pod, unlike in a template, an image must not have leading or trailing spaces. */
export const imagesOfPod = (spec: unknown, path: string): Faults =>
  ["containers", "initContainers"].flatMap((field) =>
    arrayAt(spec, field).flatMap((container, index) => image(container, `${path}.${field}[${index}]`))
  )

/** Faults of all containers of a Pod. */
export const faults = (context: Context): Faults => [...regular(context), ...initial(context), ...ephemeral(context)]
