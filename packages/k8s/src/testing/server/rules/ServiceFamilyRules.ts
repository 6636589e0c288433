/**
 * `ServiceFamilyRules`: validates the cluster IPs of a Service and their families: at most one of each. They are
 * immutable, except that a second one can be added or removed.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateServiceClusterIPsRelatedFields`,
 * `validateUpgradeDowngradeClusterIPs`; pkg/registry/core/service/storage/alloc.go `initIPFamilyFields`.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import { type Faults, ip, isAddress6, optional, when } from "./Checks.ts"

const path = "spec.clusterIPs"

const texts = (spec: unknown, field: string): ReadonlyArray<string> => arrayAt(spec, field).map(String)

/** `clusterIP` and `clusterIPs` must agree. */
const agreement = (one: string, all: ReadonlyArray<string>): Faults =>
  one === ""
    ? when(all.length > 0, FieldError.invalid(path, all, "must be empty when `clusterIP` is not specified"))
    : all.length === 0
    ? [FieldError.required(path, "")]
    : when(all[0] !== one, FieldError.invalid(path, all, "first value must match `clusterIP`"))

const families = ["IPv4", "IPv6"]

const familyFaults = (given: ReadonlyArray<string>): Faults =>
  given.flatMap((family, index) => [
    ...when(!families.includes(family), FieldError.notSupported(`spec.ipFamilies[${index}]`, family, families)),
    ...when(given.indexOf(family) < index, FieldError.duplicate(`spec.ipFamilies[${index}]`, family))
  ])

const familyOf = (address: string): string => (isAddress6(address) ? "IPv6" : "IPv4")

/** Faults of the addresses and families of a Service that has cluster IPs. */
export const faults = (spec: unknown): Faults => {
  const all = texts(spec, "clusterIPs")
  const given = texts(spec, "ipFamilies")
  const headless = all.length === 1 && all[0] === "None"
  const unfit = [
    ...when(
      all[0] === "None" && all.length > 1,
      FieldError.invalid(path, all, "'None' must be the first and only value")
    ),
    ...all.flatMap((address, index) => index === 0 && address === "None" ? [] : ip(`${path}[${index}]`, address))
  ]
  return [
    ...agreement(stringAt(spec, "clusterIP"), all),
    ...familyFaults(given),
    ...optional(spec, "ipFamilyPolicy", "spec", ["PreferDualStack", "RequireDualStack", "SingleStack"]),
    ...unfit,
    ...when(all.length > 2, FieldError.invalid(path, all, "may only hold up to 2 values")),
    ...(unfit.length > 0 ? [] : [
      ...when(
        all.length > 1 && new Set(all.map(familyOf)).size < all.length,
        FieldError.invalid(path, all, "may specify no more than one IP for each IP family")
      ),
      ...all.flatMap((address, index) =>
        when(
          !headless && given[index] !== undefined && families.includes(given[index]) &&
            given[index] !== familyOf(address),
          FieldError.invalid(
            `${path}[${index}]`,
            address,
            `expected an ${given[index]} value as indicated by \`ipFamilies[${index}]\``
          )
        )
      )
    ])
  ]
}

/** The family of the cluster. A headless Service without a selector does not need it. */
const configured: ReadonlyArray<string> = ["IPv4"]

/** Faults of requested families that the cluster does not have. */
export const demands = (spec: unknown): Faults => {
  const [all, given] = [texts(spec, "clusterIPs"), texts(spec, "ipFamilies")]
  const policy = stringAt(spec, "ipFamilyPolicy")
  const refused = (why: string) => FieldError.invalid("spec.ipFamilyPolicy", policy, why)
  const several = (what: string) =>
    refused(`must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`)
  const contradictions = policy !== "SingleStack" ? [] : [
    ...when(all.length === 2, several("cluster IPs")),
    ...when(given.length === 2, several("IP families"))
  ]
  const foreign = all[0] === "None" ? [] : all.flatMap((address, index) =>
    when(
      index >= given.length && !configured.includes(familyOf(address)),
      FieldError.invalid(`${path}[${index}]`, all, `${familyOf(address)} is not configured on this cluster`)
    )
  )
  if (contradictions.length + foreign.length > 0) return [...contradictions, ...foreign]
  if (all[0] === "None" && Object.keys(objectAt(spec, "selector")).length === 0) return []
  return [
    ...when(policy === "RequireDualStack", refused("this cluster is not configured for dual-stack services")),
    ...given.flatMap((family, index) =>
      when(
        !configured.includes(family),
        FieldError.invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster")
      )
    )
  ]
}

const single = (spec: unknown, what: string): Faults =>
  when(
    stringAt(spec, "ipFamilyPolicy") !== "SingleStack",
    FieldError.invalid(
      "spec.ipFamilyPolicy",
      at(spec, "ipFamilyPolicy") ?? null,
      `must be set to 'SingleStack' when releasing the secondary ${what}`
    )
  )

const changes = (spec: unknown, before: unknown, field: "clusterIPs" | "ipFamilies"): Faults => {
  const [after, old] = [texts(spec, field), texts(before, field)]
  const changed = (index: number, value = after) =>
    FieldError.invalid(`spec.${field}[${index}]`, value, "may not change once set")
  // If the number of families changes, the fault contains the addresses instead.
  const printed = field === "clusterIPs" ? after : texts(spec, "clusterIPs")
  if (old.length === after.length) {
    return old.flatMap((value, index) => when(value !== after[index], changed(field === "clusterIPs" ? index : 0)))
  }
  const first = when(old.length > 0 && after.length > 0 && after[0] !== old[0], changed(0, printed))
  return old.length < after.length ? first : [
    ...when(
      texts(spec, "clusterIPs").length === 0,
      FieldError.invalid(
        `spec.${field}[0]`,
        after,
        `primary ${field === "clusterIPs" ? "clusterIP" : "ipFamily"} can not be unset`
      )
    ),
    ...first,
    ...(after.length === 1 ? single(spec, field === "clusterIPs" ? "clusterIP" : "ipFamily") : [])
  ]
}

/** Faults of an update. */
export const updateFaults = (spec: unknown, before: unknown): Faults => {
  const headless = (each: unknown) => stringAt(each, "clusterIP") === "None"
  if ([spec, before].some((each) => stringAt(each, "type") === "ExternalName")) return []
  return [
    ...(headless(spec) && headless(before) ? [] : changes(spec, before, "clusterIPs")),
    ...(headless(spec) || headless(before) ? [] : changes(spec, before, "ipFamilies"))
  ]
}
