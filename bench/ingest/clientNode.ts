/** `makeInformer` of `@kubernetes/client-node`, on which most JavaScript operators are built. */
import { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer } from "@kubernetes/client-node"
import type { KubernetesListObject, KubernetesObject } from "@kubernetes/client-node"
import { listVersion, shapes } from "../fixture/Objects.ts"
import type { Contestant } from "./Contestant.ts"

export const clientNode: Contestant = async ({ events, kind, url }) => {
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: "fixture", server: url, skipTLSVerify: true }, { name: "nobody" })
  const list: () => Promise<KubernetesListObject<KubernetesObject>> = kind === "pods"
    ? () => config.makeApiClient(CoreV1Api).listPodForAllNamespaces()
    : () =>
      config.makeApiClient(CustomObjectsApi).listClusterCustomObject({
        group: "bench.example.com",
        version: "v1",
        plural: "widgets"
      })
  const informer = makeInformer(config, shapes[kind].path, list)
  return {
    informer,
    list: async () => {
      await informer.start()
      return informer.list().length
    },
    watch: (start: () => Promise<void>) =>
      new Promise<void>((resolve, reject) => {
        const last = String(listVersion + events)
        informer.on("error", reject)
        informer.on("update", (object: KubernetesObject) => {
          if (object.metadata?.resourceVersion === last) resolve()
        })
        start().catch(reject)
      })
  }
}
