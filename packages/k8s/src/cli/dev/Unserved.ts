/**
 * `Unserved`: detects hooks that the manifests declare but the operator does not serve.
 *
 * The export `operator` declares them (`webhooks`), and the program serves them with a layer; no compiler compares the
 * two. If they are not served, the API server cannot reach them and refuses every write of their kinds. An operator
 * that serves hooks has the check `webhooks`.
 */
import type { Description } from "../Description.ts"
import * as Remaining from "../Remaining.ts"

/** What is missing, and the remedy; undefined if the hooks are served. */
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
    `the operator does not serve hooks that it declares: ${declared.join(", ")}`,
    "the API server cannot call them and refuses the requests that need them; serve them in main.ts:",
    ...Remaining.serve
  ].join("\n")
}
