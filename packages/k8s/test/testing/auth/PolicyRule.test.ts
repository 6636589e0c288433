import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Attributes, resource } from "../../../src/api/Attributes.ts"
import * as PolicyRule from "../../../src/testing/auth/PolicyRule.ts"

const rule = (fields: Partial<PolicyRule.PolicyRule>): PolicyRule.PolicyRule => ({ verbs: ["get"], ...fields })

const path = (path: string, verb = "get"): Attributes => ({ _tag: "Path", verb, path })

describe("PolicyRule", () => {
  it("matches groups, resources, subresources and names", () => {
    const pods = rule({
      apiGroups: [""],
      resources: ["pods", "*/scale", "deployments/status"],
      resourceNames: ["a", "b"]
    })
    const asked = (fields: Parameters<typeof resource>[0]) =>
      PolicyRule.allows(pods, resource({ verb: "get", resource: "pods", name: "a", ...fields }))
    assert.isTrue(asked({}))
    assert.isTrue(asked({ name: "b" }))
    assert.isFalse(asked({ name: "c" }))
    assert.isFalse(asked({ name: "" }), "a collection has no name")
    assert.isFalse(asked({ verb: "list" }))
    assert.isFalse(asked({ group: "apps" }))
    assert.isFalse(asked({ subresource: "log" }))
    assert.isTrue(asked({ subresource: "scale" }))
    assert.isTrue(asked({ resource: "anything", subresource: "scale" }))
    assert.isTrue(asked({ resource: "deployments", subresource: "status" }))
    assert.isFalse(asked({ resource: "deployments" }))
    const all = rule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] })
    assert.isTrue(PolicyRule.allows(all, resource({ verb: "x", group: "g", resource: "r", subresource: "s" })))
    assert.isFalse(PolicyRule.allows(all, path("/version")), "a rule about resources says nothing of paths")
  })

  it("matches paths whole, or by their beginning", () => {
    const paths = rule({ nonResourceURLs: ["/version", "/api*", "/debug/*"] })
    for (const allowed of ["/version", "/api", "/apis", "/api/v1", "/debug/", "/debug/x"]) {
      assert.isTrue(PolicyRule.allows(paths, path(allowed)), allowed)
    }
    for (const refused of ["/version/", "/ap", "/debug"]) {
      assert.isFalse(PolicyRule.allows(paths, path(refused)), refused)
    }
    assert.isFalse(PolicyRule.allows(paths, path("/version", "post")))
    assert.isFalse(PolicyRule.allows(rule({ nonResourceURLs: ["*"] }), resource({ verb: "get", resource: "pods" })))
  })

  it("prints a rule as Go does", () => {
    assert.strictEqual(
      PolicyRule.print(
        rule({ apiGroups: ["", "apps"], resources: ["pods"], resourceNames: ["a\"b"], verbs: ["get", "list"] })
      ),
      `{APIGroups:["" "apps"], Resources:["pods"], ResourceNames:["a\\"b"], Verbs:["get" "list"]}`
    )
    assert.strictEqual(
      PolicyRule.print(rule({ nonResourceURLs: ["/x"] })),
      `{NonResourceURLs:["/x"], Verbs:["get"]}`
    )
  })

  it("covers by names only what is limited to names", () => {
    const limited = rule({ apiGroups: [""], resources: ["pods"], resourceNames: ["a"] })
    const free = rule({ apiGroups: [""], resources: ["pods"] })
    assert.deepStrictEqual(PolicyRule.missing([free], [limited]), [])
    assert.deepStrictEqual(PolicyRule.missing([limited], [free]), [free])
    const empty = rule({ apiGroups: [""], resources: ["pods"], resourceNames: [] })
    assert.deepStrictEqual(PolicyRule.missing([empty], [free]), [], "no names at all are no limit")
    const scale = rule({ apiGroups: ["*"], resources: ["*/scale"] })
    assert.deepStrictEqual(PolicyRule.missing([scale], [rule({ apiGroups: ["apps"], resources: ["x/scale"] })]), [])
  })

  const some = <const A extends ReadonlyArray<string>>(...of: A) => Schema.Array(Schema.Literals(of))
  const AnyRule = Schema.Struct({
    verbs: some("get", "list", "*"),
    apiGroups: some("", "apps", "*"),
    resources: some("pods", "pods/scale", "*/scale", "*"),
    resourceNames: some("a", "b"),
    nonResourceURLs: some("/a", "/a/b", "/a/*", "*")
  })
  const questions: ReadonlyArray<Attributes> = [
    ...["get", "list", "watch"].flatMap((verb) =>
      ["", "apps", "batch"].flatMap((group) =>
        ["pods", "jobs"].flatMap((name) =>
          ["", "scale", "log"].flatMap((subresource) =>
            ["", "a", "b", "c"].map((object) => resource({ verb, group, resource: name, subresource, name: object }))
          )
        )
      )
    ),
    ...["get", "list"].flatMap((verb) => ["/a", "/a/b", "/a/c", "/b"].map((at) => path(at, verb)))
  ]
  const answers = (rules: ReadonlyArray<PolicyRule.PolicyRule>) =>
    questions.map((question) => rules.some((one) => PolicyRule.allows(one, question)))
  const rulesArbitrary = { anyRules: Schema.Array(AnyRule), anyOthers: Schema.Array(AnyRule) }
  /** A valid rule is about resources or about paths. */
  const valid = (rules: ReadonlyArray<typeof AnyRule.Type>): ReadonlyArray<PolicyRule.PolicyRule> =>
    rules.map(({ nonResourceURLs, verbs, ...rest }) =>
      nonResourceURLs.length === 0 ? { verbs, ...rest } : { verbs, nonResourceURLs }
    )
  const settings = { arbitrary: { runs: 300, seed: 20_261_121 } }

  it.effect.prop(
    "the pieces of rules allow what the rules allow, and so do the pieces put together",
    rulesArbitrary,
    ({ anyRules }) =>
      Effect.sync(() => {
        const rules = valid(anyRules)
        const pieces = rules.flatMap(PolicyRule.breakdown)
        assert.deepStrictEqual(answers(pieces), answers(rules))
        assert.deepStrictEqual(answers(PolicyRule.compact(pieces)), answers(rules))
      }),
    settings
  )

  it.effect.prop(
    "who holds what others allow can do nothing less than they",
    rulesArbitrary,
    ({ anyOthers, anyRules }) =>
      Effect.sync(() => {
        const [rules, others] = [valid(anyRules), valid(anyOthers)]
        const lacking = PolicyRule.missing(rules, others)
        const [own, wanted] = [answers(rules), answers(others)]
        if (lacking.length === 0) assert.isTrue(wanted.every((allowed, at) => !allowed || own[at]!))
        const whole = answers([...rules, ...lacking])
        assert.isTrue(wanted.every((allowed, at) => !allowed || whole[at]!), "with what is lacking, nothing is")
        assert.deepStrictEqual(PolicyRule.missing(rules, rules), [])
      }),
    settings
  )
})
