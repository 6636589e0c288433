import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as BuiltinSchema from "../../../../src/testing/server/go/BuiltinSchema.ts"

const decode = (kind: string, fields: Record<string, unknown>): Record<string, unknown> | string => {
  const definition = BuiltinSchema.definitionOf("", "v1", kind)
  assert.isDefined(definition)
  const metadata = { name: "a" }
  return Result.match(BuiltinSchema.decode(definition!, { apiVersion: "v1", kind, metadata, ...fields }), {
    onFailure: (message) => message,
    onSuccess: ({ object, unknown }) => ({ ...object, ...(unknown.length === 0 ? {} : { unknown }) })
  })
}

describe("BuiltinSchema", () => {
  // Each was asked of a real server.
  it("reads bytes as base64 and as a list of small numbers, in which null is 0", () => {
    const read = (a: unknown) => {
      const decoded = decode("Secret", { data: { a } })
      return typeof decoded === "string" ? decoded : (decoded["data"] as { readonly a?: unknown }).a
    }
    assert.strictEqual(read("aGk="), "aGk=")
    assert.strictEqual(read([104, 105]), "aGk=")
    assert.strictEqual(read([]), "")
    assert.strictEqual(read([null]), "AA==")
    assert.strictEqual(read([1, null]), "AQA=")
    for (const wrong of [[256], [-1], [1.5], ["x"], 5, {}]) assert.match(String(read(wrong)), /^json: cannot unmarshal/)
    assert.match(String(read("%%")), /^illegal base64 data/)
  })

  it("amounts of resources have no less than thousandths; others, and those of a RuntimeClass, do", () => {
    assert.deepStrictEqual(
      decode("ResourceQuota", { spec: { hard: { cpu: "1.00001", pods: "1" } } })["spec" as never],
      {
        hard: { cpu: "1001m", pods: "1" }
      } as never
    )
    assert.deepStrictEqual(
      decode("Pod", { spec: { volumes: [{ name: "v", emptyDir: { sizeLimit: "1.00001" } }] } })["spec" as never],
      { volumes: [{ name: "v", emptyDir: { sizeLimit: "1000010u" } }] } as never
    )
    const definition = BuiltinSchema.definitionOf("node.k8s.io", "v1", "RuntimeClass")!
    assert.deepStrictEqual(
      Result.map(
        BuiltinSchema.decode(definition, { handler: "h", overhead: { podFixed: { cpu: "1.00001" } } }),
        ({ object }) => object["overhead"]
      ),
      Result.succeed({ podFixed: { cpu: "1000010u" } })
    )
  })

  it("of several faults the first is told, unless a type that reads itself has one", () => {
    const lease = BuiltinSchema.definitionOf("coordination.k8s.io", "v1", "Lease")!
    const read = (spec: Record<string, unknown>) =>
      Result.match(BuiltinSchema.decode(lease, { spec }), { onFailure: (why) => why, onSuccess: () => "fine" })
    const wrong = (what: string, field: string, type: string) =>
      `json: cannot unmarshal ${what} into Go struct field LeaseSpec.spec.${field} of type ${type}`
    assert.strictEqual(
      read({ leaseTransitions: "a", holderIdentity: 5 }),
      wrong("string", "leaseTransitions", "int32")
    )
    assert.strictEqual(read({ leaseTransitions: "a", renewTime: 1 }), wrong("number", "renewTime", "string"))
    assert.strictEqual(
      decode("Pod", { spec: { hostname: 5, containers: [{ name: 5, resources: { limits: { cpu: "x" } } }] } }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )
  })

  it("calls the type of a field what Go calls it", () => {
    const pod = (spec: Record<string, unknown>) => decode("Pod", { spec })
    const wrong = "json: cannot unmarshal number into Go struct field "
    assert.strictEqual(pod({ dnsPolicy: 5 }), `${wrong}PodSpec.spec.dnsPolicy of type v1.DNSPolicy`)
    assert.strictEqual(
      pod({ containers: [{ securityContext: { capabilities: { add: 5 } } }] }),
      `${wrong}Capabilities.spec.containers.securityContext.capabilities.add of type []v1.Capability`
    )
    assert.strictEqual(
      pod({ containers: [{ securityContext: { capabilities: { add: [5] } } }] }),
      `${wrong}Capabilities.spec.containers.securityContext.capabilities.add of type v1.Capability`
    )
    assert.strictEqual(decode("Secret", { type: 5 }), `${wrong}Secret.type of type v1.SecretType`)
    assert.strictEqual(pod({ hostname: 5 }), `${wrong}PodSpec.spec.hostname of type string`)
  })

  it("reads the schemas in a schema, and does not say what they do not have", () => {
    const definition = BuiltinSchema.definitionOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition")!
    const read = (schema: Record<string, unknown>) =>
      Result.map(
        BuiltinSchema.decode(definition, { spec: { versions: [{ schema: { openAPIV3Schema: schema } }] } }),
        ({ object, unknown }) => {
          const { spec } = object as { readonly spec: { readonly versions: ReadonlyArray<Record<string, any>> } }
          return { schema: spec.versions[0]!["schema"].openAPIV3Schema, unknown }
        }
      )
    const inner = { type: "string", required: [], nope: 1 }
    assert.deepStrictEqual(
      read({ items: inner, additionalProperties: inner, additionalItems: true, dependencies: { a: inner, b: ["c"] } }),
      Result.succeed({
        schema: {
          items: { type: "string" },
          additionalProperties: { type: "string" },
          additionalItems: true,
          dependencies: { a: { type: "string" }, b: ["c"] }
        },
        unknown: []
      })
    )
    assert.deepStrictEqual(
      read({ items: [inner, { items: inner }] }),
      Result.succeed({ schema: { items: [{ type: "string" }, { items: { type: "string" } }] }, unknown: [] })
    )
    assert.deepStrictEqual(read({ items: [] }), Result.succeed({ schema: {}, unknown: [] }))
    assert.deepStrictEqual(read({ additionalProperties: 5 }), Result.fail("boolean or JSON schema expected"))
    assert.deepStrictEqual(
      read({ items: { properties: { a: { type: 5 } } } }),
      Result.fail(
        "json: cannot unmarshal number into Go struct field " +
          "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.properties.type of type string"
      )
    )
  })

  it("names what the type does not have, and writes times as the server does", () => {
    const metadata = { name: "a", creationTimestamp: "2026-01-01T02:00:00.5+01:00", nope: 2 }
    assert.deepInclude(decode("ConfigMap", { metadata, more: 1 }), {
      metadata: { name: "a", creationTimestamp: "2026-01-01T01:00:00Z" },
      unknown: ["metadata.nope", "more"]
    })
  })

  it("names fields with brackets as they are, and what is in a map after its key", () => {
    const odd = { "a[b]": 1, "(c[?d == 'e'])": { f: 1 }, "[]": 1, "g[0]": 1 }
    const unknownIn = (body: object) => {
      const read = BuiltinSchema.decode(BuiltinSchema.definitionOf("", "v1", "Pod")!, body as Record<string, never>)
      return Result.getOrThrow(Result.map(read, ({ unknown }) => unknown))
    }
    assert.deepStrictEqual(unknownIn({ metadata: odd }), Object.keys(odd).map((key) => `metadata.${key}`))
    assert.deepStrictEqual(unknownIn(odd), Object.keys(odd))
    assert.deepStrictEqual(unknownIn({ metadata: { labels: { "x[y]": "z" } } }), [])
  })

  it("tells what of a time it cannot read", () => {
    const cannot = (layout: string) => `parsing time "yesterday" as "${layout}": cannot parse "yesterday" as "2006"`
    assert.strictEqual(
      decode("ConfigMap", { metadata: { creationTimestamp: "yesterday" } }),
      cannot("2006-01-02T15:04:05Z07:00")
    )
    assert.strictEqual(decode("Event", { eventTime: "yesterday" }), cannot("2006-01-02T15:04:05.000000Z07:00"))
    assert.deepInclude(decode("Event", { eventTime: "2020-01-01T00:00:00.500000+01:00" }), {
      eventTime: "2019-12-31T23:00:00.500000Z"
    })
  })

  it("reads a number or a name where the type has either", () => {
    const ports = (targetPort: unknown) => decode("Service", { spec: { ports: [{ port: 80, targetPort }] } })
    assert.deepInclude(ports(8080), { spec: { ports: [{ port: 80, targetPort: 8080 }] } })
    assert.deepInclude(ports("http"), { spec: { ports: [{ port: 80, targetPort: "http" }] } })
    assert.strictEqual(
      ports(true),
      "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32"
    )
  })

  it("names the structs inside of others, but not where it tells what it does not know", () => {
    const pod = (container: object, volume: object = {}) =>
      decode("Pod", { spec: { containers: [container], volumes: [volume] } })
    const into = (field: string, type: string) =>
      `json: cannot unmarshal number into Go struct field ${field} of type ${type}`
    assert.strictEqual(
      pod({ livenessProbe: { httpGet: { path: 1 } } }),
      into("HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.path", "string")
    )
    assert.strictEqual(
      pod({}, { name: "v", configMap: { name: 1 } }),
      into("ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name", "string")
    )
    assert.strictEqual(pod({}, { name: 1 }), into("Volume.spec.volumes.name", "string"))
    assert.strictEqual(
      pod({ resources: { limits: 1 } }),
      into("ResourceRequirements.spec.containers.resources.limits", "v1.ResourceList")
    )
    const device = BuiltinSchema.definitionOf("resource.k8s.io", "v1", "DeviceClass")!
    const refused = BuiltinSchema.decode(device, { spec: { config: [{ opaque: { driver: 1 } }] } })
    assert.strictEqual(
      Result.isFailure(refused) && refused.failure,
      into("OpaqueDeviceConfiguration.spec.config.DeviceConfiguration.opaque.driver", "string")
    )
    const definition = BuiltinSchema.definitionOf("", "v1", "Pod")!
    const read = BuiltinSchema.decode(definition, { spec: { volumes: [{ configMap: { nope: 1 } }] } })
    assert.deepStrictEqual(
      Result.map(read, ({ unknown }) => unknown),
      Result.succeed(["spec.volumes[0].configMap.nope"])
    )
  })

  it("an integer is one of the bits that the type has", () => {
    const job = (activeDeadlineSeconds: number) => decode("Pod", { spec: { activeDeadlineSeconds } })
    assert.deepInclude(job(-(2 ** 63)), { spec: { activeDeadlineSeconds: -(2 ** 63) } })
    assert.strictEqual(
      job(2 ** 63),
      "json: cannot unmarshal number 9223372036854775808 into Go struct field PodSpec.spec.activeDeadlineSeconds of " +
        "type int64"
    )
  })

  it("a number that is not written as one is no integer", () => {
    const definition = BuiltinSchema.definitionOf("", "v1", "Pod")!
    const fault = (...path: ReadonlyArray<string | number>) =>
      BuiltinSchema.writtenFault(definition, { path, text: "1.0" })
    assert.strictEqual(
      fault("spec", "activeDeadlineSeconds"),
      "json: cannot unmarshal number 1.0 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64"
    )
    assert.strictEqual(
      fault("spec", "containers", 0, "ports", 1, "containerPort"),
      "json: cannot unmarshal number 1.0 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32"
    )
    assert.isUndefined(fault("spec", "containers", 0, "resources", "limits", "cpu"))
    assert.isUndefined(fault("spec", "nope", "deeper"))
    assert.isUndefined(fault("metadata", "labels", "a"))
  })
})
