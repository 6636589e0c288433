/**
 * `DeviceTypes`: the variable `device` of expressions that select devices, with its driver, attributes and capacity.
 *
 * Attributes have any type, by domain and name; a capacity is a quantity.
 *
 * Source: k8s.io/dynamic-resource-allocation/cel/compile.go.
 */
import * as AdmissionTypes from "./AdmissionTypes.ts"
import * as Cel from "./Cel.ts"
import { functions } from "./Environment.ts"
import * as Types from "./Types.ts"

const device = "kubernetes.DRADevice"

const byName = (value: Types.Type): Types.Type => Types.map(Types.string, Types.map(Types.string, value))

const environment = Cel.environment(
  { device: Types.struct(device) },
  AdmissionTypes.provider({
    [device]: {
      driver: Types.string,
      attributes: byName(Types.any),
      capacity: byName(Types.struct("kubernetes.Quantity"))
    }
  }),
  functions,
  true
)

/** The error of an expression that selects devices; undefined if it is valid. */
export const fault = (expression: string): string | undefined => {
  const made = Cel.compile(expression, environment)
  if (made._tag === "Refused") return made.detail
  const { type } = made.expression
  return type.kind === "bool" || type.kind === "any"
    ? undefined
    : `must evaluate to bool or the unknown type, not ${Cel.typeName(type)}`
}
