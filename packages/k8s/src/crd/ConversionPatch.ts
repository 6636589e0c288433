/**
 * `ConversionPatch`: the merge patch of `spec.conversion` after which a definition has exactly this conversion, whatever
 * it had before, except that a webhook keeps its `caBundle`, which the webhook's server sets.
 *
 * A merge patch leaves what it does not name, so that a new URL would stand beside the previous Service, which the
 * server refuses, and a Service without a port would keep the previous one.
 */
import type { CustomResourceDefinition } from "../kinds/apiextensions.v1.ts"

type Conversion = NonNullable<CustomResourceDefinition["spec"]["conversion"]>

export const make = (conversion: Conversion) => {
  const clientConfig = conversion.webhook?.clientConfig
  const service = clientConfig?.service
  return {
    ...conversion,
    webhook: clientConfig === undefined ? null : {
      ...conversion.webhook,
      clientConfig: {
        url: null,
        ...clientConfig,
        service: service === undefined ? null : { path: null, port: null, ...service }
      }
    }
  }
}
