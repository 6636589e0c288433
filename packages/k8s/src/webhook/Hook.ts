/**
 * `Hook`: a webhook as a program declares it: an Effect on objects of a kind, decoded by the kind's Schema.
 *
 * - `validating` checks a write, and fails with `deny(…)` to refuse it;
 * - `mutating` returns the object as it should be; the server gets the JSON patch to it. Returning the given object
 *   changes nothing; a rebuilt object includes the Schema's defaults. Fields that the Schema does not know stay;
 * - `conversion` converts an object of a kind from one version to another.
 *
 * A hook is data: `Configurations` registers it, `Manifests` deploys it, `WebhookServer` serves it over HTTPS, and the
 * test layer calls it without a socket.
 *
 * Only `deny` denies. A hook that fails otherwise, dies or takes too long has given no verdict, and the response is an
 * HTTP error: then the server applies `failurePolicy`.
 *
 * A hook is never called with an object that does not decode. Such an object is denied, with every fault and its path.
 * An update is denied only for faults that it introduces (see `Ratcheting`); otherwise it is admitted unchanged, with a
 * warning. An old object that does not decode is absent, so that it can be corrected.
 *
 * A hook may be called for a write that is refused later, called twice, or called for a dry run: it must change nothing
 * outside the object unless its `sideEffects` say so.
 */
import type { JsonPatchOperation } from "@effect-operator/core/KubeClient"
import * as CustomResourceVersions from "@effect-operator/core/CustomResourceVersions"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as JsonPatch from "effect/JsonPatch"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Conversion from "./Conversion.ts"
import * as Ratcheting from "./Ratcheting.ts"
import * as Review from "./Review.ts"
import * as Scaled from "./Scaled.ts"

/** Defaults, unless options override them. */
export const defaults = {
  operations: ["CREATE", "UPDATE"],
  /** How long the server waits for a hook, in seconds, 1 to 30. */
  timeoutSeconds: 10,
  failurePolicy: "Fail"
} as const

export type Operation = Review.Operation

interface Common {
  readonly uid: string
  /**
   * The object's name, also if it is one of a collection that is deleted. Empty, as is `object.metadata.name`, if the
   * server has yet to generate it from `generateName`.
   */
  readonly name: string
  readonly namespace: string | undefined
  /** `status` or `scale`, if the hook covers writes of it. */
  readonly subresource: string | undefined
  readonly user: Review.User
  /** True if nothing will be stored. */
  readonly dryRun: boolean
  /** The objects as received. */
  readonly raw: { readonly object: Review.JsonObject | undefined; readonly old: Review.JsonObject | undefined }
  readonly options: Review.JsonObject | undefined
  /** Shows the user a warning, whatever the outcome of the request; kubectl prints it. Best below 120 characters. */
  readonly warn: (message: string) => Effect.Effect<void>
  /** Adds to the audit event of the request, under the hook's name. */
  readonly audit: (key: string, value: string) => Effect.Effect<void>
}

/** The request of a hook, discriminated by `operation`. An `old` object that does not decode is absent. */
export type Request<A, Op extends Operation = Operation> = Op extends "CREATE"
  ? Common & { readonly operation: "CREATE"; readonly object: A; readonly old: undefined }
  : Op extends "UPDATE" ? Common & { readonly operation: "UPDATE"; readonly object: A; readonly old: A | undefined }
  : Common & { readonly operation: "DELETE"; readonly object: undefined; readonly old: A | undefined }

/** How a hook is registered with the server: see ValidatingWebhook in the API. */
export interface Registration {
  readonly operations: ReadonlyArray<Operation>
  readonly resources: ReadonlyArray<string>
  readonly timeoutSeconds: number
  readonly failurePolicy: "Fail" | "Ignore"
  readonly matchPolicy: "Equivalent" | "Exact"
  readonly sideEffects: "None" | "NoneOnDryRun"
  /** All namespaces by default; for a built-in kind, all but `kube-system` and the operator's own. */
  readonly namespaceSelector?: Review.JsonObject | undefined
  readonly objectSelector?: Review.JsonObject | undefined
  readonly matchConditions?: ReadonlyArray<{ readonly name: string; readonly expression: string }> | undefined
  /** For a mutating hook: whether it is called again if a later one has changed the object. */
  readonly reinvocationPolicy?: "Never" | "IfNeeded" | undefined
}

export interface Options<Ops extends ReadonlyArray<Operation>>
  extends Partial<Omit<Registration, "operations" | "resources" | "reinvocationPolicy">>
{
  /** Unique among all hooks, with at least two dots; `validate.<kind>.<group>` by default. */
  readonly name?: string | undefined
  /** The URL path; by default made of group, version and kind, as in kubebuilder. */
  readonly path?: string | undefined
  readonly operations?: Ops | undefined
  /** Also covers writes of the status subresource. */
  readonly status?: boolean | undefined
}

interface ScaleOption {
  /**
   * Also covers writes of the scale subresource, which `kubectl scale` and autoscalers use: the hook gets the object
   * with the new replicas. The object is read for that, so the operator needs `get` on the kind, which the manifests
   * grant. `matchConditions` and `objectSelector` see the Scale that the server sends: a spec with only `replicas`, and
   * no labels.
   */
  readonly scale?: boolean | undefined
}

export interface Hook<out R = never> {
  readonly _tag: "Validating" | "Mutating" | "Conversion"
  readonly name: string
  readonly path: string
  readonly resource: Resource.Any
  /** Absent for a conversion, which is registered in the definition of the kind. */
  readonly registration: Registration | undefined
  /** From review to review; fails with `BadReview` if the input is not a review. */
  readonly answer: (review: unknown) => Effect.Effect<Review.JsonObject, unknown, R>
}

/** A hook with any requirements. */
export type Any = Hook<any>

/** The requirements of hooks. */
export type RequirementsOf<H> = H extends Hook<infer R> ? R : never

/** The body is not a review that this hook can answer. */
export class BadReview extends Data.TaggedError("BadReview")<{ readonly message: string }> {}

/** The request is denied. */
export class Denied extends Data.TaggedError("Denied")<Review.Denial> {}

const codes: Readonly<Record<string, number>> = {
  BadRequest: 400,
  Forbidden: 403,
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500
}

/**
 * Denies the request: `return yield* deny("a database may not shrink")`. Reason and code are those of Forbidden by
 * default, and with causes those of Invalid: then kubectl shows the causes, as for any invalid object, instead of the
 * message.
 */
export const deny = (
  message: string,
  options: {
    readonly reason?: string | undefined
    readonly code?: number | undefined
    readonly causes?: ReadonlyArray<Review.Cause> | undefined
  } = {}
): Effect.Effect<never, Denied> => {
  const { causes = [], reason = causes.length === 0 ? "Forbidden" : "Invalid" } = options
  return Effect.fail(new Denied({ message, reason, causes, code: options.code ?? codes[reason] ?? 403 }))
}

type Written = "CREATE" | "UPDATE"

// Two overloads, because TypeScript infers a request's type before it applies the default of a type parameter.
interface Validating {
  <A extends KubeObject, E, R>(
    resource: Resource.Resource<A>,
    options: Omit<Options<[]>, "operations"> & ScaleOption & {
      readonly operations?: undefined
      readonly validate: (request: Request<A, Written>) => Effect.Effect<void, E, R>
    }
  ): Hook<R>
  <A extends KubeObject, E, R, const Ops extends ReadonlyArray<Operation>>(
    resource: Resource.Resource<A>,
    options: Options<Ops> & ScaleOption & {
      readonly operations: Ops
      readonly validate: (request: Request<A, Ops[number]>) => Effect.Effect<void, E, R>
    }
  ): Hook<R>
}

/** Validates writes of a kind. Success allows, `deny` refuses; any other failure is no verdict. */
export const validating: Validating = <A extends KubeObject, E, R>(
  resource: Resource.Resource<A>,
  options: Options<ReadonlyArray<Operation>> & ScaleOption & {
    readonly validate: (request: never) => Effect.Effect<void, E, R>
  }
): Hook<R> =>
  admission("Validating", resource, options, (asked) => Effect.as(options.validate(asked as never), undefined))

interface Mutating {
  <A extends KubeObject, E, R>(
    resource: Resource.Resource<A>,
    options: Omit<Options<[]>, "operations"> & Pick<Registration, "reinvocationPolicy"> & {
      readonly operations?: undefined
      readonly mutate: (request: Request<A, Written>) => Effect.Effect<A | void, E, R>
    }
  ): Hook<R>
  <A extends KubeObject, E, R, const Ops extends ReadonlyArray<Written>>(
    resource: Resource.Resource<A>,
    options: Options<Ops> & Pick<Registration, "reinvocationPolicy"> & {
      readonly operations: Ops
      readonly mutate: (request: Request<A, Ops[number]>) => Effect.Effect<A | void, E, R>
    }
  ): Hook<R>
}

/** Changes writes of a kind. Returns the object as it should be, or nothing to leave it unchanged. */
export const mutating: Mutating = <A extends KubeObject, E, R>(
  resource: Resource.Resource<A>,
  options: Options<ReadonlyArray<Operation>> & Pick<Registration, "reinvocationPolicy"> & {
    readonly mutate: (request: never) => Effect.Effect<A | void, E, R>
  }
): Hook<R> =>
  admission("Mutating", resource, options, (asked) =>
    Effect.flatMap(options.mutate(asked as never), (object) => {
      if (object === undefined || object === asked.object) return Effect.undefined
      const encoded = resource.encode(object)
      return Result.isSuccess(encoded)
        ? Effect.succeed(difference(asked.raw.object ?? {}, withoutEmptyName(encoded.success)))
        : Effect.die(
          new Error(`the mutated object is not a valid ${resource.kind}: ${encoded.failure.issues.join("; ")}`)
        )
    }))

export interface ConversionOptions<E, R> {
  readonly path?: string | undefined
  readonly convert: (object: KubeObject, desiredApiVersion: string) => Effect.Effect<KubeObject, E, R>
}

/**
 * Converts objects of a kind between its versions: by the conversions declared with the versions, or by your own
 * function, which gets one object at a time and fails with the reason if it cannot be converted.
 */
export function conversion(
  versions: CustomResourceVersions.CustomResourceVersions,
  options?: { readonly path?: string | undefined }
): Hook
export function conversion<E, R>(resource: Resource.Any, options: ConversionOptions<E, R>): Hook<R>
export function conversion<E, R>(
  declared: Resource.Any | CustomResourceVersions.CustomResourceVersions,
  options: Partial<ConversionOptions<E, R>> = {}
): Hook<R> {
  const resource = "versions" in declared ? declared.storage : declared
  const convert = "versions" in declared
    ? (object: KubeObject, desired: string): Effect.Effect<KubeObject, unknown, R> =>
      Effect.fromResult(CustomResourceVersions.convert(declared, object, desired))
    : options.convert!
  return {
    _tag: "Conversion",
    name: `convert.${nameSuffix(resource)}`,
    path: options.path ?? `/convert-${slug(resource.group)}-${resource.kind.toLowerCase()}`,
    resource,
    registration: undefined,
    answer: (review) =>
      Result.match(Conversion.parse(review), {
        onFailure: (message) => Effect.fail(new BadReview({ message })),
        onSuccess: (asked) => Conversion.answer(asked, convert)
      })
  }
}

/** The name of an object; empty if it has none. */
const nameIn = (json: unknown): string => {
  const { metadata } = (json ?? {}) as { readonly metadata?: { readonly name?: unknown } | null }
  return typeof metadata?.name === "string" ? metadata.name : ""
}

/** An object of a type that requires a name. */
const withName = <A extends object>(object: A): A =>
  nameIn(object) === ""
    ? { ...object, metadata: { ...(object as Partial<KubeObject>).metadata, name: "" } }
    : object

/** Undoes `withName`. */
const withoutEmptyName = (object: unknown): unknown => {
  const { metadata: { name, ...metadata }, ...rest } = object as KubeObject
  return name === "" ? { ...rest, metadata } : object
}

/** The JSON patch from one value to another. */
export const difference = (before: unknown, after: unknown): ReadonlyArray<JsonPatchOperation> =>
  // Removes undefined values, which JSON does not have.
  JsonPatch.get(plain(before), plain(after)) as ReadonlyArray<JsonPatchOperation>

const plain = (value: unknown): Schema.Json => JSON.parse(JSON.stringify(value)) as Schema.Json

const nameSuffix = ({ group, kind }: Resource.Any): string =>
  `${kind.toLowerCase()}.${group === "" ? "core" : group.includes(".") ? group : `${group}.k8s`}`

const slug = (text: string): string => text.replaceAll(".", "-")

interface Answering {
  readonly object: unknown
  readonly raw: Common["raw"]
}

const admission = <R>(
  tag: "Validating" | "Mutating",
  resource: Resource.Any,
  options: Options<ReadonlyArray<Operation>> & ScaleOption & Pick<Registration, "reinvocationPolicy">,
  run: (asked: Answering) => Effect.Effect<ReadonlyArray<JsonPatchOperation> | undefined, unknown, R>
): Hook<R> => {
  const verb = tag === "Validating" ? "validate" : "mutate"
  const {
    failurePolicy = defaults.failurePolicy,
    matchConditions,
    matchPolicy = "Equivalent",
    name = `${verb}.${nameSuffix(resource)}`,
    namespaceSelector,
    objectSelector,
    operations = defaults.operations,
    path = `/${verb}-${slug(resource.group)}-${resource.version}-${resource.kind.toLowerCase()}`,
    reinvocationPolicy,
    scale = false,
    sideEffects = "None",
    status = false,
    timeoutSeconds = defaults.timeoutSeconds
  } = options
  const refuse = (field: string, value: unknown, must: string) =>
    new Error(
      `Webhook.${verb === "validate" ? "validating" : "mutating"}: ${resource.id}: ${field}: ${
        JSON.stringify(value)
      }: must ${must}`
    )
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}$/.test(name)) {
    throw refuse("name", name, "be a DNS name with at least three parts, such as checks.widgets.example.com")
  }
  if (!/^\/[^?#\s]+$/.test(path)) {
    throw refuse("path", path, "begin with a slash and have no query, fragment or white space")
  }
  if (!(Number.isInteger(timeoutSeconds) && timeoutSeconds >= 1 && timeoutSeconds <= 30)) {
    throw refuse("timeoutSeconds", timeoutSeconds, "be a whole number from 1 to 30")
  }
  if (operations.length === 0) throw refuse("operations", operations, "contain at least one operation")
  const replicas = scale ? Scaled.pathOf(resource) : undefined
  if (scale && replicas === undefined) {
    throw refuse("scale", scale, "be false for a kind that is declared without `scale`")
  }
  if (scale && !operations.includes("UPDATE")) {
    throw refuse("operations", operations, "contain UPDATE: scaling is an update")
  }
  const about = (asked: Review.Asked): Effect.Effect<Review.Asked, unknown> =>
    replicas !== undefined && asked.subresource === "scale"
      ? Scaled.asked(resource, replicas, asked)
      : Effect.succeed(asked)
  return {
    _tag: tag,
    name,
    path,
    resource,
    registration: {
      operations,
      resources: [
        resource.plural,
        ...(status ? [`${resource.plural}/status`] : []),
        ...(scale ? [`${resource.plural}/scale`] : [])
      ],
      timeoutSeconds,
      failurePolicy,
      matchPolicy,
      sideEffects,
      namespaceSelector,
      objectSelector,
      matchConditions,
      reinvocationPolicy
    },
    answer: (review) =>
      Result.match(Review.parse(review), {
        onFailure: (message) => Effect.fail(new BadReview({ message })),
        onSuccess: (asked) =>
          about(named(asked)).pipe(
            Effect.flatMap((asked) =>
              Effect.map(verdict(resource, asked, run), (verdict) => Review.answer(asked, resource, verdict))
            )
          )
      })
  }
}

/** For the deletion of a collection the server names no object. */
const named = (asked: Review.Asked): Review.Asked => ({
  ...asked,
  name: asked.name || nameIn(asked.object) || nameIn(asked.oldObject)
})

const verdict = Effect.fnUntraced(function*<R>(
  resource: Resource.Any,
  asked: Review.Asked,
  run: (asked: Answering) => Effect.Effect<ReadonlyArray<JsonPatchOperation> | undefined, unknown, R>
) {
  const { object: rawObject, oldObject: rawOld, operation, ...rest } = asked
  if (operation === "CONNECT") {
    return yield* new BadReview({ message: `request.operation: CONNECT: no hook of ${resource.kind} is called for it` })
  }
  const decode = (json: Review.JsonObject | undefined) => json === undefined ? undefined : strict(resource, json)
  const decoded = operation === "DELETE" ? undefined : decode(rawObject)
  if (decoded === undefined && operation !== "DELETE") {
    return yield* new BadReview({ message: "request.object: missing" })
  }
  const old = decode(rawOld)
  if (decoded !== undefined && Result.isFailure(decoded)) {
    const before = operation === "UPDATE" && rawOld !== undefined && old !== undefined
      ? { json: rawOld, decoded: old }
      : undefined
    return undecoded(resource, asked.name, decoded.failure.issues, rawObject!, before)
  }
  const warnings: Array<string> = []
  const annotations: Record<string, string> = {}
  const request = {
    ...rest,
    operation,
    object: decoded === undefined ? undefined : withName(decoded.success),
    old: old === undefined || Result.isFailure(old) ? undefined : old.success,
    raw: { object: rawObject, old: rawOld },
    warn: (message: string) =>
      Effect.sync(() => {
        warnings.push(oneLine(message))
      }),
    audit: (key: string, value: string) =>
      Effect.sync(() => {
        annotations[key] = value
      })
  } satisfies Answering & Common & { readonly operation: Operation; readonly old: unknown }
  const outcome = yield* Effect.matchEffect(run(request), {
    onSuccess: (patch): Effect.Effect<Review.Verdict, unknown> => Effect.succeed({ patch }),
    onFailure: (error) => error instanceof Denied ? Effect.succeed({ denied: error }) : Effect.fail(error)
  })
  return { ...outcome, warnings, auditAnnotations: annotations } satisfies Review.Verdict
})

/**
 * Decodes an object strictly. For an object that is being deleted, a resource's decoder ignores violated limits so that
 * a reconciler can clean up, but a hook must not be called with such an object.
 */
const strict = (resource: Resource.Any, json: Review.JsonObject): ReturnType<Resource.Any["decode"]> => {
  if (!Ratcheting.isDeleted(json)) return resource.decode(json)
  const { deletionTimestamp: _, ...metadata } = json["metadata"] as Review.JsonObject
  return Result.flatMap(resource.decode({ ...json, metadata }), () => resource.decode(json))
}

/** The verdict on an object that does not decode: denied if it is new, or if an update introduces a fault. */
const undecoded = (
  { kind }: Resource.Any,
  name: string,
  issues: ReadonlyArray<string>,
  object: Review.JsonObject,
  before: Ratcheting.Before | undefined
): Review.Verdict => {
  const who = name === "" ? kind : `${kind} ${JSON.stringify(name)}`
  const counting = Ratcheting.counting(issues, object, before)
  if (counting.length > 0) {
    const message = `${who} is invalid: ${counting.join("; ")}`
    return { denied: { message, reason: "Invalid", code: 422, causes: counting.map(Ratcheting.parts) } }
  }
  // An object that is being deleted need not be corrected, so there is no warning.
  return before !== undefined && Ratcheting.isDeleted(before.json)
    ? {}
    : { warnings: [oneLine(`${who} was already invalid and is not checked: ${issues.join("; ")}`)] }
}

/** A warning must be a single line: the server drops one with line breaks in its header. */
const oneLine = (message: string): string => message.replaceAll(/\s+/g, " ").trim()
