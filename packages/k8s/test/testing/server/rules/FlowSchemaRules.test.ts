import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer, patch } from "../../support/server.ts"

const url = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"

const schema = (spec: object) => ({ metadata: { name: "a" }, spec })

const level = { priorityLevelConfiguration: { name: "x" } }

const rule = (fields: object) => schema({ ...level, rules: [fields] })

const all = { verbs: ["*"], nonResourceURLs: ["*"] }

const r = "spec.rules[0]"

const verbs =
  "\"create\", \"delete\", \"deletecollection\", \"get\", \"list\", \"patch\", \"proxy\", \"update\", \"watch\""

describe("FlowSchemaRules", () => {
  it.effect("judges precedence, method and level", () =>
    refuses(
      url,
      [schema(level)],
      [
        { metadata: { name: "a" } },
        "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"
      ],
      [
        schema({ ...level, matchingPrecedence: 20000, distinguisherMethod: { type: "X" }, rules: [{}] }),
        "spec.matchingPrecedence: Invalid value: 20000: must not be greater than 10000",
        "spec.distinguisherMethod.type: Unsupported value: {\"Type\":\"X\"}: supported values: \"ByNamespace\", " +
        "\"ByUser\"",
        `${r}.subjects: Required value: subjects must contain at least one value`,
        `${r}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`
      ],
      [
        schema({ ...level, matchingPrecedence: 1 }),
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges who asks", () =>
    refuses(
      url,
      [rule({
        subjects: [{ kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "b" } }],
        nonResourceRules: [all]
      })],
      [
        rule({
          subjects: [
            { kind: "User" },
            { kind: "Foo" },
            { kind: "ServiceAccount", serviceAccount: {} },
            { kind: "Group", group: { name: "" }, serviceAccount: { name: "a", namespace: "b" }, user: { name: "a" } }
          ],
          nonResourceRules: [all]
        }),
        `${r}.subjects[0].user: Required value: user is required when subject kind is 'User'`,
        `${r}.subjects[1].kind: Unsupported value: "Foo": supported values: "Group", "ServiceAccount", "User"`,
        `${r}.subjects[2].serviceAccount.name: Required value`,
        `${r}.subjects[2].serviceAccount.namespace: Required value: must specify namespace for service account`,
        `${r}.subjects[3].group.name: Required value`,
        `${r}.subjects[3].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not ` +
        "'ServiceAccount'",
        `${r}.subjects[3].user: Forbidden: user is forbidden when subject kind is not 'User'`
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges what is asked", () =>
    refuses(url, [
      rule({
        subjects: [{ kind: "User", user: { name: "*" } }],
        resourceRules: [
          {},
          { verbs: ["get", "*"], apiGroups: ["*"], resources: ["*"], clusterScope: true },
          { verbs: ["foo"], apiGroups: ["A_"], resources: ["b"], namespaces: [""] }
        ],
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["x", "", "/a b", "/*", "//a", "/", "/a/*/b", "/a*"] }]
      }),
      `${r}.resourceRules[0].verbs: Required value: verbs must contain at least one value`,
      `${r}.resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group`,
      `${r}.resourceRules[0].resources: Required value: resource rules must supply at least one resource`,
      `${r}.resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at ` +
      "least one namespace",
      `${r}.resourceRules[1].verbs: Invalid value: ["get","*"]: if '*' is present, must not specify other verbs`,
      `${r}.resourceRules[2].verbs: Unsupported value: ["foo"]: supported values: ${verbs}`,
      `${r}.resourceRules[2].namespaces[0]: Invalid value: "": each member of this list must be '*' or a DNS-1123 ` +
      "label; a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
      "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
      "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      `${r}.nonResourceRules[0].nonResourceURLs[0]: Invalid value: "x": must start with slash`,
      `${r}.nonResourceRules[0].nonResourceURLs[1]: Invalid value: "": must not be empty`,
      `${r}.nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space`,
      `${r}.nonResourceRules[0].nonResourceURLs[4]: Invalid value: "//a": must not contain double slash`,
      `${r}.nonResourceRules[0].nonResourceURLs[6]: Invalid value: "/a/*/b": wildcard can only do suffix matching`,
      `${r}.nonResourceRules[0].nonResourceURLs[7]: Invalid value: "/a*": wildcard can only do suffix matching`
    ]).pipe(Effect.provide(layer)))

  it.effect("keeps what every server needs", () =>
    Effect.gen(function*() {
      const { body, status } = yield* patch(`${url}/exempt`, "merge", { spec: { matchingPrecedence: 7 } })
      assert.strictEqual(status, 422)
      assert.strictEqual(
        body.message,
        "FlowSchema.flowcontrol.apiserver.k8s.io \"exempt\" is invalid: spec: Invalid value: " +
          "{\"PriorityLevelConfiguration\":{\"Name\":\"exempt\"},\"MatchingPrecedence\":7,\"DistinguisherMethod\":null," +
          "\"Rules\":[{\"Subjects\":[{\"Kind\":\"Group\",\"User\":null,\"Group\":{\"Name\":\"system:masters\"}," +
          "\"ServiceAccount\":null}],\"ResourceRules\":[{\"Verbs\":[\"*\"],\"APIGroups\":[\"*\"],\"Resources\":[\"*\"]," +
          "\"ClusterScope\":true,\"Namespaces\":[\"*\"]}],\"NonResourceRules\":[{\"Verbs\":[\"*\"]," +
          "\"NonResourceURLs\":[\"*\"]}]}]}: spec of 'exempt' must equal the fixed value"
      )
      const same = yield* patch(`${url}/catch-all`, "merge", { metadata: { labels: { a: "b" } } })
      assert.strictEqual(same.status, 200)
    }).pipe(Effect.provide(layer)))
})
