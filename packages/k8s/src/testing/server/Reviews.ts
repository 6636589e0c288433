/**
 * `Reviews`: virtual kinds that are created to ask a question. The response contains the answer, and nothing is stored.
 *
 * They answer what a user may do (authorization.k8s.io, see `AccessReviews`), which rules apply to the requesting user,
 * who that user is, and whose token something is (authentication.k8s.io).
 *
 * Source: k8s.io/kubernetes/pkg/registry/{authorization,authentication}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Bodies from "../../api/Bodies.ts"
import { arrayAt, asObject, objectAt, stringAt } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import { toApi, type UserInfo } from "../../api/UserInfo.ts"
import type * as JsonValue from "../../schema/JsonValue.ts"
import * as Admission from "../Admission.ts"
import * as AccessReviews from "../auth/AccessReviews.ts"
import { namesOf } from "../auth/PolicyRule.ts"
import { missingText } from "../auth/Rbac.ts"
import * as Exchange from "./Exchange.ts"
import { apiVersionOf } from "./Registry.ts"
import * as Body from "./verbs/Body.ts"
import * as Ownership from "./verbs/Ownership.ts"

/** Answers the question in a request. The result is the fields of the object other than apiVersion and kind. */
type Answers = (
  exchange: Exchange.Exchange,
  question: KubeObject
) => Result.Result<JsonValue.JsonObject, StatusError.StatusError>

const specOf = (question: KubeObject): JsonValue.JsonObject => objectAt(question, "spec")

const badRequest = (message: string) => Result.fail(StatusError.badRequest(message))

const access =
  (user: (exchange: Exchange.Exchange, spec: JsonValue.JsonObject) => UserInfo): Answers => (exchange, question) => {
    const { core, resource } = exchange
    const { metadata } = question
    const spec = specOf(question)
    const faults = AccessReviews.faults(resource.kind, { ...metadata }, spec)
    // Reported without the kind, which the server no longer knows at this point.
    if (faults.length > 0) return Result.fail(StatusError.invalid("", resource.group, "", faults))
    return Result.succeed({ metadata, spec, status: AccessReviews.status(core.authorizer, user(exchange, spec), spec) })
  }

/** A rule in a review, for resources or for paths. */
const part = (
  rules: ReadonlyArray<JsonValue.JsonObject>,
  key: "resources" | "nonResourceURLs",
  keys: ReadonlyArray<string>
): ReadonlyArray<JsonValue.JsonObject> =>
  rules.filter((rule) => arrayAt(rule, key).length > 0).map((rule) =>
    Object.fromEntries(keys.flatMap((name) => (rule[name] === undefined ? [] : [[name, rule[name]]])))
  )

const rules: Answers = ({ core, user }, question) => {
  const namespace = stringAt(specOf(question), "namespace")
  if (namespace === "") return badRequest("no namespace on request")
  const { granted, missing } = core.authorizer.grants(user, namespace)
  const all = granted.map(({ rule }) => {
    const { resourceNames: _, ...rest } = rule
    const names = namesOf(rule)
    return names === undefined ? rest : { ...rest, resourceNames: names }
  })
  return Result.succeed({
    metadata: {},
    spec: {},
    status: {
      resourceRules: part(all, "resources", ["verbs", "apiGroups", "resources", "resourceNames"]),
      nonResourceRules: part(all, "nonResourceURLs", ["verbs", "nonResourceURLs"]),
      incomplete: false,
      ...(missing.length === 0 ? {} : { evaluationError: missingText(missing) })
    }
  })
}

const token: Answers = ({ core, now }, question) => {
  const spec = specOf(question)
  const word = stringAt(spec, "token")
  if (word === "") return badRequest("token is required for TokenReview in authentication")
  const audiences = arrayAt(spec, "audiences").map(String)
  const found = core.tokens.authenticate(word, now, audiences.length === 0 ? undefined : audiences)
  return Result.succeed({
    metadata: question.metadata,
    spec,
    status: Result.match(found, {
      onSuccess: ({ audiences, user }) => ({ authenticated: true, user: toApi(user), audiences }),
      onFailure: (error) => ({ user: {}, error })
    })
  })
}

const answers: Readonly<Record<string, Answers>> = {
  "SelfSubjectAccessReview.authorization.k8s.io": access(({ user }) => user),
  "SubjectAccessReview.authorization.k8s.io": access((_, spec) => AccessReviews.subjectOf(spec)),
  "LocalSubjectAccessReview.authorization.k8s.io": access((_, spec) => AccessReviews.subjectOf(spec)),
  "SelfSubjectRulesReview.authorization.k8s.io": rules,
  "SelfSubjectReview.authentication.k8s.io": ({ now, user }) =>
    Result.succeed({
      metadata: { creationTimestamp: Exchange.timestamp(now) },
      status: { userInfo: toApi(user) }
    }),
  "TokenReview.authentication.k8s.io": token
}

/** The verb of a review; undefined for other kinds. */
export const find = ({ resource, route }: Exchange.Exchange): Exchange.Verb | undefined => {
  if (route.verb !== "create" || resource.custom !== undefined) return undefined
  const answer = answers[`${resource.kind}.${resource.group}`]
  if (answer === undefined) return undefined
  return Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    const options = yield* Exchange.writeOptions(exchange, "CreateOptions")
    const body = yield* Bodies.placed(exchange, yield* Body.read(exchange, options))
    const { creationTimestamp: _, uid: __, ...metadata } = body.metadata
    const question = yield* Ownership.created(exchange, options, asObject({ ...body, metadata }))
    const admission = { object: question, dryRun: options.dryRun }
    const admitted = yield* Admission.admit(
      exchange.core,
      Admission.attributes(exchange, "CREATE", admission),
      question
    )
    const answered = yield* Effect.fromResult(answer(exchange, admitted))
    yield* Admission.review(
      exchange.core,
      Admission.attributes(exchange, "CREATE", { ...admission, object: admitted })
    )
    return {
      _tag: "Object",
      status: 201,
      object: asObject({ kind: resource.kind, apiVersion: apiVersionOf(resource), ...answered })
    } as const
  })
}
