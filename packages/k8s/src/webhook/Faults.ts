/**
 * `Faults`: what is wrong with the fields of an object, in the words of an API server.
 *
 * A hook collects faults, each made by one of the functions here, and `denyFaults` refuses the request because of all of
 * them. Users then see the same as for a fault that the server finds: `spec.size: Invalid value: 0: must be at least 1`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as FieldError from "../schema/FieldError.ts"
import { type Denied, deny } from "./Hook.ts"

export {
  duplicate,
  type FieldError as Fault,
  forbidden,
  invalid,
  notSupported,
  required
} from "../schema/FieldError.ts"

/** Denies the request if there are faults: the message and the causes have all of them. Without any, it does nothing. */
export const denyFaults = (
  object: KubeObject,
  faults: ReadonlyArray<FieldError.FieldError>
): Effect.Effect<void, Denied> => {
  if (faults.length === 0) return Effect.void
  const [, group] = /^([^/]*)\//.exec(object.apiVersion) ?? []
  const kind = group === undefined ? object.kind : `${object.kind}.${group}`
  return deny(
    `${kind} ${FieldError.quote(object.metadata.name)} is invalid: ${FieldError.aggregate(faults)}`,
    {
      causes: faults.map((fault) => ({
        ...FieldError.toCause(fault),
        field: fault.field,
        message: FieldError.body(fault)
      }))
    }
  )
}
