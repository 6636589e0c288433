/**
 * A server that comes with a certificate of another authority, while a reflector follows it: until the client's file
 * names that authority, nothing is sent to it; from then on everything goes on, without a restart and without a list.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as LiveClient from "../../src/LiveClient.ts"
import { folder } from "../support/folder.ts"
import * as Follower from "./Follower.ts"
import * as Proxy from "./Proxy.ts"
import { namespace, resources, type Subject } from "./Subject.ts"

const [ConfigMap] = resources
const path = "/api/v1/namespaces/default/configmaps"

const until = (holds: () => boolean) => Effect.repeat(Effect.sleep("10 millis"), { until: holds })

export const survives = Effect.fnUntraced(function*({ caPem, send, token, url }: Subject) {
  const proxy = yield* Proxy.make({ url, caPem })
  const files = yield* folder({ "ca.crt": proxy.caPem })
  const file = Path.join(files, "config")
  const authority = Path.join(files, "ca.crt")
  Fs.writeFileSync(
    file,
    JSON.stringify({
      "current-context": "c",
      "clusters": [{ name: "k", cluster: { "server": proxy.url, "certificate-authority": authority } }],
      "contexts": [{ name: "c", context: { cluster: "k", user: "u" } }],
      "users": [{ name: "u", user: { token } }]
    })
  )
  const client = Context.get(yield* Layer.build(LiveClient.layerOptions({ file })), KubeClient.KubeClient)
  const follower = yield* Follower.make(client, ConfigMap, { namespace })
  const has = (name: string) => until(() => follower.store.get(`default/${name}`) !== undefined)
  const put = (name: string) =>
    send("POST", path, { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: `rotated-${name}` } })
  yield* until(() => follower.status()._tag === "Live")
  yield* put("before")
  yield* has("rotated-before")

  const next = yield* proxy.reissue
  yield* until(() => follower.status()._tag === "Degraded")
  const sent = proxy.exchanges.length
  const refused = yield* Effect.flip(client.get(ConfigMap, { namespace, name: "rotated-before" }))
  assert.strictEqual(refused.reason._tag, "Transport")
  yield* put("meanwhile")
  assert.strictEqual(proxy.exchanges.length, sent, "nothing goes to a server that is not trusted")

  Fs.writeFileSync(`${authority}.new`, next)
  Fs.renameSync(`${authority}.new`, authority)
  yield* has("rotated-meanwhile")
  assert.strictEqual((yield* client.get(ConfigMap, { namespace, name: "rotated-before" })).kind, "ConfigMap")
  assert.strictEqual(follower.status()._tag, "Live")
  assert.strictEqual(follower.entries.filter(({ _tag }) => _tag === "Replaced").length, 1, "without another list")
  for (const name of ["before", "meanwhile"]) yield* send("DELETE", `${path}/rotated-${name}`)
})
