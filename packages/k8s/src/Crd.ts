/**
 * `Crd.make`: the CustomResourceDefinition of a `CustomResource`, ready to be applied.
 *
 * Deterministic: the same declaration gives the same object. A Schema without a structural form is a mistake in the
 * program: `make` throws, and names every field and the fix. It also throws if a column, a scale or a selectable field
 * has a path that is not in the Schema.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import { type CustomResourceVersions, isVersions, storageOf } from "@effect-operator/core/CustomResourceVersions"
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as KubeError from "@effect-operator/core/KubeError"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Schedule from "effect/Schedule"
import * as ConversionPatch from "./crd/ConversionPatch.ts"
import * as FieldPaths from "./crd/FieldPaths.ts"
import { CustomResourceDefinition, type JSONSchemaProps } from "./kinds/apiextensions.v1.ts"
import { type Fault, fromSchema } from "./OpenApiSchema.ts"

/** Defaults, unless options override them. */
export const defaults = {
  /** How long the server may take to serve a new kind. */
  establishTimeout: "30 seconds"
} as const

/** A name that no object has. */
const nobody = "is-it-served"

/** A CustomResourceDefinition as `make` builds it, without the fields that the server adds. */
export type Manifest = Resource.Input<CustomResourceDefinition> & {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
}

/** How the server converts between versions: by a webhook, or (`"None"`) by changing only `apiVersion`. */
export type Conversion =
  | "None"
  | {
    readonly clientConfig: {
      readonly url?: string
      readonly service?: {
        readonly name: string
        readonly namespace: string
        readonly path?: string
        readonly port?: number
      }
      readonly caBundle?: string
    }
  }

export interface Options {
  /** Required if there are several versions. */
  readonly conversion?: Conversion
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** The CustomResourceDefinition of a kind, or of all versions of a kind. Throws if the kind cannot be defined. */
export const make = (declared: CustomResource | CustomResourceVersions, options: Options = {}): Manifest => {
  const newest = storageOf(declared)
  const versions = isVersions(declared)
    // The newest version first: it is the one people look for.
    ? declared.versions.toReversed().map((resource) =>
      version(resource, declared.served.has(resource.version), resource === declared.storage)
    )
    : [version(declared, true, true)]
  const { annotations, conversion, labels } = options
  if (versions.length > 1 && conversion === undefined) {
    throw new Error(
      `Crd.make: ${newest.id}: several versions need \`conversion\`: a webhook's clientConfig, ` +
        `or "None" if they differ only in apiVersion`
    )
  }
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${newest.plural}.${newest.group}`,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations })
    },
    spec: {
      group: newest.group,
      scope: newest.scope,
      names: {
        kind: newest.kind,
        listKind: newest.listKind,
        plural: newest.plural,
        singular: newest.singular,
        ...(newest.shortNames.length === 0 ? {} : { shortNames: newest.shortNames }),
        ...(newest.categories.length === 0 ? {} : { categories: newest.categories })
      },
      ...(conversion === undefined ? {} : {
        conversion: conversion === "None"
          ? { strategy: "None" }
          : { strategy: "Webhook", webhook: { ...conversion, conversionReviewVersions: ["v1"] } }
      }),
      versions
    }
  }
}

/**
 * The schema of a version's whole objects. Throws an error that lists all faults if a Schema has no structural form.
 */
export const schemaOf = (resource: CustomResource): JSONSchemaProps => {
  const spec = fromSchema(resource.schemas.spec, "spec")
  const status = resource.schemas.status === undefined ? undefined : fromSchema(resource.schemas.status, "status")
  const faults: ReadonlyArray<Fault> = [...spec.faults, ...(status?.faults ?? [])]
  if (faults.length > 0) {
    const lines = faults.map(({ message, path }) => `  ${path}: ${message}`)
    throw new Error(`Crd.make: the Schema of ${resource.id} has no structural form:\n${lines.join("\n")}`)
  }
  const isSpec = Schema.is(resource.schemas.spec)
  return {
    ...(resource.description === undefined ? {} : { description: resource.description }),
    type: "object",
    ...(isSpec(undefined) ? {} : { required: ["spec"] }),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      // Leaving out the spec does not mean that it may be null.
      spec: isSpec(undefined) && !isSpec(null) ? withoutNull(spec.schema) : spec.schema,
      ...(status === undefined ? {} : { status: status.schema })
    },
    ...(resource.rules.length === 0 ? {} : { "x-kubernetes-validations": resource.rules })
  }
}

const withoutNull = (schema: JSONSchemaProps): JSONSchemaProps => {
  const { nullable: _, ...rest } = schema
  return rest
}

type Version = CustomResourceDefinition["spec"]["versions"][number]

const version = (resource: CustomResource, served: boolean, storage: boolean): Version => {
  const { deprecated, printerColumns, scale, selectableFields, subresources } = resource
  const openAPIV3Schema = schemaOf(resource)
  const faults = FieldPaths.faults(resource, openAPIV3Schema)
  if (faults.length > 0) {
    throw new Error(`Crd.make: ${resource.id} refers to fields that do not exist:\n  ${faults.join("\n  ")}`)
  }
  return {
    name: resource.version,
    served,
    storage,
    ...(deprecated === false ? {} : { deprecated: true }),
    ...(typeof deprecated === "string" ? { deprecationWarning: deprecated } : {}),
    schema: { openAPIV3Schema },
    ...(subresources.length === 0 ? {} : {
      subresources: {
        ...(subresources.includes("status") ? { status: {} } : {}),
        ...(scale === undefined ? {} : {
          scale: {
            specReplicasPath: scale.specReplicasPath,
            statusReplicasPath: scale.statusReplicasPath,
            ...(scale.labelSelectorPath === undefined ? {} : { labelSelectorPath: scale.labelSelectorPath })
          }
        })
      }
    }),
    ...(selectableFields.length === 0 ? {} : { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
    ...(printerColumns.length === 0 ? {} : { additionalPrinterColumns: printerColumns })
  }
}

/** The patch that updates an existing definition. */
const update = ({ metadata: { annotations = {}, labels = {} }, spec }: Manifest) => {
  const { conversion, names } = spec
  return KubeClient.Patch.merge({
    metadata: { annotations, labels },
    spec: {
      ...spec,
      names: { shortNames: null, categories: null, ...names },
      ...(conversion === undefined ? {} : { conversion: ConversionPatch.make(conversion) })
    }
  })
}

/**
 * Creates or updates the definition, then waits until the server serves the kind: it is established, and answers a list.
 * Existing objects need not be readable yet: a conversion webhook may be served later.
 *
 * An update keeps the existing conversion if this definition has none, the `caBundle` of a conversion webhook, and all
 * labels and annotations that this definition does not set. A definition that is being deleted, with all of its objects,
 * is waited for and then created anew.
 */
export const install = (
  declared: CustomResource | CustomResourceVersions,
  { timeout, ...options }: Options & { readonly timeout?: Duration.Input } = {}
): Effect.Effect<void, KubeError.KubeError, KubeClient.KubeClient> =>
  Effect.suspend(() => installManifest(make(declared, options), { timeout }))

/** As `install`, for a ready-made definition. */
export const installManifest = Effect.fn("Crd.install")(function*(
  manifest: Manifest,
  { timeout = defaults.establishTimeout }: { readonly timeout?: Duration.Input | undefined } = {}
) {
  const client = yield* KubeClient.KubeClient
  const resource = resourceOf(manifest)
  const name = manifest.metadata.name!
  const place = client.create(CustomResourceDefinition, manifest).pipe(
    Effect.catchReason(
      "KubeError",
      "AlreadyExists",
      () => client.patch(CustomResourceDefinition, { name }, update(manifest))
    )
  )
  yield* place
  const call = { verb: "list", resource: Resource.qualifiedName(resource) } as const
  const served = Effect.gen(function*() {
    const definition = yield* client.get(CustomResourceDefinition, { name }).pipe(
      Effect.catchReason("KubeError", "NotFound", () => place)
    )
    if (isTerminating(definition)) {
      const message = `CustomResourceDefinition ${name} is being deleted, and waits for finalizers of its objects`
      return yield* KubeError.make(call, new KubeError.NotFound({ message, code: 404 }))
    }
    const conditions = definition.status?.conditions ?? []
    const refused = conditions.find(({ status, type }) => type === "NamesAccepted" && status === "False")
    if (refused !== undefined) {
      return yield* KubeError.make(
        call,
        new KubeError.Invalid({ message: `${name}: ${refused.reason}: ${refused.message}`, code: 409 })
      )
    }
    if (!conditions.some(({ status, type }) => type === "Established" && status === "True")) {
      return yield* KubeError.make(
        call,
        new KubeError.NotFound({ message: `CustomResourceDefinition ${name} is not established yet`, code: 404 })
      )
    }
    // A list without objects: those in another version may need a conversion, by a webhook that is served only later.
    yield* client.listPage(resource, {
      fields: `metadata.name=${nobody}`,
      ...(resource.scope === "Namespaced" ? { namespace: "default" } : {})
    })
  })
  yield* served.pipe(
    Effect.retry({
      schedule: Schedule.spaced("100 millis").pipe(
        Schedule.upTo({ duration: timeout })
      ),
      while: (error) => error.reason._tag === "NotFound" || error.isRetryable
    })
  )
})

/** The kind that a definition defines, in its storage version, as plain JSON. */
export const resourceOf = ({ spec }: { readonly spec: Manifest["spec"] }): Resource.Any =>
  Resource.make<KubeObject>()({
    group: spec.group,
    version: (spec.versions.find(({ storage }) => storage) ?? spec.versions[0]!).name,
    kind: spec.names.kind,
    plural: spec.names.plural,
    scope: spec.scope === "Cluster" ? "Cluster" : "Namespaced"
  })
