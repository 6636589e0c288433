/**
 * `Reviews`: kinds that are questions: created, answered in the same response, never stored.
 *
 * Without an authorizer everything is allowed, as it is for a member of `system:masters`; who asks is who the request
 * says it is.
 */
import * as Effect from "effect/Effect"
import * as Exchange from "./Exchange.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import { objectAt, stringAt } from "./Plain.ts"
import { apiVersionOf } from "./Registry.ts"
import * as StatusError from "../StatusError.ts"

type Answers = (exchange: Exchange.Exchange, spec: JsonValue.JsonObject) => JsonValue.JsonObject

const allowed: Answers = () => ({ allowed: true })

const answers: Readonly<Record<string, Answers>> = {
  SelfSubjectAccessReview: allowed,
  SubjectAccessReview: allowed,
  LocalSubjectAccessReview: allowed,
  SelfSubjectRulesReview: () => ({
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false
  }),
  SelfSubjectReview: ({ user }) => ({ userInfo: { username: user.username, groups: user.groups } }),
  TokenReview: () => ({ user: {}, error: "[invalid bearer token, unknown]" })
}

/** The verb of a kind that is a question; undefined for a kind that is stored. */
export const find = ({ resource }: Exchange.Exchange): Exchange.Verb | undefined => {
  const answer = answers[resource.kind]
  if (resource.custom !== undefined || answer === undefined || resource.verbs.includes("get")) return undefined
  return Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    const body = yield* Exchange.bodyObject(exchange)
    if (stringAt(body, "kind") !== "" && stringAt(body, "kind") !== resource.kind) {
      return yield* Effect.fail(
        StatusError.badRequest(`${stringAt(body, "kind")} cannot be handled as a ${resource.kind}`)
      )
    }
    const spec = objectAt(body, "spec")
    if (resource.kind === "SelfSubjectRulesReview" && stringAt(spec, "namespace") === "") {
      return yield* Effect.fail(StatusError.badRequest("no namespace on request"))
    }
    return {
      _tag: "Plain",
      status: 201,
      body: {
        kind: resource.kind,
        apiVersion: apiVersionOf(resource),
        metadata: {},
        ...(resource.kind === "SelfSubjectReview" ? {} : { spec }),
        status: answer(exchange, spec)
      }
    } as const
  })
}
