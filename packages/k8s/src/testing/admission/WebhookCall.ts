/**
 * `WebhookCall`: calls one webhook for one request.
 *
 * A call can fail in three ways that stay distinct: the webhook could not be called or did not answer properly
 * (`CallFailed`, which the failure policy may ignore), it refused the request (`Refused`), or its response cannot be
 * used (`Refused` with an internal error). The messages are those of the real server.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Backends from "../Backends.ts"
import * as Redirects from "../http/Redirects.ts"
import * as RestReply from "../http/RestReply.ts"
import * as FieldError from "../../schema/FieldError.ts"
import { copy } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as AdmissionReview from "./AdmissionReview.ts"
import type { Hook } from "./WebhookHooks.ts"

/** The webhook gave no usable response. */
export class CallFailed extends Data.TaggedError("CallFailed")<{ readonly hook: string; readonly why: string }> {
  override get message(): string {
    return `failed calling webhook ${FieldError.quote(this.hook)}: ${this.why}`
  }
  get refusal(): StatusError.StatusError {
    return StatusError.internal(this.message)
  }
}

/** The request is refused, whatever the failure policy. */
export class Refused extends Data.TaggedError("Refused")<{ readonly error: StatusError.StatusError }> {}

export type Failure = CallFailed | Refused

const headers = {
  accept: "application/json, */*",
  "content-type": "application/json",
  "user-agent": "kube-apiserver-admission"
}

/** Calls the webhook, within the time limits of the webhook and the request. */
export const ask = Effect.fnUntraced(function*(
  backends: Backends.Calls,
  hook: Hook,
  mutating: boolean,
  seen: AdmissionReview.Seen
) {
  const { attributes } = seen
  const failed = (why: string) => new CallFailed({ hook: hook.name, why })
  const fail = (why: string) => Effect.fail(failed(why))
  if (attributes.dryRun && !hook.supportsDryRun) {
    const why = `admission webhook ${FieldError.quote(hook.name)} does not support dry run`
    return yield* new Refused({ error: StatusError.badRequest(why) })
  }
  const { version } = hook
  if (version === undefined) {
    return yield* fail(
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    )
  }
  const untrusted = Backends.bundleFault(hook.caBundle)
  if (untrusted !== undefined) return yield* fail(`could not get REST client: ${untrusted}`)
  const uid = attributes.uuid()
  const { at, passed } = attributes.deadline()
  const left = at - (yield* Clock.currentTimeMillis)
  const late = new Refused({ error: passed })
  if (left <= 0) return yield* late
  const own = hook.timeoutSeconds * 1000
  const millis = Math.min(own, left)
  const reply = yield* Redirects.call(backends, {
    target: hook.target,
    caBundle: hook.caBundle,
    method: "POST",
    query: [["timeout", `${Math.ceil(millis / 1000)}s`]],
    headers,
    body: copy(AdmissionReview.request(version, uid, seen)),
    timeout: millis
  }).pipe(Effect.mapError((failure) =>
    left <= own && failure.error === Backends.deadlineExceeded
      ? late
      : failed(`failed to call webhook: ${failure.message}`)
  ))
  const review = RestReply.read(reply, AdmissionReview.wanted(version))
  const undecodable = Result.isFailure(review) ? review.failure : AdmissionReview.decodeFault(review.success)
  if (undecodable !== undefined || Result.isFailure(review)) {
    return yield* fail(`failed to call webhook: ${undecodable}`)
  }
  const response = AdmissionReview.verify(version, uid, mutating, review.success)
  if (Result.isFailure(response)) return yield* fail(`received invalid webhook response: ${response.failure}`)
  for (const [key, value] of response.success.auditAnnotations) attributes.annotate(`${hook.name}/${key}`, value)
  return response.success
})

/** Passes on the warnings of a response, and fails if it is a refusal. */
export const settle = (
  hook: Hook,
  { warn }: AdmissionReview.Seen["attributes"],
  { allowed, status, warnings }: AdmissionReview.Response
): Effect.Effect<void, Refused> => {
  for (const text of warnings) warn(text)
  return allowed ? Effect.void : Effect.fail(new Refused({ error: AdmissionReview.denied(hook.name, status) }))
}
