/**
 * `Crd.make`: the CustomResourceDefinition of a `CustomResource`, ready to be applied.
 *
 * Deterministic: the same declaration gives the same object. A Schema without a structural form is a mistake in the
 * program and throws, naming every field and what to do.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as KubeError from "@effect-operator/core/KubeError"
import * as Resource from "@effect-operator/core/Resource"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { CustomResourceDefinition } from "./kinds/apiextensions.v1.ts"
import { type Fault, fromSchema } from "./OpenApiSchema.ts"

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** How long a server may take to serve a new kind. */
  establishTimeout: "30 seconds"
} as const

/** What `make` gives: everything but what the server adds. */
export type Manifest = Resource.Input<CustomResourceDefinition> & {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
}

export const make = (resource: CustomResource): Manifest => {
  const spec = fromSchema(resource.schemas.spec, "spec")
  const status = resource.schemas.status === undefined ? undefined : fromSchema(resource.schemas.status, "status")
  const faults: ReadonlyArray<Fault> = [...spec.faults, ...(status?.faults ?? [])]
  if (faults.length > 0) {
    const lines = faults.map(({ message, path }) => `  ${path}: ${message}`)
    throw new Error(`Crd.make: the Schema of ${resource.id} has no structural form:\n${lines.join("\n")}`)
  }
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource.plural}.${resource.group}` },
    spec: {
      group: resource.group,
      scope: resource.scope,
      names: {
        kind: resource.kind,
        listKind: resource.listKind,
        plural: resource.plural,
        singular: resource.singular,
        ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
        ...(resource.categories.length === 0 ? {} : { categories: resource.categories })
      },
      versions: [{
        name: resource.version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            ...(resource.description === undefined ? {} : { description: resource.description }),
            properties: {
              apiVersion: { type: "string" },
              kind: { type: "string" },
              metadata: { type: "object" },
              spec: spec.schema,
              ...(status === undefined ? {} : { status: status.schema })
            },
            required: ["spec"]
          }
        },
        ...(resource.subresources.length === 0 ? {} : {
          subresources: {
            ...(resource.subresources.includes("status") ? { status: {} } : {}),
            ...(resource.scale === undefined ? {} : {
              scale: {
                specReplicasPath: resource.scale.specReplicasPath,
                statusReplicasPath: resource.scale.statusReplicasPath,
                ...(resource.scale.labelSelectorPath === undefined
                  ? {}
                  : { labelSelectorPath: resource.scale.labelSelectorPath })
              }
            })
          }
        }),
        ...(resource.printerColumns.length === 0 ? {} : { additionalPrinterColumns: resource.printerColumns })
      }]
    }
  }
}

/**
 * Installs or updates the definition, and waits until the server serves the kind: established, and a list answered.
 * A definition that is already there keeps what this one does not mention.
 */
export const install = Effect.fn("Crd.install")(function*(
  resource: CustomResource,
  options: { readonly timeout?: Duration.Input } = {}
) {
  const client = yield* KubeClient.KubeClient
  const manifest = make(resource)
  const name = manifest.metadata.name!
  yield* client.create(CustomResourceDefinition, manifest).pipe(
    Effect.catchReason(
      "KubeError",
      "AlreadyExists",
      () => client.patch(CustomResourceDefinition, { name }, KubeClient.Patch.merge({ spec: manifest.spec }))
    )
  )
  const call = { verb: "list", resource: Resource.qualifiedName(resource) } as const
  const served = Effect.gen(function*() {
    const definition = yield* client.get(CustomResourceDefinition, { name })
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
        new KubeError.NotFound({ message: `${name} is not established yet`, code: 404 })
      )
    }
    yield* client.listPage(Resource.unstructured(resource), { limit: 1 })
  })
  yield* served.pipe(
    Effect.retry({
      schedule: Schedule.spaced("100 millis").pipe(
        Schedule.upTo({ duration: options.timeout ?? defaults.establishTimeout })
      ),
      while: (error) => error.reason._tag === "NotFound" || error.isRetryable
    })
  )
})
