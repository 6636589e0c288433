import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

const merge = Effect.fnUntraced(function*(path: string, body: unknown) {
  const { request } = yield* Target
  return yield* request("PATCH", path, { body, contentType: "application/merge-patch+json" })
})

const cause = (reason: string, field: string, message: string) => ({ reason, message, field })

const template = (image = "i:1") => ({
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "c", image }] }
})

const deployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: { replicas: 0, selector: { matchLabels: { app: "x" } }, template: template() }
})

export const immutable = [
  statement("40", "ConfigMaps and Secrets that are immutable, and the type of a Secret, do not change", {
    note: "FieldValueForbidden for what is immutable by choice, FieldValueInvalid for the type"
  }, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const secrets = `/api/v1/namespaces/${ns}/secrets`
    const { object: map } = yield* request("POST", maps, {
      body: configMap("a", { immutable: true, data: { k: "v" } })
    })
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data: { k: "dg==" } }
    yield* request("POST", secrets, { body: { ...secret, immutable: true } })
    yield* request("POST", secrets, { body: { ...secret, metadata: { name: "b" } } })
    const why = "Forbidden: field is immutable when `immutable` is set"
    const refused = yield* merge(`${maps}/a`, { data: { k: "w" } })
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(refused.error.message, `ConfigMap "a" is invalid: data: ${why}`)
    assert.deepStrictEqual(refused.error.details, {
      name: "a",
      kind: "ConfigMap",
      causes: [cause("FieldValueForbidden", "data", why)]
    })
    const back = yield* merge(`${maps}/a`, { immutable: false })
    assert.strictEqual(back.error.message, `ConfigMap "a" is invalid: immutable: ${why}`)
    const hidden = yield* merge(`${secrets}/a`, { data: { k: "dw==" } })
    assert.strictEqual(hidden.error.message, `Secret "a" is invalid: data: ${why}`)
    const typed = yield* merge(`${secrets}/b`, { type: "example.com/other" })
    assert.strictEqual(
      typed.error.message,
      `Secret "b" is invalid: type: Invalid value: "example.com/other": field is immutable`
    )
    assert.deepStrictEqual((yield* request("GET", `${maps}/a`)).object, map)
    assert.strictEqual((yield* merge(`${maps}/a`, { metadata: { labels: { k: "v" } } })).status, 200, "metadata may")
  }),

  statement("40a", "fields that make an object what it is do not change: 422, and the object stays as it was", {
    note: "Pods, claims and StatefulSets forbid the whole spec but for some parts; a roleRef has words of its own"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/rolebindings`
    const apps = `/apis/apps/v1/namespaces/${ns}`
    const core = `/api/v1/namespaces/${ns}`
    const role = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" }
    const never = { ...template(), spec: { ...template().spec, restartPolicy: "Never" } }
    const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
    const metadata = { name: "a" }
    const stateful = { ...deployment("a"), kind: "StatefulSet" }
    const invalid = /^Invalid value: .*: field is immutable$/s
    const cases: ReadonlyArray<readonly [path: string, body: object, change: object, field: string, why: RegExp]> = [
      [
        `${apps}/deployments`,
        deployment("a"),
        { spec: { selector: { matchLabels: { y: "z" } }, template: { metadata: { labels: { y: "z" } } } } },
        "spec.selector",
        invalid
      ],
      [
        `/apis/batch/v1/namespaces/${ns}/jobs`,
        { apiVersion: "batch/v1", kind: "Job", metadata, spec: { template: never } },
        { spec: { template: { spec: { activeDeadlineSeconds: 5 } } } },
        "spec.template",
        invalid
      ],
      [
        `${apps}/statefulsets`,
        { ...stateful, spec: { ...stateful.spec, serviceName: "s" } },
        { spec: { serviceName: "t" } },
        "spec",
        /^Forbidden: updates to statefulset spec for fields other than .* are forbidden$/
      ],
      [
        `${core}/pods`,
        { apiVersion: "v1", kind: "Pod", metadata, spec: template().spec },
        { spec: { hostname: "h" } },
        "spec",
        /^Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/
      ],
      [
        `${core}/persistentvolumeclaims`,
        { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: storage },
        { spec: { accessModes: ["ReadOnlyMany"] } },
        "spec",
        /^Forbidden: (?:spec )?is immutable after creation except resources.requests/
      ],
      [
        rbac,
        { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata, roleRef: role },
        { roleRef: { ...role, name: "s" } },
        "roleRef",
        /^Invalid value: .*: cannot change roleRef$/s
      ]
    ]
    for (const [all, body, change, field, why] of cases) {
      const created = yield* request("POST", all, { body })
      assert.strictEqual(created.status, 201, JSON.stringify(created.body))
      const refused = yield* merge(`${all}/a`, change)
      assert.strictEqual(refused.status, 422, field)
      assert.strictEqual(refused.error.reason, "Invalid")
      const found = refused.error.details?.causes?.find((cause) => cause.field === field)
      assert.match(found?.message ?? JSON.stringify(refused.error), why)
      assert.strictEqual(
        found!.reason,
        found!.message!.startsWith("Forbidden") ? "FieldValueForbidden" : "FieldValueInvalid"
      )
      const { object } = yield* request("GET", `${all}/a`)
      assert.deepStrictEqual(object["spec"]?.selector, created.object["spec"]?.selector)
      assert.deepStrictEqual(object["roleRef"], created.object["roleRef"])
    }
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    const scope = yield* merge(`${definitions}/widgets.${widgets.group}`, { spec: { scope: "Cluster" } })
    assert.strictEqual(scope.status, 422)
    assert.include(scope.error.message, `spec.scope: Invalid value: "Cluster": field is immutable`)
  })
]
