/**
 * A CustomResourceDefinition in the manner of a well-known project: not its own, but one with the features that make the
 * original hard, as short as they can be; with objects that it takes, and objects that it refuses.
 */
export type Json = Readonly<Record<string, any>>

/** An object that is refused; why, stands in `refusals.ts`. */
export interface Invalid {
  readonly object: Json
  /** The first minor version that refuses it. */
  readonly since?: number
}

/** An object that is taken, and its spec as it is stored, where that is another. */
export interface Valid {
  readonly object: Json
  readonly spec?: Json
  /** Cells of its row after the name and before the age. */
  readonly cells?: ReadonlyArray<unknown>
}

export interface Sample {
  readonly project: string
  readonly definition: Json
  readonly valid: ReadonlyArray<Valid>
  readonly invalid: ReadonlyArray<Invalid>
}

// What schemas are written with.
export const string = (more: Json = {}): Json => ({ type: "string", ...more })
export const integer = (more: Json = {}): Json => ({ type: "integer", ...more })
export const boolean = (more: Json = {}): Json => ({ type: "boolean", ...more })
export const list = (items: Json, more: Json = {}): Json => ({ type: "array", items, ...more })
export const object = (properties: Json, more: Json = {}): Json => ({ type: "object", properties, ...more })
export const map = (additionalProperties: Json, more: Json = {}): Json => ({
  type: "object",
  additionalProperties,
  ...more
})
export const oneOf = (...values: ReadonlyArray<string>): Json => ({ type: "string", enum: values })
export const anything: Json = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
export const intOrString: Json = {
  "x-kubernetes-int-or-string": true,
  anyOf: [{ type: "integer" }, { type: "string" }]
}
/** A list whose items are told apart by keys. */
export const keyed = (keys: ReadonlyArray<string>, items: Json, more: Json = {}): Json =>
  list(items, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, ...more })
/** Conditions as most projects have them. */
export const conditions: Json = keyed(
  ["type"],
  object({
    type: string({ maxLength: 316, minLength: 1 }),
    status: oneOf("True", "False", "Unknown"),
    reason: string({ pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
    message: string({ maxLength: 32768 }),
    lastTransitionTime: string({ format: "date-time" }),
    observedGeneration: integer({ format: "int64", minimum: 0 })
  }, { required: ["type", "status"] })
)

export interface VersionOptions {
  readonly status?: Json
  readonly columns?: ReadonlyArray<Json>
  readonly scale?: Json
  readonly storage?: boolean
  readonly served?: boolean
  readonly more?: Json
  readonly required?: ReadonlyArray<string>
}

/** A version with `spec`, and `status` as a subresource where one is given. */
export const version = (name: string, spec: Json, options: VersionOptions = {}): Json => ({
  name,
  served: options.served ?? true,
  storage: options.storage ?? true,
  ...(options.status === undefined && options.scale === undefined ? {} : {
    subresources: { status: {}, ...(options.scale === undefined ? {} : { scale: options.scale }) }
  }),
  ...(options.columns === undefined ? {} : { additionalPrinterColumns: options.columns }),
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        apiVersion: string(),
        kind: string(),
        metadata: { type: "object" },
        spec,
        status: options.status ?? anything
      },
      ...(options.required === undefined ? {} : { required: options.required })
    }
  },
  ...options.more
})

export const column = (name: string, jsonPath: string, type = "string", more: Json = {}): Json => ({
  name,
  jsonPath,
  type,
  ...more
})

export interface Names {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly shortNames?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  readonly scope?: "Namespaced" | "Cluster"
  readonly annotations?: Json
  readonly conversion?: Json
}

/** A definition of these versions. */
export const define = (
  { annotations, conversion, group, kind, plural, scope = "Namespaced", ...names }: Names,
  ...versions: ReadonlyArray<Json>
): Json => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}`, ...(annotations === undefined ? {} : { annotations }) },
  spec: {
    group,
    scope,
    names: { kind, plural, ...names },
    ...(conversion === undefined ? {} : { conversion }),
    versions
  }
})

/** An object that is taken as it is, or as `spec` says. */
export const taken = (object: Json, more: Omit<Valid, "object"> = {}): Valid => ({ object, ...more })

/** An object that is refused. */
export const refused = (object: Json): Invalid => ({ object })

/** The same from a version of Kubernetes on. */
export const refusedSince = (since: number, object: Json): Invalid => ({ object, since })
