/**
 * `AddressRules`: addresses and CIDR ranges in the canonical form that newer kinds require: no leading zeros, no bits
 * beyond the prefix, IPv6 as in RFC 5952.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation/ip.go `IsValidIP`, `IsValidCIDR`.
 */
import * as FieldError from "../../../schema/FieldError.ts"
import { type Faults, ip, isAddress6 } from "./Checks.ts"
import * as RangeRules from "./RangeRules.ts"

const canonical6 = (text: string): string => new URL(`http://[${text}]/`).hostname.slice(1, -1)

const leadingZero = /(?:^|\.)0\d/

const isMapped = (text: string): boolean => isAddress6(text) && canonical6(text).startsWith("::ffff:")

const canonical = (text: string): string => (isAddress6(text) ? canonical6(text) : text)

const formOf = (path: string, text: string, form: string): Faults =>
  form === text ? [] : [FieldError.invalid(path, text, `must be in canonical form (${FieldError.quote(form)})`)]

/** Faults of an address. */
export const address = (path: string, text: string): Faults => {
  const faults = ip(path, text)
  if (faults.length > 0) return faults
  if (!isAddress6(text) && leadingZero.test(text)) {
    return [FieldError.invalid(path, text, "must not have leading 0s")]
  }
  return isMapped(text)
    ? [FieldError.invalid(path, text, "must not be an IPv4-mapped IPv6 address")]
    : formOf(path, text, canonical(text))
}

/** Faults of a range of addresses. */
export const range = (path: string, text: string): Faults => {
  const parsed = RangeRules.parse(text)
  if (parsed === undefined) return RangeRules.faults(path, text)
  const [first = "", prefix = ""] = text.split("/")
  if (/^0\d/.test(prefix) || (!isAddress6(first) && leadingZero.test(first))) {
    return [FieldError.invalid(path, text, "must not have leading 0s in IP or prefix length")]
  }
  if (isMapped(first)) return [FieldError.invalid(path, text, "must not have an IPv4-mapped IPv6 address")]
  const beyond = parsed.bits & ((1n << BigInt(parsed.length - parsed.prefix)) - 1n)
  return beyond !== 0n
    ? [FieldError.invalid(path, text, "must not have bits set beyond the prefix length")]
    : formOf(path, text, `${canonical(first)}/${prefix}`)
}

/** Faults of an address with a prefix length. */
export const withPrefix = (path: string, text: string): Faults => {
  const [first = "", prefix = ""] = text.split("/")
  return RangeRules.parse(text) === undefined
    ? [FieldError.invalid(path, text, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")]
    : formOf(path, text, `${canonical(first)}/${prefix}`)
}
