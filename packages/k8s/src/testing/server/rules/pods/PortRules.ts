/**
 * `PortRules`: validates ports, by number or name.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation/validation.go `IsValidPortNum`, `IsValidPortName`.
 */
import { longName } from "../../../../api/Names.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, invalids } from "../Checks.ts"

export const protocols = ["SCTP", "TCP", "UDP"]

export const range = "must be between 1 and 65535, inclusive"

/** Faults of a port number. */
export const portNumber = (path: string, value: number): Faults =>
  value >= 1 && value <= 65535 ? [] : [FieldError.invalid(path, value, range)]

/** Faults of a port name. */
export const portName = (name: string): ReadonlyArray<string> => [
  ...longName(name, 15),
  ...(/^[-a-z0-9]+$/.test(name) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
  ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
  ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
  ...(name.startsWith("-") || name.endsWith("-") ? ["must not begin or end with a hyphen"] : [])
]

/** Faults of a port that is a number or a name. */
export const portOrName = (path: string, value: unknown): Faults =>
  typeof value === "number" ? portNumber(path, value) : invalids(path, value, portName(String(value)))
