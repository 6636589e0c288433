/**
 * `Apart`: what can be had of an operator that runs on another machine than the API server, which cannot call it.
 *
 * Hooks are not registered. A definition with a conversion would refuse every read of a version that is not stored: where
 * all objects are stored in one version it is installed without, and the other versions show the fields of that one. Where
 * the operator is deployed, too, the conversion stays with it; where objects are stored in several versions it stays, since
 * what comes without it would be wrong.
 */
import type * as Crd from "../../Crd.ts"

/** What is in the cluster. */
export interface Found {
  /** Whether the Service is there that the API server would ask. */
  readonly service: boolean
  /** The versions that objects are stored in; none where the definition is new. */
  readonly stored: ReadonlyArray<string>
}

export interface Installed {
  readonly definition: Crd.Manifest
  /** What a person is to know of it. */
  readonly note: string | undefined
}

/** The Service that the API server asks for conversions, if any. */
export const converter = ({ spec }: Crd.Manifest): { readonly namespace: string; readonly name: string } | undefined =>
  spec.conversion?.strategy === "Webhook" ? spec.conversion.webhook?.clientConfig?.service : undefined

/** A definition, as it is to be installed. */
export const definition = (declared: Crd.Manifest, found: Found): Installed => {
  const service = converter(declared)
  if (service === undefined) return { definition: declared, note: undefined }
  const name = declared.metadata.name!
  const storage = declared.spec.versions.find(({ storage }) => storage)!.name
  const others = declared.spec.versions.flatMap(({ name }) => name === storage ? [] : [name]).join(", ")
  const where = `${service.namespace}/${service.name}`
  if (found.service) {
    return {
      definition: declared,
      note: `${name} is converted by the operator in the cluster (service ${where}): while that is stopped, reads in ` +
        `${others} fail`
    }
  }
  if (found.stored.some((version) => version !== storage)) {
    return {
      definition: declared,
      note:
        `${name}: objects may be stored in ${found.stored.join(", ")} and nobody converts them, since the cluster ` +
        "cannot call this machine: reads of those fail. Deploy the operator there, or run it on an in-memory cluster"
    }
  }
  return {
    // Said, since a definition that is there may have had a webhook.
    definition: { ...declared, spec: { ...declared.spec, conversion: { strategy: "None" } } },
    note: `${name} is installed without its conversion, since the cluster could not call this machine: objects are ` +
      `stored as ${storage}, and reads in ${others} give the fields of ${storage}, unconverted`
  }
}
