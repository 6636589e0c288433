import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer, post } from "../../support/server.ts"

const service = { service: { name: "s", port: { number: 80 } } }

const ingress = (spec: object) => ({ metadata: { name: "a" }, spec })

const rule = (path: object, host = "a.b") => ingress({ rules: [{ host, http: { paths: [path] } }] })

const p = "spec.rules[0].http.paths[0]"

describe("IngressRules", () => {
  it.effect("judges Ingresses", () =>
    refuses(
      "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
      [rule({ path: "/a", pathType: "Prefix", backend: service })],
      [ingress({}), "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
      [
        ingress({ defaultBackend: {} }),
        "spec.defaultBackend: Invalid value: \"\": resource or service backend is required"
      ],
      [rule({ backend: service }), `${p}.pathType: Required value: pathType must be specified`],
      [
        rule({ pathType: "", backend: service }),
        `${p}.pathType: Unsupported value: "": supported values: "Exact", "ImplementationSpecific", "Prefix"`
      ],
      [
        rule({ path: "a//b/..", pathType: "Exact", backend: { service: { name: "A", port: {} } } }, "1.2.3.4"),
        "spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
        `${p}.path: Invalid value: "a//b/..": must be an absolute path`,
        `${p}.path: Invalid value: "a//b/..": must not contain '//'`,
        `${p}.path: Invalid value: "a//b/..": cannot end with '/..'`,
        `${p}.backend.service.name: Invalid value: "A": a DNS-1035 label must consist of lower case alphanumeric ` +
        "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  " +
        "or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        `${p}.backend: Required value: port name or number is required`
      ],
      [
        rule({ path: "/", pathType: "Other", backend: service }),
        `${p}.pathType: Unsupported value: "Other": supported values: "Exact", "ImplementationSpecific", "Prefix"`
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("tells Ingresses and NetworkPolicies by the group they are in", () =>
    Effect.gen(function*() {
      const of = (resource: string, spec: object) =>
        post(`/apis/networking.k8s.io/v1/namespaces/default/${resource}`, ingress(spec))
      const refused = yield* of("ingresses", {})
      assert.include(refused.body.message, "Ingress.networking.k8s.io \"a\" is invalid: ")
      assert.strictEqual(refused.body.details.group, "networking.k8s.io")
      const policy = yield* of("networkpolicies", { podSelector: { matchLabels: { "a b": "c" } } })
      assert.include(policy.body.message, "NetworkPolicy.networking.k8s.io \"a\" is invalid: ")
    }).pipe(Effect.provide(layer)))

  it.effect("judges their classes", () =>
    refuses(
      "/apis/networking.k8s.io/v1/ingressclasses",
      [ingress({ controller: "example.com/a" })],
      [ingress({}), "spec.controller: Required value"],
      [
        ingress({ controller: "example.com/a", parameters: { kind: "K", name: "n", scope: "Namespace" } }),
        "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"
      ]
    ).pipe(Effect.provide(layer)))
})
