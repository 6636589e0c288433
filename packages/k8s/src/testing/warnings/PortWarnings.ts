/**
 * `PortWarnings`: warnings about conflicting container ports.
 *
 * Source: k8s.io/kubernetes/pkg/api/pod/warnings.go.
 */
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import type * as PodSystemRules from "../server/rules/pods/PodSystemRules.ts"
import type { Warnings } from "./NodeLabelWarnings.ts"

interface Port {
  readonly path: string
  readonly name: string
  readonly hostPort: number
  readonly hostIP: string
  readonly protocol: string
  readonly containerPort: number
}

const numberAt = (value: unknown, key: string): number => {
  const found = at(value, key)
  return typeof found === "number" ? found : 0
}

const portsOf = ([container, path]: PodSystemRules.Placed): ReadonlyArray<Port> =>
  arrayAt(container, "ports").map((port, index) => ({
    path: `${path}.ports[${index}]`,
    name: stringAt(port, "name"),
    hostPort: numberAt(port, "hostPort"),
    hostIP: stringAt(port, "hostIP"),
    protocol: stringAt(port, "protocol"),
    containerPort: numberAt(port, "containerPort")
  }))

/** A port as Go prints the struct. */
const print = ({ containerPort, hostIP, hostPort, name, protocol }: Port): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`

const clash = (port: Port, other: Port): string | undefined =>
  port.hostIP === other.hostIP && port.hostPort === other.hostPort
    ? "duplicate port definition"
    : port.hostPort === 0 || other.hostPort === 0
    ? "overlapping port definition"
    : port.hostPort === other.hostPort && (port.hostIP === "") !== (other.hostIP === "")
    ? "dangerously ambiguous port definition"
    : undefined

export const ofContainers = (containers: ReadonlyArray<PodSystemRules.Placed>): Warnings => {
  const ports = containers.flatMap(portsOf)
  const same = (port: Port) => (other: Port) =>
    port.containerPort === other.containerPort && port.protocol === other.protocol
  const numbers = ports.flatMap((port, index) => [
    ...(port.hostIP !== "" && port.hostPort === 0 ? [`${port.path}: hostIP set without hostPort: ${print(port)}`] : []),
    ...ports.slice(0, index).filter(same(port)).flatMap((other) => {
      const what = clash(port, other)
      return what === undefined ? [] : [`${port.path}: ${what} with ${other.path}`]
    })
  ])
  const names = ports.flatMap((port, index) => {
    const other = port.name === "" ? undefined : ports.slice(0, index).find(({ name }) => name === port.name)
    return other === undefined ? [] : [
      `${port.path}: duplicate port name "${port.name}" with ${other.path}, services and probes that select ports by ` +
      `name will use ${other.path}`
    ]
  })
  return [...numbers, ...names]
}
