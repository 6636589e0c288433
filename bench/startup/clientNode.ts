/** An informer of client-node that reports its first object. `main.ts URL` */
import { CustomObjectsApi, KubeConfig, makeInformer } from "@kubernetes/client-node"
import { report } from "./report.ts"

const config = new KubeConfig()
config.loadFromClusterAndUser({ name: "fixture", server: process.argv[2]!, skipTLSVerify: true }, { name: "nobody" })
const informer = makeInformer(
  config,
  "/apis/bench.example.com/v1/widgets",
  () =>
    config.makeApiClient(CustomObjectsApi).listClusterCustomObject({
      group: "bench.example.com",
      version: "v1",
      plural: "widgets"
    })
)
informer.on("add", report)
await informer.start()
