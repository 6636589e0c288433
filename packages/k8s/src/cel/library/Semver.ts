/**
 * `Semver`: versions such as `1.2.3-rc.1+build`.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/semverlib.go and github.com/blang/semver/v4.
 */
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import { fault, Opaque, type Value } from "../Values.ts"
import * as Types from "../Types.ts"
import { quote } from "../../schema/FieldError.ts"

interface Version {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint]
  readonly pre: ReadonlyArray<string>
}

const type = named("semver", Types.struct("kubernetes.Semver"))

const isNumeric = (text: string): boolean => /^[0-9]+$/.test(text)

/** Parses a version, or returns the error. */
const parse = (text: string): Version | string => {
  if (text === "") return "Version string empty"
  const [majorText, minorText, rest] = splitAt(text)
  if (rest === undefined) return "No Major.Minor.Patch elements found"
  const numbers: Array<bigint> = []
  const number = (name: string, part: string): string | undefined => {
    if (!isNumeric(part)) return `Invalid character(s) found in ${name} number ${quote(part)}`
    if (part.length > 1 && part.startsWith("0")) {
      return `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${quote(part)}`
    }
    numbers.push(BigInt(part))
    return undefined
  }
  const [withoutBuild, ...builds] = rest.split("+")
  const dash = withoutBuild!.indexOf("-")
  const patchText = dash < 0 ? withoutBuild! : withoutBuild!.slice(0, dash)
  const wrong = number("major", majorText!) ?? number("minor", minorText!) ?? number("patch", patchText)
  if (wrong !== undefined) return wrong
  const pre = dash < 0 ? [] : withoutBuild!.slice(dash + 1).split(".")
  for (const part of pre) {
    if (part === "") return "Prerelease is empty"
    if (isNumeric(part) && part.length > 1 && part.startsWith("0")) {
      return `Numeric PreRelease version must not contain leading zeroes ${quote(part)}`
    }
    if (!/^[0-9A-Za-z-]+$/.test(part)) return `Invalid character(s) found in prerelease ${quote(part)}`
  }
  for (const part of builds.length === 0 ? [] : builds.join("+").split(".")) {
    if (part === "") return "Build meta data is empty"
    if (!/^[0-9A-Za-z-]+$/.test(part)) return `Invalid character(s) found in build meta data ${quote(part)}`
  }
  return { numbers: numbers as [bigint, bigint, bigint], pre }
}

/** Major, minor, and everything after the second dot. */
const splitAt = (text: string): ReadonlyArray<string> => {
  const first = text.indexOf(".")
  const second = text.indexOf(".", first + 1)
  return first < 0 || second < 0
    ? [text]
    : [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)]
}

/** The version without `v` and leading zeros, and with minor and patch added. */
const normalized = (text: string): string | { readonly fault: string } => {
  const bare = text.startsWith("v") ? text.slice(1) : text
  const [major = "", minor, ...patch] = bare.split(".")
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(patch.length === 0 ? [] : [patch.join(".")])].map(
    (part) => part.length > 1 ? part.replace(/^0+(?=.)/, "").replace(/^(?![0-9])/, "0") : part
  )
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) {
    return { fault: "short version cannot contain PreRelease/Build meta data" }
  }
  while (parts.length < 3) parts.push("0")
  return parts.join(".")
}

const read = (text: string, normalize = false): Version | string => {
  const ready = normalize ? normalized(text) : text
  return typeof ready === "string" ? parse(ready) : ready.fault
}

const order = (a: bigint | string, b: bigint | string): number => a < b ? -1 : a > b ? 1 : 0

const orderPre = (a: string, b: string): number =>
  isNumeric(a)
    ? isNumeric(b) ? order(BigInt(a), BigInt(b)) : -1
    : isNumeric(b)
    ? 1
    : order(a, b)

const compare = ({ data: a }: Opaque<Version>, { data: b }: Opaque<Version>): number => {
  for (const [index, number] of a.numbers.entries()) {
    const sign = order(number, b.numbers[index]!)
    if (sign !== 0) return sign
  }
  if (a.pre.length === 0 || b.pre.length === 0) return Math.sign(b.pre.length - a.pre.length)
  for (let index = 0; index < Math.min(a.pre.length, b.pre.length); index++) {
    const sign = orderPre(a.pre[index]!, b.pre[index]!)
    if (sign !== 0) return sign
  }
  return Math.sign(a.pre.length - b.pre.length)
}

const value = (version: Version): Opaque<Version> =>
  new Opaque(type, version, `${version.numbers.join(".")}-${version.pre.join(".")}`)

const make = (text: string, normalize = false): Value => {
  const version = read(text, normalize)
  return typeof version === "string" ? fault(version) : value(version)
}

const isVersion = (text: string, normalize = false): Value => typeof read(text, normalize) !== "string"

const number = (index: 0 | 1 | 2) => ({ data }: Opaque<Version>): Value => data.numbers[index]

export const semver: ReadonlyArray<FunctionDeclaration> = [
  define(
    "semver",
    overload("string_to_semver", "(string) semver", make),
    overload("string_bool_to_semver", "(string, bool) semver", make)
  ),
  define(
    "isSemver",
    overload("is_semver_string", "(string) bool", isVersion),
    overload("is_semver_string_bool", "(string, bool) bool", isVersion)
  ),
  define(
    "isGreaterThan",
    overload(
      "semver_is_greater_than",
      "semver.(semver) bool",
      (a: Opaque<Version>, b: Opaque<Version>) => compare(a, b) > 0
    )
  ),
  define(
    "isLessThan",
    overload(
      "semver_is_less_than",
      "semver.(semver) bool",
      (a: Opaque<Version>, b: Opaque<Version>) => compare(a, b) < 0
    )
  ),
  define(
    "compareTo",
    overload(
      "semver_compare_to",
      "semver.(semver) int",
      (a: Opaque<Version>, b: Opaque<Version>) => BigInt(compare(a, b))
    )
  ),
  define("major", overload("semver_major", "semver.() int", number(0))),
  define("minor", overload("semver_minor", "semver.() int", number(1))),
  define("patch", overload("semver_patch", "semver.() int", number(2)))
]
