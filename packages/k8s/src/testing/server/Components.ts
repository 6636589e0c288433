/**
 * `Components`: the ComponentStatuses of a cluster, which are not stored but determined at each request.
 *
 * All components are always healthy here, whichever controllers run.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/componentstatus/rest.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import type * as Exchange from "./Exchange.ts"
import { asObject, freeze } from "../../api/Plain.ts"
import { selectable } from "./Registry.ts"
import * as Selecting from "../../api/Selecting.ts"
import * as StatusError from "../../api/StatusError.ts"

const components: ReadonlyArray<KubeObject> = ["scheduler", "controller-manager", "etcd-0"].map((name) =>
  freeze(asObject({
    apiVersion: "v1",
    kind: "ComponentStatus",
    metadata: { name },
    conditions: [{ type: "Healthy", status: "True", message: "ok" }]
  }))
)

const get: Exchange.Verb = ({ route }) => {
  const object = components.find(({ metadata }) => metadata.name === route.name)
  return object === undefined
    ? Effect.fail(StatusError.plain(`Component not found: ${route.name}`))
    : Effect.succeed({ _tag: "Object", status: 200, object } as const)
}

const list: Exchange.Verb = Effect.fnUntraced(function*({ request, resource }: Exchange.Exchange) {
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const { matches } = yield* Effect.fromResult(Selecting.read(selectable(resource), parsed))
  const items = matches === undefined ? components : components.filter(matches)
  return { _tag: "List", items, metadata: {} } as const
})

/** The verb of ComponentStatuses; undefined for every other resource. */
export const find = ({ resource, route }: Exchange.Exchange): Exchange.Verb | undefined =>
  resource.collection !== "componentstatuses" ? undefined : route.verb === "get" ? get : list
