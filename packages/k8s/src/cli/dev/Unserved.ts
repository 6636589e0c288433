/**
 * `Unserved`: hooks that the manifests declare and the operator does not serve.
 *
 * Declared is what the export `operator` says (`webhooks`), served is what the program makes a layer of: two places, and
 * no compiler that compares them. The API server then asks nobody, and refuses every write of the kinds. An operator that
 * serves hooks says so by a check, `webhooks`.
 */
import type { Description } from "../Description.ts"
import * as Remaining from "../Remaining.ts"

/** What is missing and how it is mended; nothing if the hooks are served. */
export const message = (
  { definitions, webhooks }: Pick<Description, "definitions" | "webhooks">,
  checks: ReadonlySet<string>
): string | undefined => {
  const names = webhooks.flatMap((configuration) =>
    ((configuration as { readonly webhooks?: ReadonlyArray<{ readonly name: string }> }).webhooks ?? [])
      .map(({ name }) => name)
  )
  const converted = definitions.flatMap(({ metadata, spec }) =>
    spec.conversion?.strategy === "Webhook" ? [`the conversion of ${metadata.name}`] : []
  )
  const declared = [...names, ...converted]
  return declared.length === 0 || checks.has("webhooks") ? undefined : [
    `hooks are declared, but the operator does not serve them: ${declared.join(", ")}`,
    "the API server can ask nobody, and refuses what they are about; serve them in main.ts:",
    ...Remaining.serve
  ].join("\n")
}
