/** Every statement, in the order of the checklist. */
import type { Statement } from "./Statement.ts"
import { aggregation } from "./statements/aggregation.ts"
import { apply } from "./statements/apply.ts"
import { audit } from "./statements/audit.ts"
import { auth } from "./statements/auth.ts"
import { authentication } from "./statements/authentication.ts"
import { celRules } from "./statements/cel.ts"
import { controllers } from "./statements/controllers.ts"
import { combinations } from "./statements/combinations.ts"
import { conversion } from "./statements/conversion.ts"
import { create } from "./statements/create.ts"
import { customResources } from "./statements/customresources.ts"
import { customResourceDefinitions } from "./statements/definitions.ts"
import { deletion } from "./statements/deletion.ts"
import { discovery } from "./statements/discovery.ts"
import { dryrun } from "./statements/dryrun.ts"
import { escalation } from "./statements/escalation.ts"
import { events } from "./statements/events.ts"
import { flowControl } from "./statements/flowcontrol.ts"
import { immutable } from "./statements/immutable.ts"
import { jobs } from "./statements/jobs.ts"
import { lists } from "./statements/lists.ts"
import { managedFields } from "./statements/managedFields.ts"
import { metadata } from "./statements/metadata.ts"
import { names } from "./statements/names.ts"
import { negotiation } from "./statements/negotiation.ts"
import { openapi } from "./statements/openapi.ts"
import { patch } from "./statements/patch.ts"
import { policies } from "./statements/policies.ts"
import { ratcheting } from "./statements/ratcheting.ts"
import { reviews } from "./statements/reviews.ts"
import { podSecurity } from "./statements/podsecurity.ts"
import { plugins } from "./statements/plugins.ts"
import { selectors } from "./statements/selectors.ts"
import { services } from "./statements/services.ts"
import { staleEntries } from "./statements/staleEntries.ts"
import { subresources } from "./statements/subresources.ts"
import { update } from "./statements/update.ts"
import { validation } from "./statements/validation.ts"
import { versions } from "./statements/versions.ts"
import { watch } from "./statements/watch.ts"
import { webhookRules } from "./statements/webhookrules.ts"
import { webhooks } from "./statements/webhooks.ts"
import { nodes } from "./statements/nodes.ts"
import { statefulSets } from "./statements/statefulsets.ts"
import { workloadStatements } from "./statements/workloads.ts"

const order = ({ id }: Pick<Statement, "id">): number => Number.parseInt(id, 10)

/** The order of the checklist. */
const byNumber = (a: Pick<Statement, "id">, b: Pick<Statement, "id">): number =>
  order(a) - order(b) || a.id.localeCompare(b.id)

export const suite: ReadonlyArray<Statement> = [
  ...aggregation,
  ...apply,
  ...audit,
  ...auth,
  ...authentication,
  ...celRules,
  ...combinations,
  ...controllers,
  ...conversion,
  ...create,
  ...customResources,
  ...customResourceDefinitions,
  ...deletion,
  ...discovery,
  ...dryrun,
  ...escalation,
  ...events,
  ...flowControl,
  ...immutable,
  ...jobs,
  ...lists,
  ...managedFields,
  ...metadata,
  ...names,
  ...negotiation,
  ...openapi,
  ...patch,
  ...policies,
  ...ratcheting,
  ...reviews,
  ...plugins,
  ...podSecurity,
  ...selectors,
  ...services,
  ...staleEntries,
  ...subresources,
  ...update,
  ...validation,
  ...versions,
  ...watch,
  ...webhookRules,
  ...webhooks,
  ...nodes,
  ...statefulSets,
  ...workloadStatements
].sort(byNumber)

/**
 * The statements by the server they share. Those about controllers have one of their own: statements about definitions
 * leave kinds behind whose conversion fails, and a real garbage collector that cannot list one kind stands still for all.
 */
export const parts: ReadonlyArray<{ readonly name: string; readonly statements: ReadonlyArray<Statement> }> = [
  { name: "API server", statements: suite.filter(({ controllers }) => controllers !== true) },
  { name: "controllers", statements: suite.filter(({ controllers }) => controllers === true) }
]
