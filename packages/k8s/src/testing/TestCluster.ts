/**
 * `TestCluster`: everything a test of an operator needs, as one layer: the in-memory API server, the simulated
 * controllers, a client, the operator's kinds installed, and a test clock that waits for the program.
 *
 * Under `it.effect` everything runs in virtual time: `TestClock.adjust("1 hour")` is one hour in the life of the
 * cluster.
 *
 * If the test fails, the operator's warnings are printed: see `FailureLog`.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MergePatch from "../api/patch/MergePatch.ts"
import { ApiServer, type Change } from "./ApiServer.ts"
import * as Declared from "./Declared.ts"
import * as FailureLog from "./FailureLog.ts"
import type { Kubelet } from "./Kubelet.ts"
import type { RuntimeConfig } from "./server/RuntimeConfig.ts"
import * as External from "./simulation/External.ts"
import * as SimControllers from "./SimControllers.ts"
import * as TestClient from "./TestClient.ts"
import * as TestWebhooks from "./TestWebhooks.ts"
import * as VirtualTime from "./VirtualTime.ts"

export interface Options extends SimControllers.Options {
  /** Kinds to install before anything else runs, each alone or with its versions. */
  readonly resources?: ReadonlyArray<Declared.Declared> | undefined
  /** Hooks that the server calls, as if a program beside the operator served them. */
  readonly webhooks?: TestWebhooks.Webhooks | undefined
  /** Which versions of built-in groups are served, as for `ApiServer`: stable ones by default. */
  readonly runtimeConfig?: RuntimeConfig | undefined
}

/** The longest description of a change, in characters. */
const told = 300

const withoutBookkeeping = (object: KubeObject) => ({
  ...object,
  metadata: { ...object.metadata, managedFields: undefined, resourceVersion: undefined }
})

/** What a change did to the object, as a merge patch. */
const tell = ({ object, previous, type }: Change): string => {
  if (previous === undefined || type === "DELETED") return type === "DELETED" ? "its deletion" : "its creation"
  const text = JSON.stringify(MergePatch.diff(withoutBookkeeping(previous), withoutBookkeeping(object)))
  return text.length > told ? `${text.slice(0, told)}...` : text
}

/** A server that reports its changes to `VirtualTime.Moment`. */
const server = ({ runtimeConfig }: Options) =>
  Layer.unwrap(
    Effect.map(VirtualTime.Moment, ({ changed }) =>
      ApiServer.layerOptions({
        runtimeConfig,
        onChange: (change) => changed(`${change.collection} ${change.key}`, () => `by ${tell(change)}`)
      }))
  )

/** The kinds, and then the hooks, which watch and list those. */
const installed = Effect.fnUntraced(function*({ resources = [], webhooks = [] }: Options) {
  yield* Declared.serve(resources)
  yield* Declared.install(resources)
  yield* TestWebhooks.serve(webhooks)
  yield* TestWebhooks.install(webhooks)
})

/** A new, empty cluster. */
export const layer = (options: Options = {}): Layer.Layer<ApiServer | KubeClient | Kubelet, KubeError> =>
  Layer.effectDiscard(installed(options)).pipe(
    Layer.provideMerge(SimControllers.layer(options)),
    Layer.provideMerge(TestClient.layer),
    Layer.provideMerge(server(options)),
    Layer.provideMerge(VirtualTime.layer),
    Layer.provideMerge(FailureLog.layer),
    Layer.provideMerge(External.layer),
    // Every test gets its own cluster, even if two tests use the same layer value.
    Layer.fresh
  )
