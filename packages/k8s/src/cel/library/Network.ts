/**
 * `Network`: IP addresses and CIDR blocks.
 *
 * Zones, IPv4 embedded in IPv6, and octets with leading zeros are refused. The text of an address is its shortest form.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go and Go's net/netip.
 */
import { quote } from "../../schema/FieldError.ts"
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import * as Types from "../Types.ts"
import { Fault, fault, noSuchOverload, Opaque, type Value } from "../Values.ts"

export interface Address {
  readonly bits: bigint
  readonly width: 32 | 128
  /** The number of bytes on which costs depend. */
  readonly size: number
}

interface Block {
  readonly address: Address
  readonly length: number
  readonly size: number
}

const ipType = named("ip", Types.opaque("net.IP"))
const cidrType = named("cidr", Types.opaque("net.CIDR"))

/** Why a text is not an address. */
interface Wrong {
  readonly wrong: string
}

const isWrong = <A extends object>(value: A | Wrong): value is Wrong => "wrong" in value

const parseError = (text: string, why: string, at?: string): Wrong => ({
  wrong: `ParseAddr(${quote(text)}): ${why}${at === undefined ? "" : ` (at ${quote(at)})`}`
})

const address = (bits: bigint, width: 32 | 128): Address => ({ bits, width, size: width / 8 })

const octets = (whole: string, text: string): bigint | Wrong => {
  const fields = text.split(".")
  let bits = 0n
  for (const [index, field] of fields.entries()) {
    const odd = /[^0-9]/.exec(field)
    if (odd !== null) {
      const rest = [field.slice(odd.index), ...fields.slice(index + 1)].join(".")
      return parseError(whole, "unexpected character", rest)
    }
    if (field === "") {
      const rest = index === 0 ? text : `.${fields.slice(index + 1).join(".")}`
      return parseError(whole, "IPv4 field must have at least one digit", rest)
    }
    if (field.length > 1 && field.startsWith("0")) return parseError(whole, "IPv4 field has octet with leading zero")
    if (Number(field) > 255) return parseError(whole, "IPv4 field has value >255")
    if (index > 3) return parseError(whole, "IPv4 address too long")
    bits = bits << 8n | BigInt(field)
  }
  return fields.length < 4 ? parseError(whole, "IPv4 address too short") : bits
}

/** The groups on one side of `::`; the last may be an IPv4 address. */
const groups = (whole: string, text: string, tail = ""): ReadonlyArray<bigint> | Wrong => {
  if (text === "") return []
  const found: Array<bigint> = []
  const fields = text.split(":")
  for (const [index, field] of fields.entries()) {
    const rest = fields.slice(index).join(":") + tail
    if (field.includes(".") && index === fields.length - 1) {
      const bits = octets(whole, field)
      if (typeof bits === "object") return bits
      found.push(bits >> 16n, bits & 0xffffn)
    } else if (field === "") {
      return index === fields.length - 1
        ? parseError(whole, "colon must be followed by more characters", ":")
        : parseError(whole, "each colon-separated field must have at least one digit", rest)
    } else {
      const odd = /[^0-9a-fA-F]/.exec(field)
      if (odd?.index === 0) return parseError(whole, "each colon-separated field must have at least one digit", rest)
      if (odd !== null) return parseError(whole, "unexpected character, want colon", rest.slice(odd.index))
      if (field.length > 4) return parseError(whole, "each group must have 4 or less digits", rest)
      found.push(BigInt(`0x${field}`))
    }
  }
  return found
}

const parseV6 = (text: string): Address | Wrong => {
  const halves = text.split("::")
  if (halves.length > 2) return parseError(text, "multiple :: in address", `:${halves.slice(2).join("::")}`)
  const left = groups(text, halves[0]!, halves.length === 2 ? `::${halves[1]}` : "")
  if (isWrong(left)) return left
  const right = halves.length === 2 ? groups(text, halves[1]!) : []
  if (isWrong(right)) return right
  const count = left.length + right.length
  if (halves.length === 1 && count < 8) return parseError(text, "address string too short")
  if (count > 8) return parseError(text, "trailing garbage after address", text.split(":").slice(8).join(":"))
  if (halves.length === 2 && count === 8) {
    return parseError(text, "the :: must expand to at least one field of zeros")
  }
  const all = [...left, ...Array.from({ length: 8 - count }, () => 0n), ...right]
  return address(all.reduce((bits, group) => bits << 16n | group, 0n), 128)
}

/** Parses an address as Go does. */
const parseAddress = (text: string): Address | Wrong => {
  const sign = /[.:%]/.exec(text)?.[0]
  if (sign === ".") {
    const bits = octets(text, text)
    return typeof bits === "object" ? bits : address(bits, 32)
  }
  if (sign === ":") return parseV6(text)
  return sign === "%" ? parseError(text, "missing IPv6 address") : parseError(text, "unable to parse IP")
}

const isMapped = ({ bits, width }: Address): boolean => width === 128 && bits >> 32n === 0xffffn

const mapped = (text: string): Wrong => ({ wrong: `IPv4-mapped IPv6 address ${quote(text)} is not allowed` })

const readAddress = (text: string): Address | Wrong => {
  const [bare, ...zone] = text.split("%")
  const read = zone.length > 0 && bare!.includes(":") ? parseV6(bare!) : parseAddress(text)
  if (isWrong(read)) {
    return { wrong: `IP Address ${quote(text)} parse error during conversion from string: ${read.wrong}` }
  }
  if (zone.length > 0) return { wrong: `IP address ${quote(text)} with zone value is not allowed` }
  return isMapped(read) ? mapped(text) : read
}

const prefixError = (text: string, why: string): Wrong => ({
  wrong: `network address parse error during conversion from string: netip.ParsePrefix(${quote(text)}): ${why}`
})

const readBlock = (text: string): Block | Wrong => {
  const slash = text.lastIndexOf("/")
  if (slash < 0) return prefixError(text, "no '/'")
  const read = parseAddress(text.slice(0, slash))
  if (isWrong(read)) return prefixError(text, read.wrong)
  const bits = text.slice(slash + 1)
  if (text.includes("%")) return prefixError(text, "IPv6 zones cannot be present in a prefix")
  if (!/^(?:0|[1-9][0-9]*)$/.test(bits)) return prefixError(text, `bad bits after slash: ${quote(bits)}`)
  if (Number(bits) > read.width) return prefixError(text, "prefix length out of range")
  return isMapped(read) ? mapped(text) : { address: read, length: Number(bits), size: Math.ceil(Number(bits) / 8) }
}

/** The longest run of zero groups, at least two. */
const zeroRun = (all: ReadonlyArray<bigint>): readonly [start: number, length: number] => {
  let best: readonly [number, number] = [-1, 1]
  for (let start = 0; start < all.length; start++) {
    let length = 0
    while (all[start + length] === 0n) length++
    if (length > best[1]) best = [start, length]
  }
  return best
}

const hex = (all: ReadonlyArray<bigint>): string => all.map((group) => group.toString(16)).join(":")

/** An address as Go prints it: IPv6 in the form of RFC 5952. */
export const format = ({ bits, width }: Address): string => {
  if (width === 32) return [24n, 16n, 8n, 0n].map((shift) => bits >> shift & 0xffn).join(".")
  const all = Array.from({ length: 8 }, (_, index) => bits >> BigInt(112 - 16 * index) & 0xffffn)
  const [start, length] = zeroRun(all)
  return start < 0 ? hex(all) : `${hex(all.slice(0, start))}::${hex(all.slice(start + length))}`
}

const ip = (found: Address): Opaque<Address> => new Opaque(ipType, found, format(found))
const cidr = (found: Block): Opaque<Block> => new Opaque(cidrType, found, `${format(found.address)}/${found.length}`)

const stringToIp = (text: string): Value => {
  const read = readAddress(text)
  return isWrong(read) ? fault(read.wrong) : ip(read)
}

const stringToCidr = (text: string): Value => {
  const read = readBlock(text)
  return isWrong(read)
    ? fault(`network address parse error during conversion from string: ${read.wrong}`)
    : cidr(read)
}

const prefix = ({ address: { bits, width }, length }: Block, other = bits): bigint => other >> BigInt(width - length)

const holds = (block: Block, found: Address): boolean =>
  block.address.width === found.width && prefix(block) === prefix(block, found.bits)

const containsIp = ({ data }: Opaque<Block>, other: Value): Value =>
  other instanceof Fault ? noSuchOverload : holds(data, (other as Opaque<Address>).data)

const containsCidr = ({ data }: Opaque<Block>, other: Value): Value => {
  if (other instanceof Fault) return other
  const inner = (other as Opaque<Block>).data
  return data.length <= inner.length && holds(data, inner.address)
}

const masked = ({ data }: Opaque<Block>): Value => {
  const { address: { width }, length } = data
  return cidr({ ...data, address: address(prefix(data) << BigInt(width - length), width) })
}

type Test = (found: Address) => boolean

const isUnspecified: Test = ({ bits }) => bits === 0n
const isLoopback: Test = ({ bits, width }) => width === 32 ? bits >> 24n === 127n : bits === 1n
const isMulticast: Test = ({ bits, width }) => width === 32 ? bits >> 28n === 0xen : bits >> 120n === 0xffn
const isLinkLocalMulticast: Test = ({ bits, width }) =>
  width === 32 ? bits >> 8n === 0xe00000n : bits >> 120n === 0xffn && (bits >> 112n & 0xfn) === 2n
const isLinkLocalUnicast: Test = ({ bits, width }) => width === 32 ? bits >> 16n === 0xa9fen : bits >> 118n === 0x3fan
const isGlobalUnicast: Test = (found) =>
  !(found.width === 32 && found.bits === 0xffffffffn) && !isUnspecified(found) && !isLoopback(found) &&
  !isMulticast(found) && !isLinkLocalUnicast(found)

const test = (name: string, id: string, holdsFor: Test): FunctionDeclaration =>
  define(name, overload(id, "ip.() bool", ({ data }: Opaque<Address>) => holdsFor(data)))

const canonical = (text: string): Value => {
  const read = readAddress(text)
  return isWrong(read) ? fault(read.wrong) : format(read) === text
}

export const network: ReadonlyArray<FunctionDeclaration> = [
  define(
    "ip",
    overload("string_to_ip", "(string) ip", stringToIp),
    overload("cidr_ip", "cidr.() ip", ({ data }: Opaque<Block>) => ip(data.address))
  ),
  define(
    "family",
    overload("ip_family", "ip.() int", ({ data }: Opaque<Address>) => data.width === 32 ? 4n : 6n)
  ),
  define("ip.isCanonical", overload("ip_is_canonical", "(string) bool", canonical)),
  test("isUnspecified", "ip_is_unspecified", isUnspecified),
  test("isLoopback", "ip_is_loopback", isLoopback),
  test("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticast),
  test("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
  test("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
  define("isIP", overload("is_ip", "(string) bool", (text: string) => !isWrong(readAddress(text)))),
  define(
    "string",
    overload("ip_to_string", "(ip) string", ({ text }: Opaque) => text),
    overload("cidr_to_string", "(cidr) string", ({ text }: Opaque) => text)
  ),
  define("cidr", overload("string_to_cidr", "(string) cidr", stringToCidr)),
  define(
    "containsIP",
    overload(
      "cidr_contains_ip_string",
      "cidr.(string) bool",
      (block: Opaque<Block>, text: string) => containsIp(block, stringToIp(text))
    ),
    overload("cidr_contains_ip_ip", "cidr.(ip) bool", containsIp)
  ),
  define(
    "containsCIDR",
    overload(
      "cidr_contains_cidr_string",
      "cidr.(string) bool",
      (block: Opaque<Block>, text: string) => containsCidr(block, stringToCidr(text))
    ),
    overload("cidr_contains_cidr", "cidr.(cidr) bool", containsCidr)
  ),
  define(
    "prefixLength",
    overload("cidr_prefix_length", "cidr.() int", ({ data }: Opaque<Block>) => BigInt(data.length))
  ),
  define("masked", overload("cidr_masked", "cidr.() cidr", masked)),
  define("isCIDR", overload("is_cidr", "(string) bool", (text: string) => !isWrong(readBlock(text))))
]
