/**
 * `PatchFailure`: why a patch could not be applied, for all patch types.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go, `applyJSPatch` and `interpretStrategicMergePatchError`.
 */
import * as StatusError from "../StatusError.ts"

/**
 * - `Malformed`: the patch is invalid (400).
 * - `TooLarge`: too many operations (413).
 * - `Unprocessable`: it does not fit the object (422); the response does not contain the message.
 * - `Internal`: it breaks a rule for which the server has no code (500 without a reason).
 */
export interface PatchFailure {
  readonly reason: "Malformed" | "TooLarge" | "Unprocessable" | "Internal"
  readonly message: string
}

export const malformed = (message: string): PatchFailure => ({ reason: "Malformed", message })
export const tooLarge = (message: string): PatchFailure => ({ reason: "TooLarge", message })
export const unprocessable = (message: string): PatchFailure => ({ reason: "Unprocessable", message })
export const internal = (message: string): PatchFailure => ({ reason: "Internal", message })

/** The server's response. */
export const toStatusError = (failure: PatchFailure): StatusError.StatusError => {
  switch (failure.reason) {
    case "Malformed":
      return StatusError.badRequest(failure.message)
    case "TooLarge":
      return StatusError.requestEntityTooLarge(failure.message)
    case "Unprocessable":
      return StatusError.unprocessablePatch
    case "Internal":
      return StatusError.plain(failure.message)
  }
}
