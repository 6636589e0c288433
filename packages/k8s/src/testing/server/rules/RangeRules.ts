/**
 * `RangeRules`: validates and compares CIDR ranges such as `10.9.8.0/24`.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation/ip.go `IsValidCIDRForLegacyField`.
 */
import * as FieldError from "../../../schema/FieldError.ts"
import { type Faults, isAddress, when } from "./Checks.ts"

/** A range: the bits of its first address, the number of bits of an address, and the prefix length. */
export interface Range {
  readonly bits: bigint
  readonly length: number
  readonly prefix: number
}

const ofGroups = (groups: ReadonlyArray<string>, radix: number, width: bigint): bigint =>
  groups.reduce((sum, group) => (sum << width) | BigInt(Number.parseInt(group || "0", radix)), 0n)

/** The groups of an IPv6 address, with `::` expanded. */
const groups6 = (text: string): ReadonlyArray<string> => {
  const host = new URL(`http://[${text}]/`).hostname.slice(1, -1)
  const [head = "", tail] = host.split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after]
}

/** The range in a string; undefined if it is invalid. */
export const parse = (text: string): Range | undefined => {
  const [address = "", prefix = "", ...rest] = text.split("/")
  if (rest.length > 0 || !isAddress(address) || !/^\d{1,3}$/.test(prefix)) return undefined
  const range = address.includes(":")
    ? { bits: ofGroups(groups6(address), 16, 16n), length: 128, prefix: Number(prefix) }
    : { bits: ofGroups(address.split("."), 10, 8n), length: 32, prefix: Number(prefix) }
  return range.prefix <= range.length ? range : undefined
}

/** Whether `inner` is a proper subset of `outer`. */
export const isStrictlyWithin = (inner: Range, outer: Range): boolean => {
  const shift = BigInt(outer.length - outer.prefix)
  return inner.length === outer.length && inner.prefix > outer.prefix && inner.bits >> shift === outer.bits >> shift
}

/** Faults of a CIDR range. */
export const faults = (path: string, text: string): Faults =>
  when(
    parse(text) === undefined,
    FieldError.invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
  )
