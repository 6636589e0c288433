/** Every statement, in the order of the checklist. */
import type { Statement } from "./Statement.ts"
import { controllers } from "./statements/controllers.ts"
import { create } from "./statements/create.ts"
import { customResources } from "./statements/customresources.ts"
import { customResourceDefinitions } from "./statements/definitions.ts"
import { deletion } from "./statements/deletion.ts"
import { discovery } from "./statements/discovery.ts"
import { dryrun } from "./statements/dryrun.ts"
import { events } from "./statements/events.ts"
import { immutable } from "./statements/immutable.ts"
import { lists } from "./statements/lists.ts"
import { metadata } from "./statements/metadata.ts"
import { names } from "./statements/names.ts"
import { negotiation } from "./statements/negotiation.ts"
import { patch } from "./statements/patch.ts"
import { selectors } from "./statements/selectors.ts"
import { subresources } from "./statements/subresources.ts"
import { update } from "./statements/update.ts"
import { watch } from "./statements/watch.ts"

const order = ({ id }: Statement): number => Number.parseInt(id, 10)

export const suite: ReadonlyArray<Statement> = [
  ...controllers,
  ...create,
  ...customResources,
  ...customResourceDefinitions,
  ...deletion,
  ...discovery,
  ...dryrun,
  ...events,
  ...immutable,
  ...lists,
  ...metadata,
  ...names,
  ...negotiation,
  ...patch,
  ...selectors,
  ...subresources,
  ...update,
  ...watch
].sort((a, b) => order(a) - order(b) || a.id.localeCompare(b.id))
