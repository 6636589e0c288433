import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

/** `field: message` of each cause against a body. */
const causes = Effect.fnUntraced(function*(path: string, body: unknown) {
  const { request } = yield* Target
  const { error, status } = yield* request("POST", path, { body })
  assert.strictEqual(status, 422, JSON.stringify(error))
  assert.strictEqual(error.reason, "Invalid")
  return (error.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`)
})

const created = Effect.fnUntraced(function*(path: string, body: unknown) {
  const { request } = yield* Target
  const answer = yield* request("POST", path, { query: { dryRun: "All" }, body })
  assert.strictEqual(answer.status, 201, JSON.stringify(answer.error))
})

const container = (more: object = {}) => ({ name: "c", image: "i:1", ...more })

const pod = (spec: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "judged" },
  spec: { containers: [container()], ...spec }
})

export const validation = [
  statement(
    "40b",
    "containers mount only volumes that are there and right, each at a path of its own",
    {},
    function*() {
      const { namespace } = yield* Target
      const pods = `/api/v1/namespaces/${yield* namespace}/pods`
      const at = (volumes: ReadonlyArray<object>, ...volumeMounts: ReadonlyArray<object>) =>
        pod({ volumes, containers: [container({ volumeMounts })] })
      const data = { name: "data", emptyDir: {} }
      yield* created(pods, at([data], { name: "data", mountPath: "/a" }))
      const path = "spec.containers[0].volumeMounts"
      assert.deepStrictEqual(
        yield* causes(pods, at([data], { name: "data", mountPath: "/a" }, { name: "gone", mountPath: "/a" })),
        [`${path}[1].name: Not found: "gone"`, `${path}[1].mountPath: Invalid value: "/a": must be unique`]
      )
      assert.deepStrictEqual(
        yield* causes(pods, at([{ name: "data", configMap: {} }], { name: "data", mountPath: "/a" })),
        ["spec.volumes[0].configMap.name: Required value", `${path}[0].name: Not found: "data"`],
        "one that is wrong is none"
      )
    }
  ),

  statement("40c", "where a Pod may run and whom it asks for names must make sense", {}, function*() {
    const { namespace } = yield* Target
    const pods = `/api/v1/namespaces/${yield* namespace}/pods`
    const term = "requiredDuringSchedulingIgnoredDuringExecution"
    assert.deepStrictEqual(
      yield* causes(pods, pod({ affinity: { nodeAffinity: { [term]: { nodeSelectorTerms: [] } } } })),
      [
        `spec.affinity.nodeAffinity.${term}.nodeSelectorTerms: Required value: must have at least one node selector term`
      ]
    )
    const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }
    assert.deepStrictEqual(yield* causes(pods, pod({ topologySpreadConstraints: [spread, spread] })), [
      "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{zone, DoNotSchedule}\""
    ])
    assert.deepStrictEqual(yield* causes(pods, pod({ dnsPolicy: "None" })), [
      "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"
    ])
  }),

  statement("40d", "a Service, an Ingress and a NetworkPolicy say where they lead", {}, function*() {
    const { namespace } = yield* Target
    const ns = yield* namespace
    const services = `/api/v1/namespaces/${ns}/services`
    const service = (spec: object) => ({ apiVersion: "v1", kind: "Service", metadata: { name: "judged" }, spec })
    assert.deepStrictEqual(yield* causes(services, service({ type: "ExternalName" })), [
      "spec.externalName: Required value"
    ])
    const networking = (plural: string) => `/apis/networking.k8s.io/v1/namespaces/${ns}/${plural}`
    const policy = (from: object) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "judged" },
      spec: { podSelector: {}, ingress: [{ from: [from] }] }
    })
    assert.deepStrictEqual(yield* causes(networking("networkpolicies"), policy({})), [
      "spec.ingress[0].from[0]: Required value: must specify a peer"
    ])
    assert.deepStrictEqual(
      yield* causes(
        networking("networkpolicies"),
        policy({ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } })
      ),
      [
        "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"
      ]
    )
    const ingress = {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "judged" },
      spec: { defaultBackend: { service: { name: "s", port: {} } } }
    }
    assert.deepStrictEqual(yield* causes(networking("ingresses"), ingress), [
      "spec.defaultBackend: Required value: port name or number is required"
    ])
  }),

  statement("40e", "a Secret has what its type promises", {
    note: "1.20 prints the path of a missing key with a slip, so that only its reason is compared"
  }, function*() {
    const { namespace, request } = yield* Target
    const secrets = `/api/v1/namespaces/${yield* namespace}/secrets`
    const secret = (type: string, stringData: object) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "judged" },
      type,
      stringData
    })
    yield* created(secrets, secret("kubernetes.io/tls", { "tls.crt": "", "tls.key": "" }))
    yield* created(secrets, secret("kubernetes.io/basic-auth", { username: "u" }))
    assert.deepStrictEqual(yield* causes(secrets, secret("kubernetes.io/tls", { "tls.crt": "" })), [
      "data[tls.key]: Required value"
    ])
    const { error } = yield* request("POST", secrets, { body: secret("kubernetes.io/basic-auth", {}) })
    assert.deepStrictEqual((error.details?.causes ?? []).map(({ reason }) => reason), [
      "FieldValueRequired",
      "FieldValueRequired"
    ])
  })
]
