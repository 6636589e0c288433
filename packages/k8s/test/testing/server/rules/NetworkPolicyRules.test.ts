import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post } from "../../support/server.ts"

const policy = (spec: object) => ({ metadata: { name: "a" }, spec: { podSelector: {}, ...spec } })

describe("NetworkPolicyRules", () => {
  it.effect("judges peers, ports and types", () =>
    refuses(
      "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
      [policy({ ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }] }] })],
      [
        policy({ ingress: [{ from: [{}], ports: [{ port: 90, endPort: 80 }, { endPort: 1 }] }] }),
        "spec.ingress[0].ports[0].endPort: Invalid value: 90: must be greater than or equal to `port`",
        "spec.ingress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is not specified",
        "spec.ingress[0].from[0]: Required value: must specify a peer"
      ],
      [
        policy({
          egress: [{ to: [{ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16", "x"] } }] }]
        }),
        "spec.egress[0].to[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
        "spec.egress[0].to[0].ipBlock.except[1]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or " +
        "2001:db8::/64)",
        "spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"
      ],
      [
        policy({ policyTypes: ["Other"] }),
        "spec.policyTypes[0]: Unsupported value: \"Other\": supported values: \"Ingress\", \"Egress\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("an update is judged twice", () =>
    Effect.gen(function*() {
      const url = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
      const { body } = yield* post(url, policy({}))
      const missing = "spec.ingress[0].from[0]: Required value: must specify a peer"
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, spec: { podSelector: {}, ingress: [{ from: [{}] }] } }), missing, missing]
      )
    }).pipe(Effect.provide(layer)))
})
