/** The security levels that the labels of a namespace ask of its Pods: statement 131. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

type Json = Readonly<Record<string, any>>

const mergePatch = "application/merge-patch+json"

const harmless = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" }
}

const label = (name: string): string => `pod-security.kubernetes.io/${name}`

/** Requests in a namespace of its own, and its labels. */
const scene = Effect.gen(function*() {
  const { namespace, request } = yield* Target
  const ns = yield* namespace
  const path = `/api/v1/namespaces/${ns}`
  const pod = (name: string, securityContext: Json, spec: Json = {}, query: Record<string, string> = {}) =>
    request("POST", `${path}/pods`, {
      query,
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name },
        spec: { containers: [{ name: "c", image: "i", securityContext }], ...spec }
      }
    })
  return {
    ns,
    path,
    pod,
    deployment: (name: string) =>
      request("POST", `/apis/apps/v1/namespaces/${ns}/deployments`, {
        query: { dryRun: "All" },
        body: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name },
          spec: {
            selector: { matchLabels: { app: name } },
            template: {
              metadata: { labels: { app: name } },
              spec: { containers: [{ name: "c", image: "i", securityContext: { privileged: true } }] }
            }
          }
        }
      }),
    /** Labels the namespace; absent of those that are `null`. */
    ask: (labels: Readonly<Record<string, string | null>>) =>
      request("PATCH", path, {
        contentType: mergePatch,
        body: { metadata: { labels: Object.fromEntries(Object.entries(labels).map(([k, v]) => [label(k), v])) } }
      })
  }
})

export const podSecurity = [
  statement("131p-e", "PodSecurity refuses Pods that violate the level of their namespace", {
    since: 35
  }, function*() {
    const { request, until } = yield* Target
    const { ask, deployment, ns, path, pod } = yield* scene
    assert.strictEqual((yield* pod("early", { privileged: true }, { hostNetwork: true })).status, 201)

    const bad = yield* ask({ enforce: "strict", "warn-version": "1.30" })
    assert.strictEqual(bad.status, 422)
    assert.strictEqual(
      bad.error.message,
      `Namespace "${ns}" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": ` +
        `must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: ` +
        `Invalid value: "1.30": must be "latest" or "v1.x"]`
    )

    const baseline = yield* ask({ enforce: "baseline" })
    assert.strictEqual(baseline.status, 200)
    assert.strictEqual(
      baseline.headers["warning"],
      `299 - "existing pods in namespace \\"${ns}\\" violate the new PodSecurity enforce level \\"baseline:latest\\"", ` +
        `299 - "early: host namespaces, privileged"`
    )
    const refused = yield* until(
      pod("a", { privileged: true, capabilities: { add: ["NET_ADMIN"] } }, { hostPID: true }, { dryRun: "All" }),
      ({ status }) => status === 403
    )
    assert.strictEqual(
      refused.error.message,
      `pods "a" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities (container "c" must ` +
        `not include "NET_ADMIN" in securityContext.capabilities.add), host namespaces (hostPID=true), privileged ` +
        `(container "c" must not set securityContext.privileged=true)`
    )
    assert.strictEqual((yield* pod("a", {})).status, 201)
    const workload = yield* deployment("w")
    assert.strictEqual(workload.status, 201, "workloads are warned of, not refused")
    assert.strictEqual(
      workload.headers["warning"],
      `299 - "would violate PodSecurity \\"baseline:latest\\": privileged (container \\"c\\" must not set ` +
        `securityContext.privileged=true)"`
    )
    const kept = yield* request("PATCH", `${path}/pods/early`, {
      contentType: mergePatch,
      body: { metadata: { labels: { a: "b" } } }
    })
    assert.strictEqual(kept.status, 200, "a Pod that is there stays")

    const restricted = yield* ask({ enforce: "restricted", "enforce-version": "v1.24" })
    assert.strictEqual(
      restricted.headers["warning"],
      `299 - "existing pods in namespace \\"${ns}\\" violate the new PodSecurity enforce level ` +
        `\\"restricted:v1.24\\"", 299 - "a: allowPrivilegeEscalation != false, unrestricted capabilities, ` +
        `runAsNonRoot != true, seccompProfile", 299 - "early: host namespaces, privileged, ` +
        `allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"`
    )
    const plain = yield* until(pod("b", {}, {}, { dryRun: "All" }), ({ status }) => status === 403)
    assert.strictEqual(
      plain.error.message,
      `pods "b" is forbidden: violates PodSecurity "restricted:v1.24": allowPrivilegeEscalation != false ` +
        `(container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities ` +
        `(container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container ` +
        `"c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set ` +
        `securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
    )
    assert.strictEqual((yield* pod("b", harmless, {}, { dryRun: "All" })).status, 201)

    const warned = yield* ask({ enforce: null, "enforce-version": null, warn: "restricted" })
    assert.isUndefined(warned.headers["warning"], "nothing is said of Pods where less is enforced")
    const told = yield* until(
      pod("b", harmless, { volumes: [{ name: "v", hostPath: { path: "/" } }] }, { dryRun: "All" }),
      ({ status }) => status === 201
    )
    assert.strictEqual(
      told.headers["warning"],
      `299 - "would violate PodSecurity \\"restricted:latest\\": restricted volume types (volume \\"v\\" uses ` +
        `restricted volume type \\"hostPath\\")"`
    )
  })
]
