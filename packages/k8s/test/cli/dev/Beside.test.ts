import { assert, it } from "@effect/vitest"
import * as Beside from "../../../src/cli/dev/Beside.ts"
import type { Description } from "../../../src/cli/Description.ts"

const service = (targetPort: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "demo" },
  spec: { selector: { a: "b" }, ports: [{ port: 443, targetPort }] }
})
const reference = { namespace: "demo", name: "demo-webhook" }

it("a Service of what the API server calls is this machine, any other stays", () => {
  for (const name of ["webhooks", "api"]) {
    assert.deepStrictEqual(Beside.object(service(name), 9999).spec as unknown, {
      type: "ExternalName",
      externalName: "localhost"
    })
  }
  assert.deepStrictEqual(Beside.object(service("metrics"), 9999), service("metrics"))
})

it("whoever refers to it names the port of the operator", () => {
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "demo" },
    webhooks: [{ name: "a", clientConfig: { service: { ...reference, path: "/a" } } }]
  }
  assert.deepStrictEqual(Beside.object(configuration, 9999).webhooks[0]!.clientConfig.service as unknown, {
    ...reference,
    path: "/a",
    port: 9999
  })
  const api = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.a.b" },
    spec: { service: reference }
  }
  assert.deepStrictEqual(Beside.object(api, 9999).spec.service as unknown, { ...reference, port: 8443 })

  const definition = {
    spec: { group: "a.b", conversion: { strategy: "Webhook", webhook: { clientConfig: { service: reference } } } }
  }
  const plain = { spec: { group: "a.b" } }
  const { definitions } = Beside.description({ definitions: [definition, plain] } as never as Description, 9999)
  assert.deepStrictEqual(definitions as unknown, [
    {
      spec: {
        group: "a.b",
        conversion: { strategy: "Webhook", webhook: { clientConfig: { service: { ...reference, port: 9999 } } } }
      }
    },
    plain
  ])
})
