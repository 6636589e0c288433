/**
 * `Apart`: adapts an operator that does not run on the API server's machine, so the API server cannot call it.
 *
 * Webhooks are not registered. A definition with a conversion would fail every read of a version that is not stored. If
 * all objects are stored in one version, it is installed without the conversion, and other versions show the fields of
 * the stored one. The conversion is kept if the operator is also deployed, or if objects are stored in several
 * versions, which would otherwise be read wrongly.
 */
import type * as Crd from "../../Crd.ts"

/** The relevant state of the cluster. */
export interface Found {
  /** Whether the Service that serves the conversion exists. */
  readonly service: boolean
  /** The versions in which objects are stored; empty if the definition is new. */
  readonly stored: ReadonlyArray<string>
}

export interface Installed {
  readonly definition: Crd.Manifest
  /** A note for the user. */
  readonly note: string | undefined
}

/** The Service that serves the definition's conversion, if any. */
export const converter = ({ spec }: Crd.Manifest): { readonly namespace: string; readonly name: string } | undefined =>
  spec.conversion?.strategy === "Webhook" ? spec.conversion.webhook?.clientConfig?.service : undefined

/** A definition as it is to be installed. */
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
      note: `${name} is converted by the operator in the cluster (service ${where}): while that is stopped, reads as ` +
        `${others} fail`
    }
  }
  if (found.stored.some((version) => version !== storage)) {
    return {
      definition: declared,
      note: `${name}: objects may be stored as ${found.stored.join(", ")} and cannot be converted, since the cluster ` +
        "cannot call this machine: reading them fails. Deploy the operator there, or run it on an in-memory cluster"
    }
  }
  return {
    // Set explicitly, since an existing definition may have a webhook.
    definition: { ...declared, spec: { ...declared.spec, conversion: { strategy: "None" } } },
    note: `${name} is installed without its conversion, since the cluster could not call this machine: objects are ` +
      `stored as ${storage}, and reads as ${others} return the fields of ${storage}, unconverted`
  }
}
