/**
 * `ApplyPatch`: server-side apply, from the options and body of a request to the object to store.
 *
 * The body is YAML, and therefore may be JSON. It arrives as text over a network, or as a value in the same process.
 * Duplicate keys are refused or reported as warnings, depending on `fieldValidation`, after the configuration was
 * applied.
 *
 * A configuration that does not match the kind's schema gets a 500: unknown fields and wrong types are neither pruned
 * nor reported as causes, unlike everywhere else.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go (`applyPatcher`) and
 * k8s.io/apimachinery/pkg/util/managedfields/internal/{versioncheck,structuredmerge}.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Bodies from "../../../api/Bodies.ts"
import { asObject, at, copy, stringAt } from "../../../api/Plain.ts"
import { flag } from "../../../api/Routing.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as YamlBody from "../../../api/YamlBody.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Checking from "../../apply/Checking.ts"
import * as Problems from "../../apply/Problems.ts"
import type { Type } from "../../apply/Types.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf } from "../Registry.ts"
import * as Restoring from "../go/Restoring.ts"
import * as Body from "./Body.ts"
import * as Ownership from "./Ownership.ts"

type Refused = StatusError.StatusError

export const contentType = "application/apply-patch+yaml"

/** Whether a request is a server-side apply. */
export const isApply = ({ request }: Exchange.Exchange): boolean =>
  (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase() === contentType

/** The configuration to apply, and the options. */
export interface Apply {
  readonly options: Exchange.WriteOptions
  readonly force: boolean
  readonly config: JsonValue.JsonObject
}

const noObject = (value: unknown): string => {
  const found = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value
  return "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
    `${found} into Go value of type map[string]interface {}`
}

const readBody = (body: unknown): Effect.Effect<YamlBody.Parsed, Refused> => {
  const refused = (said: string) => Effect.fail(StatusError.badRequest(`error decoding YAML: ${said}`))
  const parsed = typeof body === "string" ? YamlBody.parse(body) : { value: copy(body), repeated: [] }
  if (!("error" in parsed) && JsonValue.isDeeper(parsed.value)) return refused(Bodies.tooDeep)
  return "error" in parsed
    ? refused(parsed.error)
    : Effect.succeed(parsed)
}

/** A decoded apply request. */
export interface Request {
  readonly apply: Apply
  /** The messages about duplicate keys. */
  readonly repeated: ReadonlyArray<string>
}

/** Decodes the body. `fault` checks whether the configuration matches the resource. */
export const read = Effect.fnUntraced(function*(exchange: Exchange.Exchange, options: Exchange.WriteOptions) {
  const { repeated, value } = yield* readBody(exchange.request.body)
  const config = value ?? {}
  if (!JsonValue.isObject(config)) {
    return yield* Effect.fail(StatusError.badRequest(`error decoding YAML: ${noObject(config)}`))
  }
  return { apply: { options, force: flag(exchange.request, "force"), config }, repeated } satisfies Request
})

/** A kind as Go prints it: `apps/v1, Kind=Deployment`. */
const printKind = (config: JsonValue.JsonObject): string => {
  const apiVersion = stringAt(config, "apiVersion")
  const kind = stringAt(config, "kind")
  const slashes = apiVersion.split("/").length - 1
  if (slashes > 1) return "/, Kind="
  return `${slashes === 1 ? apiVersion : `/${apiVersion}`}, Kind=${kind}`
}

/**
 * The fault of a configuration. If the stored object does not match its own schema (`unfit`), that is reported before
 * schema faults of the configuration if the object has no owners, and after them otherwise.
 */
export const fault = (
  expected: { readonly apiVersion: string; readonly kind: string },
  type: Type,
  config: JsonValue.JsonObject,
  unfit?: { readonly live: KubeObject; readonly why: string }
): Refused | undefined => {
  if (Bodies.apiVersionOf(config) !== expected.apiVersion || config["kind"] !== expected.kind) {
    return StatusError.badRequest(`invalid object type: ${printKind(config)}`)
  }
  const live = { ...unfit?.live }
  // Fields without an owner get one first, which the object must match its schema for.
  if (unfit !== undefined && (unfit.live.metadata.managedFields ?? []).length === 0) {
    return StatusError.plain(
      `failed to create manager for existing fields: failed to convert new object (${named(live)}; ` +
        `${printKind(live)}) to smd typed: ${unfit.why}`
    )
  }
  if ((at(config, "metadata", "managedFields") ?? null) !== null) {
    return StatusError.badRequest("metadata.managedFields must be nil")
  }
  const problems = Checking.problems(type, config, "refused")
  if (problems.length > 0) {
    return StatusError.plain(
      `failed to create typed patch object (${named(config)}; ${printKind(config)}): ${Problems.message(problems)}`
    )
  }
  return unfit === undefined
    ? undefined
    : StatusError.plain(`failed to create typed live object (${named(live)}; ${printKind(live)}): ${unfit.why}`)
}

const named = (config: JsonValue.JsonObject): string =>
  `${stringAt(config, "metadata", "namespace")}/${stringAt(config, "metadata", "name")}`

/** The message if the merged object cannot be converted. */
export const unconverted = (config: JsonValue.JsonObject, why: string): string =>
  `failed to convert new object (${named(config)}; ${printKind(config)}) to proper version: ${why}`

/** The message if the merged object cannot be decoded although the configuration passed its schema. */
export const undecodable = (config: JsonValue.JsonObject, text: string): string =>
  unconverted(config, `unable to convert unstructured object to ${printKind(config)}: ${Restoring.word(text)}`)

/** Handles duplicate keys: a 400 with strict validation, a warning each by default, nothing if they are ignored. */
export const repeatedKeys = (
  { warnings }: Pick<Exchange.Exchange, "warnings">,
  { apply, repeated }: Request
): Refused | undefined => {
  const { fieldValidation } = apply.options
  const fault = YamlBody.repeatedFault(repeated)
  if (fieldValidation === "Warn") warnings.push(...repeated)
  return fieldValidation === "Strict" && fault !== undefined
    ? StatusError.badRequest(`error strict decoding YAML: error converting YAML to JSON: ${fault}`)
    : undefined
}

/** Unknown fields were refused earlier, so those in the merged object are allowed. */
const silent = (options: Exchange.WriteOptions): Exchange.WriteOptions => ({ ...options, fieldValidation: "Ignore" })

/** The object after an apply to the stored one, or to none, with the checks of any other body. */
export const next = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  request: Request,
  stored: KubeObject | undefined
) {
  const { config, force, options } = request.apply
  const apiVersion = apiVersionOf(exchange.resource)
  const { kind } = exchange.resource
  const why = Ownership.unfit(exchange, stored)
  const unfit = stored === undefined || why === undefined ? undefined : { live: stored, why }
  const refused = fault({ apiVersion, kind }, Ownership.typeOf(exchange.resource), config, unfit)
  if (refused !== undefined) return yield* Effect.fail(refused)
  const { entries, object } = yield* Ownership.applied(exchange, options, stored, config, force)
  const strict = repeatedKeys(exchange, request)
  if (strict !== undefined) return yield* Effect.fail(strict)
  if (object === undefined && stored !== undefined) return Ownership.withEntries(stored, entries)
  const unreadable = (text: string) =>
    StatusError.plain(exchange.resource.custom === undefined ? undecodable(config, text) : text)
  const read = yield* Body.decode(exchange, silent(options), object ?? config, StatusError.plain, true).pipe(
    Effect.mapError((error) => error.status === 400 ? unreadable(error.body.message ?? "") : error)
  )
  const placed = yield* Bodies.placed(exchange, asObject({ ...read }))
  yield* Bodies.named(exchange, placed)
  return Ownership.withEntries(placed, entries)
})
