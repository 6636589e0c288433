/**
 * `TokenRequests`: the subresource `serviceaccounts/NAME/token`, which issues tokens of a service account
 * (`kubectl create token`).
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage/token.go and pkg/apis/authentication/validation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Admission from "../Admission.ts"
import * as Exchange from "../server/Exchange.ts"
import type { Served } from "../server/Registry.ts"
import * as BuiltinSchema from "../server/go/BuiltinSchema.ts"
import * as Body from "../server/verbs/Body.ts"
import * as Ownership from "../server/verbs/Ownership.ts"
import { audience, type Bound } from "./Tokens.ts"

const kind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" } as const

/** The default, minimum and maximum lifetime of a token, in seconds. */
const lifetimes = { usual: 3600, least: 600, most: 2 ** 32 } as const

/** Pod tokens with this lifetime are extended to a year, because old clients do not know that tokens expire. */
const extended = { asked: 3607, given: 365 * 24 * 3600 } as const

/** The resource whose objects are the bodies of these requests. */
const requests = (accounts: Served): Served => ({
  ...accounts,
  ...kind,
  decode: (body) => {
    const definition = BuiltinSchema.definitionOf(kind.group, kind.version, kind.kind)
    return definition === undefined
      ? Result.succeed({ object: body, unknown: [] })
      : Result.mapError(
        BuiltinSchema.decode(definition, body),
        (why) =>
          StatusError.badRequest(
            `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${why}`
          )
      )
  }
})

const invalid = (name: string, fault: FieldError.FieldError): StatusError.StatusError =>
  StatusError.invalid(kind.kind, kind.group, name, [fault])

/** Name and namespace of a request, if it has any, must be those of the account. */
const placeFault = (exchange: Exchange.Exchange, request: KubeObject): StatusError.StatusError | undefined => {
  const { route } = exchange
  const [name, namespace] = [stringAt(request, "metadata", "name"), stringAt(request, "metadata", "namespace")]
  return name !== "" && name !== route.name
    ? invalid(route.name, FieldError.invalid("metadata.name", name, "must match the service account name if specified"))
    : namespace !== "" && namespace !== route.namespace
    ? invalid(
      route.name,
      FieldError.invalid("metadata.namespace", namespace, "must match the service account namespace if specified")
    )
    : undefined
}

const lifetimeFault = (seconds: number): StatusError.StatusError | undefined =>
  seconds < lifetimes.least || seconds > lifetimes.most
    ? invalid(
      "",
      FieldError.invalid(
        "spec.expirationSeconds",
        seconds,
        seconds < lifetimes.least
          ? "may not specify a duration less than 10 minutes"
          : "may not specify a duration larger than 2^32 seconds"
      )
    )
    : undefined

const plurals = { Pod: "pods", Secret: "secrets", Node: "nodes" } as const

const isBindable = (name: string): name is keyof typeof plurals => Object.hasOwn(plurals, name)

const nodeOf = ({ core }: Exchange.Exchange, pod: KubeObject): Bound["node"] => {
  const name = stringAt(pod, "spec", "nodeName")
  if (name === "") return undefined
  const node = core.storage.get("nodes", name)
  return node === undefined ? { name } : { name, uid: node.metadata.uid }
}

/** The object to which a token will be bound. */
const boundTo = (
  exchange: Exchange.Exchange,
  ref: unknown
): Result.Result<Bound | undefined, StatusError.StatusError> => {
  if (!JsonValue.isObject(ref)) return Result.succeed(undefined)
  const { core, route } = exchange
  const [apiVersion, name, uid] = [stringAt(ref, "apiVersion"), stringAt(ref, "name"), stringAt(ref, "uid")]
  const type = stringAt(ref, "kind")
  if (!isBindable(type) || apiVersion.includes("/")) {
    const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion]
    return Result.fail(StatusError.badRequest(
      `cannot bind token to object of type ${group}/${version}, Kind=${type}`
    ))
  }
  const plural = plurals[type]
  const object = core.storage.get(plural, Exchange.storageKey(type === "Node" ? "" : route.namespace, name))
  if (object === undefined) return Result.fail(StatusError.notFound({ group: "", plural }, name))
  if (type === "Pod" && stringAt(object, "spec", "serviceAccountName") !== route.name) {
    return Result.fail(StatusError.badRequest(
      `cannot bind token for serviceaccount ${
        FieldError.quote(route.name)
      } to pod running with different serviceaccount name.`
    ))
  }
  return uid === "" || uid === object.metadata.uid
    ? Result.succeed({ kind: type, object, node: type === "Pod" ? nodeOf(exchange, object) : undefined })
    : Result.fail(StatusError.conflict(
      { group: "", plural: type },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        "The object might have been deleted and then recreated"
    ))
}

const defaulted = (request: KubeObject): KubeObject =>
  asObject({ ...request, spec: { expirationSeconds: lifetimes.usual, ...objectAt(request, "spec") } })

/** The request with all defaults. */
const completed = (exchange: Exchange.Exchange, request: KubeObject, account: KubeObject): KubeObject => {
  const { managedFields } = request.metadata
  const spec = objectAt(request, "spec")
  const audiences = arrayAt(spec, "audiences")
  const { name, namespace, uid } = account.metadata
  return asObject({
    kind: request.kind,
    apiVersion: request.apiVersion,
    metadata: {
      name,
      namespace,
      uid,
      creationTimestamp: Exchange.timestamp(exchange.now),
      ...(managedFields === undefined ? {} : { managedFields })
    },
    spec: {
      audiences: audiences.length === 0 ? [audience] : audiences,
      expirationSeconds: spec["expirationSeconds"],
      boundObjectRef: spec["boundObjectRef"] ?? null
    },
    status: { token: "", expirationTimestamp: null }
  })
}

/** POST of a TokenRequest. */
export const create: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, now, random, resource, route } = exchange
  const options = yield* Exchange.writeOptions(exchange, "CreateOptions")
  const asked = { ...exchange, resource: requests(resource) }
  const body = yield* Body.read(asked, options)
  const owned = yield* Ownership.created(asked, options, defaulted(body))
  const admission = { dryRun: options.dryRun, kind }
  const request = yield* Admission.admit(
    core,
    Admission.attributes(exchange, "CREATE", { ...admission, object: owned }),
    owned
  )
  const misplaced = placeFault(exchange, request)
  if (misplaced !== undefined) return yield* Effect.fail(misplaced)
  const account = core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name))
  if (account === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const uid = stringAt(request, "metadata", "uid")
  if (uid !== "" && uid !== account.metadata.uid) {
    return yield* Effect.fail(StatusError.conflict(
      { group: kind.group, plural: kind.kind },
      route.name,
      `the UID in the token request (${uid}) does not match the UID of the service account (${account.metadata.uid})`
    ))
  }
  const full = completed(exchange, request, account)
  const seconds = Number(at(full, "spec", "expirationSeconds"))
  const brief = lifetimeFault(seconds)
  if (brief !== undefined) return yield* Effect.fail(brief)
  yield* Admission.review(core, Admission.attributes(exchange, "CREATE", { ...admission, object: full }))
  const bound = yield* Effect.fromResult(boundTo(exchange, at(full, "spec", "boundObjectRef")))
  const audiences = arrayAt(full, "spec", "audiences").map(String)
  const extend = bound?.kind === "Pod" && seconds === extended.asked && audiences.every((name) => name === audience)
  const id = Exchange.uuid(random)
  const token = core.tokens.issue({
    account,
    bound,
    audiences,
    expirationSeconds: extend ? extended.given : seconds,
    warnAfterSeconds: extend ? seconds : undefined,
    now,
    id
  })
  exchange.annotations.set("authentication.kubernetes.io/issued-credential-id", `JTI=${id}`)
  return {
    _tag: "Plain",
    status: 201,
    body: { ...full, status: { token, expirationTimestamp: Exchange.timestamp(now + seconds * 1000) } }
  } as const
})
