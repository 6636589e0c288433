/**
 * `Parameters`: query parameters that are numbers, as Go reads them.
 *
 * Of several of one name the first counts; one that is there and empty is no number either.
 *
 * Source: k8s.io/apimachinery/pkg/runtime/conversion.go, strconv.ParseInt.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Result from "effect/Result"
import * as FieldError from "../schema/FieldError.ts"
import { parameter } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"

const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n]

/** Why a text is no 64-bit integer. */
const fault = (text: string): string | undefined => {
  if (!/^[+-]?\d+$/.test(text)) return "invalid syntax"
  const value = BigInt(text.replace(/^\+/, ""))
  return value < least || value > most ? "value out of range" : undefined
}

/** A whole number; undefined where there is none, 400 where it cannot be read. */
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
