/**
 * `DeletionOptions`: the options of a delete, from the request's body or, without a body, from its query.
 *
 * A body is decoded as the Go type would be: a field of the wrong type, or a body of another kind, refuses the request.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/delete.go; k8s.io/apimachinery/pkg/apis/meta/v1 (conversion.go,
 * validation).
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Result from "effect/Result"
import type { DeleteOptions } from "./Deletion.ts"
import * as FieldError from "../schema/FieldError.ts"
import * as GoInt64 from "../schema/GoInt64.ts"
import * as GoFault from "../schema/GoFault.ts"
import { isObject, type JsonObject } from "../schema/JsonValue.ts"
import * as Parameters from "./Parameters.ts"
import { arrayAt, at, stringAt } from "./Plain.ts"
import { flag, parameter } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"
import { dryRunFaults } from "./WriteOptions.ts"

type Refused = StatusError.StatusError

/** The options in the query. */
const ofQuery = (request: Pick<Request, "query">): Result.Result<DeleteOptions, Refused> =>
  Result.map(Parameters.integer(request, "gracePeriodSeconds"), (grace) => {
    const policy = parameter(request, "propagationPolicy")
    const [uid = "", resourceVersion = ""] = [parameter(request, "uid"), parameter(request, "resourceVersion")]
    return {
      ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
      ...(parameter(request, "orphanDependents") === undefined
        ? {}
        : { orphanDependents: flag(request, "orphanDependents") }),
      ...(policy === undefined ? {} : { propagationPolicy: policy }),
      ...(uid === "" ? {} : { uid }),
      ...(resourceVersion === "" ? {} : { resourceVersion }),
      dryRun: request.query.filter(([name]) => name === "dryRun").map(([, value]) => value)
    }
  })

const isBoolean = (value: unknown): boolean => typeof value === "boolean"
const isText = (value: unknown): boolean => typeof value === "string"

/** The fields of the Go type that are read. */
const types: ReadonlyArray<readonly [path: ReadonlyArray<string>, type: string, fits: (value: unknown) => boolean]> = [
  [["gracePeriodSeconds"], "int64", GoInt64.is],
  [["preconditions"], "v1.Preconditions", isObject],
  [["preconditions", "uid"], "types.UID", isText],
  [["preconditions", "resourceVersion"], "string", isText],
  [["orphanDependents"], "bool", isBoolean],
  [["propagationPolicy"], "v1.DeletionPropagation", isText],
  [["dryRun"], "[]string", Array.isArray]
]

const typeFault = (body: JsonObject): string | undefined => {
  for (const [path, type, fits] of types) {
    const value = at(body, ...path)
    if (value !== undefined && value !== null && !fits(value)) {
      return GoFault.wrong(value, type, `.${path.join(".")}`, "DeleteOptions").message
    }
  }
  return undefined
}

/** Why a body is not DeleteOptions. Its group and version do not matter. */
const kindFault = (body: JsonObject): string | undefined => {
  const kind = stringAt(body, "kind") || "DeleteOptions"
  const version = stringAt(body, "apiVersion") || "meta.k8s.io/v1"
  if (kind === "DeleteOptions") return undefined
  return kind === "Status"
    ? "converting (v1.Status) to (v1.DeleteOptions): unknown conversion"
    : `no kind ${FieldError.quote(kind)} is registered for version ${FieldError.quote(version)} in scheme ` +
      "\"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
}

/** The options in an object. */
export const of = (body: JsonObject): DeleteOptions => {
  const [grace, orphan, policy] = [
    at(body, "gracePeriodSeconds"),
    at(body, "orphanDependents"),
    at(body, "propagationPolicy")
  ]
  const [uid, resourceVersion] = [at(body, "preconditions", "uid"), at(body, "preconditions", "resourceVersion")]
  return {
    ...(typeof grace === "number" ? { gracePeriodSeconds: grace } : {}),
    ...(typeof orphan === "boolean" ? { orphanDependents: orphan } : {}),
    ...(typeof policy === "string" ? { propagationPolicy: policy } : {}),
    ...(typeof uid === "string" ? { uid } : {}),
    ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
    dryRun: arrayAt(body, "dryRun").map(String)
  }
}

const policies = ["Foreground", "Background", "Orphan"]

const faults = (options: DeleteOptions): ReadonlyArray<FieldError.FieldError> => {
  const { dryRun, orphanDependents, propagationPolicy } = options
  return [
    ...(orphanDependents !== undefined && propagationPolicy !== undefined
      ? [FieldError.invalid(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set"
      )]
      : []),
    ...(propagationPolicy !== undefined && !policies.includes(propagationPolicy)
      ? [FieldError.notSupported("propagationPolicy", propagationPolicy, [...policies, "nil"])]
      : []),
    ...dryRunFaults(dryRun)
  ]
}

/** The options, or why they are invalid. */
export const judged = (options: DeleteOptions): Result.Result<DeleteOptions, Refused> => {
  const found = faults(options)
  return found.length > 0 ? Result.fail(StatusError.invalidOptions("DeleteOptions", found)) : Result.succeed(options)
}

/** The options of a request, or why it is refused. */
export const read = (request: Pick<Request, "query" | "body">): Result.Result<DeleteOptions, Refused> => {
  const { body } = request
  if (body !== undefined && body !== "" && body !== null && !isObject(body)) {
    return Result.fail(StatusError.badRequest("the body of a deletion must be DeleteOptions"))
  }
  const unreadable = isObject(body) ? kindFault(body) ?? typeFault(body) : undefined
  if (unreadable !== undefined) return Result.fail(StatusError.badRequest(unreadable))
  return Result.flatMap(isObject(body) ? Result.succeed(of(body)) : ofQuery(request), judged)
}
