/**
 * `Parameters`: numeric query parameters, parsed as Go does.
 *
 * If a parameter is repeated, the first counts. An empty one is invalid.
 *
 * Source: k8s.io/apimachinery/pkg/runtime/conversion.go, strconv.ParseInt.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Result from "effect/Result"
import * as FieldError from "../schema/FieldError.ts"
import { parameter } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"

const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n]

/** Why a text is not a 64-bit integer. */
const fault = (text: string): string | undefined => {
  if (!/^[+-]?\d+$/.test(text)) return "invalid syntax"
  const value = BigInt(text.replace(/^\+/, ""))
  return value < least || value > most ? "value out of range" : undefined
}

/** An integer parameter; undefined if absent, 400 if invalid. */
export const integer = (
  request: Pick<Request, "query">,
  name: string
): Result.Result<number | undefined, StatusError.StatusError> => {
  const text = parameter(request, name)
  if (text === undefined) return Result.succeed(undefined)
  const why = fault(text)
  return why === undefined
    ? Result.succeed(Number(text))
    : Result.fail(StatusError.badRequest(`strconv.ParseInt: parsing ${FieldError.quote(text)}: ${why}`))
}
