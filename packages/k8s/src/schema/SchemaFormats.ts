/**
 * `SchemaFormats`: the string formats that an API server validates.
 *
 * Other formats are ignored, `int32` and `double` included: the server checks strings only. Dashes in the name do not
 * matter (`date-time`, `datetime`).
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go and
 * k8s.io/kube-openapi/pkg/validation/strfmt. Two formats approximate a Go parser: `email` (net/mail.ParseAddress) and
 * `uri` (net/url).
 */
import * as Names from "../api/Names.ts"

/** The rule of a format; undefined if the server does not know it. */
export const rule = (format: string | undefined): ((text: string) => boolean) | undefined => {
  if (format === undefined || format === "") return undefined
  const name = format.replaceAll("-", "")
  return Object.hasOwn(rules, name) ? rules[name] : undefined
}

const matches = (pattern: RegExp) => (text: string): boolean => pattern.test(text)

const isDate = (text: string): boolean => {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (parts === null) return false
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number]
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

const isDateTime = (text: string): boolean => {
  const [date, time, ...rest] = text.toLowerCase().split("t")
  if (date === undefined || time === undefined || rest.length > 0 && time === "") return false
  const parts = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/.exec(time)
  return isDate(date) && parts !== null && parts[1]! <= "23" && parts[2]! <= "59" && parts[3]! <= "59"
}

const goDuration = /^[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
const scalaUnits = [
  ["ns", "nano"],
  ["us", "µs", "micro"],
  ["ms", "milli"],
  ["s", "sec"],
  ["m", "min"],
  ["h", "hr", "hour"],
  ["d", "day"],
  ["w", "week"],
  ["wk", "week"]
]

const isDuration = (text: string): boolean => {
  if (goDuration.test(text)) return true
  return [...text.matchAll(/[0-9]+\s*([A-Za-zµ]+)/g)].some(([, unit]) => {
    const lower = unit!.toLowerCase()
    return scalaUnits.some((variants) =>
      variants.some((variant, index) => lower === variant || index === variants.length - 1 && lower.startsWith(variant))
    )
  })
}

/** Leading zeros are accepted, as on the server. */
const isIPv4Text = (text: string): boolean => {
  const parts = text.split(".")
  return parts.length === 4 && parts.every((part) => /^[0-9]{1,}$/.test(part) && Number(part) <= 255)
}

const isIPv6Text = (text: string): boolean => {
  const halves = text.split("::")
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => half === "" ? [] : half.split(":"))
  const last = groups.at(-1)
  const embedded = last?.includes(".") === true
  if (embedded && (!isIPv4Text(last!) || /\b0[0-9]/.test(last!))) return false
  const hex = embedded ? groups.slice(0, -1) : groups
  const count = hex.length + (embedded ? 2 : 0)
  return hex.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8)
}

const isCidr = (text: string): boolean => {
  const [address, bits, ...rest] = text.split("/")
  if (address === undefined || bits === undefined || rest.length > 0 || !/^[0-9]+$/.test(bits)) return false
  return address.includes(":") ? isIPv6Text(address) && Number(bits) <= 128 : isIPv4Text(address) && Number(bits) <= 32
}

const isHostname = (text: string): boolean =>
  hostname.test(text) && Names.byteLength(text) <= 255 &&
  text.split(".").every((label) => Names.byteLength(label) <= 63)

const hostname =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-\\u{80}-\\u{10ffff}]+"
const address = `(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\\r\\n]|\\\\.)+")@(?:${atom}(?:\\.${atom})*|\\[[^\\[\\]\\\\]+\\])`
const email = new RegExp(`^\\s*(?:${address}|(?:[^<>@,;:]*\\s*)<${address}>)\\s*$`, "u")

/** User info and host: an address in brackets, or a name, of which only what follows the last colon is the port. */
const isAuthority = (text: string): boolean => {
  const [, user = "", place = text] = /^(.*)@(.*)$/s.exec(text) ?? []
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return false
  if (!place.startsWith("[")) return /^[^\s{}|\\^`#[\]]*$/.test(place) && /^(?:[^:]*|.*:[0-9]*)$/s.test(place)
  const address = /^\[([^%\]]*)(?:%25[^\]]+)?\](?::[0-9]*)?$/.exec(place)?.[1]
  return address !== undefined && isIPv6Text(address)
}

/** A URL with a scheme, or an absolute path. What follows a scheme without a slash is not checked. */
const isUri = (text: string): boolean => {
  if (text === "" || Array.from(text).some((char) => char < " " || char === "\u007f")) return false
  if (text === "*") return true
  const [, scheme, rest = text] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? []
  if (!rest.startsWith("/")) return scheme !== undefined
  if (/%(?![0-9A-Fa-f]{2})/.test(rest.split("?")[0]!)) return false
  const authority = scheme === undefined ? undefined : /^\/\/([^/?]*)/.exec(rest)?.[1]
  return authority === undefined || isAuthority(authority)
}

const isMac = (text: string): boolean =>
  [6, 8, 20].some((bytes) =>
    new RegExp(`^[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\\1[0-9A-Fa-f]{2}){${bytes - 2}}$`).test(text) ||
    new RegExp(`^[0-9A-Fa-f]{4}(?:\\.[0-9A-Fa-f]{4}){${bytes / 2 - 1}}$`).test(text)
  )

const isIsbn10 = (text: string): boolean => {
  const digits = text.replace(/[\s-]+/g, "")
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)), 0)
  return sum % 11 === 0
}

const isIsbn13 = (text: string): boolean => {
  const digits = text.replace(/[\s-]+/g, "")
  if (!/^[0-9]{13}$/.test(digits)) return false
  return [...digits].reduce((total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0
}

const cardNumber =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/

const isCreditCard = (text: string): boolean => {
  const digits = text.replace(/[^0-9]+/g, "")
  if (!cardNumber.test(digits)) return false
  const sum = [...digits].toReversed().reduce((total, digit, index) => {
    const doubled = Number(digit) * (index % 2 === 0 ? 1 : 2)
    return total + (doubled >= 10 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}

const channel = "(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])"

const rules: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: matches(/^[0-9A-Fa-f]{24}$/),
  uri: isUri,
  email: matches(email),
  hostname: isHostname,
  ipv4: (text) => text.includes(".") && (isIPv4Text(text) || isIPv6Text(text)),
  ipv6: (text) => text.includes(":") && isIPv6Text(text),
  cidr: isCidr,
  mac: isMac,
  uuid: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid3: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid4: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  uuid5: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: matches(/^\d{3}[- ]\d{2}[- ]\d{4}$/),
  hexcolor: matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matches(new RegExp(`^rgb\\(\\s*${channel}\\s*,\\s*${channel}\\s*,\\s*${channel}\\s*\\)$`)),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  password: () => true,
  date: isDate,
  datetime: isDateTime,
  duration: isDuration,
  k8sshortname: (text) => Names.dnsLabel(text).length === 0,
  k8slongname: (text) => Names.dnsSubdomain(text).length === 0
}
