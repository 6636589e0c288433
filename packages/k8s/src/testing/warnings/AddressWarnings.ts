/**
 * `AddressWarnings`: warnings about addresses and CIDR ranges that are valid, but not in canonical form.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation/ip.go.
 */
import { type Address, format } from "../../cel/library/Network.ts"
import * as RangeRules from "../server/rules/RangeRules.ts"
import type { Warnings } from "./NodeLabelWarnings.ts"

const addressOf = ({ bits, length }: RangeRules.Range): Address =>
  // An IPv4-mapped IPv6 address is printed as IPv4.
  length === 32 || bits >> 32n === 0xffffn
    ? { bits: bits & 0xffffffffn, width: 32, size: 4 }
    : { bits, width: 128, size: 16 }

const hasLeadingZero = (text: string): boolean => !text.includes(":") && /(?:^|[./])0\d/.test(text)

const isMapped = ({ bits, length }: RangeRules.Range): boolean => length === 128 && bits >> 32n === 0xffffn

const invalidSoon = "will be considered invalid in a future Kubernetes release"

/** Matches most addresses quickly: those need no warning. */
const plain = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/

/** Warnings about a valid address. */
export const ofAddress = (path: string, value: string): Warnings => {
  if (plain.test(value)) return []
  const range = RangeRules.parse(`${value}/${value.includes(":") ? 128 : 32}`)
  if (range === undefined) return []
  const text = format(addressOf(range))
  if (hasLeadingZero(value) || isMapped(range)) {
    return [`${path}: non-standard IP address "${value}" ${invalidSoon}: use "${text}"`]
  }
  return range.length === 128 && text !== value
    ? [`${path}: IPv6 address "${value}" should be in RFC 5952 canonical format ("${text}")`]
    : []
}

/** Warnings about a valid range. */
export const ofRange = (path: string, value: string): Warnings => {
  const range = RangeRules.parse(value)
  if (range === undefined) return []
  const { bits, length, prefix } = range
  const rest = BigInt(length - prefix)
  const first = { ...range, bits: bits >> rest << rest }
  const text = (of: RangeRules.Range, size: number) => `${format(addressOf(of))}/${isMapped(of) ? size - 96 : size}`
  const warnings = [
    ...(first.bits === bits ? [] : [
      `${path}: CIDR value "${value}" is ambiguous in this context (should be "${text(first, prefix)}" or ` +
      `"${text(range, length)}"?)`
    ]),
    ...(hasLeadingZero(value) || isMapped(range)
      ? [`${path}: non-standard CIDR value "${value}" ${invalidSoon}: use "${text(first, prefix)}"`]
      : [])
  ]
  return warnings.length === 0 && length === 128 && text(first, prefix) !== value
    ? [`${path}: IPv6 CIDR value "${value}" should be in RFC 5952 canonical format ("${text(first, prefix)}")`]
    : warnings
}

/** Warnings about each address in a list. */
export const ofAddresses = (path: string, values: ReadonlyArray<unknown>): Warnings =>
  values.flatMap((value, index) => typeof value === "string" ? ofAddress(`${path}[${index}]`, value) : [])

/** Warnings about each range in a list. */
export const ofRanges = (path: string, values: ReadonlyArray<unknown>): Warnings =>
  values.flatMap((value, index) => typeof value === "string" ? ofRange(`${path}[${index}]`, value) : [])
