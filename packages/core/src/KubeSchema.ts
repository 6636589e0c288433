/**
 * `KubeSchema`: Schemas for types that Kubernetes has and JSON does not, and for how lists and maps are merged.
 *
 * Every Schema here accepts only what the API server accepts under the definition made of it: a quantity, an RFC 3339
 * time, an integer or a string, an object of any kind inside another. `list…` and `map…` declare how server-side apply
 * treats a list or an object (`x-kubernetes-list-type`, `x-kubernetes-map-type`), and the uniqueness that follows.
 *
 * Source: "Merge strategy" in the Kubernetes documentation of server-side apply; "Specifying a structural schema" in
 * that of CustomResourceDefinitions.
 */
import * as Schema from "effect/Schema"
import * as LabelSyntax from "./internal/LabelSyntax.ts"

const annotated = <S extends Schema.Top>(schema: S, annotations: Readonly<Record<string, unknown>>): S["Rebuild"] =>
  schema.annotate(annotations as Schema.Annotations.Annotations)

const suffix = "([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"

/** An amount with a unit, as text: `500m`, `2Gi`, `1e3`. */
export const Quantity = Schema.String.check(
  Schema.isPattern(new RegExp(`^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)${suffix}$`, "u"), {
    expected: "a quantity, such as 500m or 2Gi"
  }),
  Schema.isMaxLength(64)
)

/** A port or a percentage: `8080`, `http`, `25%`. */
export const IntOrString = Schema.Union([Schema.Int, Schema.String])

/** A number, or a percentage of one: `2`, `25%`, as `maxSurge` and `maxUnavailable` of a Deployment. */
export const IntOrPercent = Schema.Union([
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  Schema.String.check(Schema.isPattern(/^[0-9]+%$/u, { expected: "a percentage, such as 25%" }))
])

/**
 * The number that it is of a total. By convention a surge is rounded up, and what may be unavailable down. Throws on a
 * text that is not a percentage.
 */
export const scaled = (value: number | string, total: number, round: "up" | "down"): number => {
  if (typeof value === "number") return value
  if (!/^[0-9]+%$/.test(value)) {
    throw new Error(`KubeSchema.scaled: ${JSON.stringify(value)}: must be a number or a percentage, such as 25%`)
  }
  const exact = Number.parseInt(value, 10) * total / 100
  return round === "up" ? Math.ceil(exact) : Math.floor(exact)
}

const timePattern =
  /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/u

/** Rejects days such as February 30. */
const dayExists = (text: string): boolean => {
  const [year, month, day] = text.slice(0, 10).split("-").map(Number)
  const date = new Date(Date.UTC(year!, month! - 1, day!))
  // `Date.UTC` maps the years 0 to 99 to 1900 to 1999.
  date.setUTCFullYear(year!, month! - 1, day!)
  return date.getUTCDate() === day
}

/** A point in time, as RFC 3339 text. */
export const DateTime = annotated(
  Schema.String.check(
    Schema.isPattern(timePattern, { expected: "an RFC 3339 time, such as 2026-01-31T12:00:00Z" }),
    Schema.makeFilter((text: string) => dayExists(text) || "there is no such day")
  ),
  { format: "date-time" }
)

/** Any JSON object; every field of it is kept. */
export const AnyObject = Schema.Record(Schema.String, Schema.Unknown)

/**
 * An object of a type declared elsewhere: a Pod template, a selector. TypeScript knows the type; the value is not
 * validated, and every field of it is kept.
 *
 * ```ts
 * template: KubeSchema.objectOf<PodTemplateSpec>()
 * ```
 */
export const objectOf = <A extends object>(): Schema.Codec<A> => AnyObject as unknown as Schema.Codec<A>

/** Any JSON; all of it is kept. */
export const Anything = Schema.Unknown

const Name = Schema.String.check(
  Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u),
  Schema.isMaxLength(253)
)

const map = (fault: (key: string, value: string) => string | undefined) =>
  Schema.Record(Schema.String, Schema.String).check(Schema.makeFilter((entries: Readonly<Record<string, string>>) => {
    const faults = Object.entries(entries).flatMap(([key, value]) => {
      const found = fault(key, value)
      return found === undefined ? [] : [`${JSON.stringify(key)}: ${found}`]
    })
    return faults.length === 0 || faults.join("; ")
  }))

const Labels = map((key, value) => LabelSyntax.keyFault(key) ?? LabelSyntax.valueFault(value))

/** Annotation keys may be in upper case, and values are arbitrary. */
const Annotations = map((key) => LabelSyntax.keyFault(key.toLowerCase()))

/** An embedded object of another kind. The server checks its metadata and keeps all the rest. */
export const EmbeddedResource = annotated(
  Schema.StructWithRest(
    Schema.Struct({
      apiVersion: Schema.String.check(Schema.isPattern(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9]+[a-z0-9]*$/u)),
      kind: Schema.String.check(Schema.isPattern(/^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/u), Schema.isMaxLength(63)),
      metadata: Schema.optionalKey(Schema.Struct({
        name: Schema.optionalKey(Name),
        namespace: Schema.optionalKey(
          Schema.String.check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u), Schema.isMaxLength(63))
        ),
        labels: Schema.optionalKey(Labels),
        annotations: Schema.optionalKey(Annotations)
      }))
    }),
    [AnyObject]
  ),
  { "x-kubernetes-embedded-resource": true }
)

/** Keeps fields that the Schema does not know, also on the server. */
export const preserveUnknown = <S extends Schema.Top>(schema: S): S["Rebuild"] =>
  annotated(schema, { "x-kubernetes-preserve-unknown-fields": true })

type ListOf = Schema.Top & { readonly Type: ReadonlyArray<unknown>; readonly Encoded: ReadonlyArray<unknown> }

type Keys<S extends ListOf> = keyof S["Encoded"][number] & string

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/**
 * A list whose items are identified by keys, so that managers may each own some of them. Keys are strings or numbers.
 */
export const listMap = <const K extends string>(...keys: readonly [K, ...ReadonlyArray<K>]) =>
<S extends ListOf>(
  schema: S & ([K] extends [Keys<S>] ? unknown : { readonly noSuchKey: K })
): S["Rebuild"]["Rebuild"] => {
  const keyOf = (item: unknown): string => JSON.stringify(keys.map((key) => isObject(item) ? item[key] : undefined))
  const unique = Schema.makeFilter((items: ReadonlyArray<unknown>) =>
    new Set(items.map(keyOf)).size === items.length || `two items have the same ${keys.join(" and ")}`
  )
  const checked = schema.check(unique as never)
  return annotated(checked, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys })
}

/** A list that is a set: no item twice, and each is owned separately. Items are strings, numbers or booleans. */
export const listSet = <S extends ListOf>(schema: S): S["Rebuild"]["Rebuild"] => {
  const unique = Schema.makeFilter((items: ReadonlyArray<unknown>) =>
    new Set(items.map((item) => JSON.stringify(item))).size === items.length || "an item occurs twice"
  )
  return annotated(schema.check(unique as never), { "x-kubernetes-list-type": "set" })
}

/** A list that is replaced as a whole; this is the default for lists. */
export const listAtomic = <S extends ListOf>(schema: S): S["Rebuild"] =>
  annotated(schema, { "x-kubernetes-list-type": "atomic" })

/** An object or a record that is replaced as a whole, such as a selector. */
export const mapAtomic = <S extends Schema.Top>(schema: S): S["Rebuild"] =>
  annotated(schema, { "x-kubernetes-map-type": "atomic" })
