/**
 * `ServiceCIDRRules`: validates ServiceCIDRs: at most one range of each family. They are immutable, except that a
 * second one can be added.
 *
 * Source: k8s.io/kubernetes/pkg/apis/networking/validation/validation.go `ValidateServiceCIDR`,
 * `ValidateServiceCIDRUpdate`.
 */
import { arrayAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import * as AddressRules from "./AddressRules.ts"
import { type Faults, when } from "./Checks.ts"

const path = "spec.cidrs"

const rangesOf = (object: unknown): ReadonlyArray<string> => arrayAt(object, "spec", "cidrs").map(String)

const rangeFaults = (ranges: ReadonlyArray<string>): Faults => {
  if (ranges.length > 2) {
    return [FieldError.invalidPrinted(path, FieldError.goJson({ CIDRs: ranges }), "may only hold up to 2 values")]
  }
  const faults = ranges.flatMap((range, index) => AddressRules.range(`${path}[${index}]`, range))
  const families = new Set(ranges.map((range) => range.includes(":")))
  return faults.length > 0 ? faults : when(
    families.size < ranges.length,
    FieldError.invalid(
      path,
      ranges,
      "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
    )
  )
}

const validate: Strategy["validate"] = (object, previous) => {
  const ranges = rangesOf(object)
  if (previous !== undefined) return []
  return ranges.length === 0 ? [FieldError.required(path, "at least one CIDR required")] : rangeFaults(ranges)
}

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const [ranges, before] = [rangesOf(next), rangesOf(previous)]
  const changed = (index: number): Faults =>
    when(
      ranges[index] !== before[index],
      FieldError.invalid(`${path}[${index}]`, ranges[index], "field is immutable")
    )
  if (ranges.length === before.length) return ranges.flatMap((_, index) => changed(index))
  return ranges.length === 2 && before.length === 1
    ? [...changed(0), ...rangeFaults(ranges)]
    : [FieldError.invalid(path, ranges.length === 0 ? null : ranges, "field is immutable")]
}

export const strategy: Partial<Strategy> = { statusMetadata: "kept", validate, validateUpdate }
