/** An operator with the rights of its service account, observed through its endpoints, in virtual time. */
import { type Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import { Endpoints } from "@effect-operator/k8s"
import { ClusterRole, ClusterRoleBinding } from "@effect-operator/k8s/kinds"
import { type ApiServer, TestClient, TestCluster } from "@effect-operator/k8s/testing"
import { Context, Effect, Layer, Schema } from "effect"

export const Widget = CustomResource.make({
  group: "observed.example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ size: Schema.Int })
})
export type Widget = typeof Widget.Type

export const Gadget = CustomResource.make({
  group: "observed.example.com",
  version: "v1",
  kind: "Gadget",
  spec: Schema.Struct({ size: Schema.Int })
})

export const cluster = (...resources: ReadonlyArray<CustomResource.CustomResource>) => TestCluster.layer({ resources })

const account = TestClient.serviceAccount("ops", "operator")

/** Gives the operator exactly these rights. */
export const allow = Effect.fnUntraced(function*(name: string, rules: ClusterRole["rules"]) {
  const client = yield* KubeClient.KubeClient
  yield* client.create(ClusterRole, { metadata: { name }, rules: rules! })
  yield* client.create(ClusterRoleBinding, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", namespace: "ops", name: "operator" }]
  })
})

export const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]

/** Starts an operator in the scope of the test; answers its manager and its endpoints. */
export const operate = Effect.fnUntraced(function*(
  controllers: ReadonlyArray<Controller.Controller>,
  options: Manager.Options & { readonly endpoints?: Endpoints.Options } = {}
) {
  const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0", ...options.endpoints })
  const context = yield* Layer.build(
    Manager.layer(controllers, options).pipe(
      Layer.provide(TestClient.layerAs(account)),
      Layer.provide(Layer.succeed(Manager.Board, endpoints.board))
    )
  )
  return { ...asking(endpoints), manager: Context.get(context, Manager.Manager), endpoints }
})

/** Asks endpoints by their paths. */
export const asking = (endpoints: Endpoints.Endpoints) => {
  const get = (url: string, headers: Record<string, string> = {}) => {
    const [path, query] = url.split("?")
    return endpoints.answer({ method: "GET", path: path!, query: new URLSearchParams(query), headers })
  }
  return {
    get,
    /** The code, and the lines of the answer that say what is wrong. */
    readyz: Effect.map(get("/readyz?verbose"), ({ body, status }) => ({
      status,
      failures: body.split("\n").filter((line) => line.startsWith("[-]"))
    }))
  }
}

export type Needs = ApiServer.ApiServer | KubeClient.KubeClient
