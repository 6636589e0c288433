/**
 * `Failure`: why a command cannot do what it was asked to, as one message that names the thing, its value and the
 * remedy. It is printed without a stack, and the process exits with 1.
 */
import * as CliError from "effect/cli/CliError"
import type * as PlatformError from "effect/PlatformError"

export type Failure = CliError.UserError

export const make = (message: string): Failure => new CliError.UserError({ cause: message, userMessage: message })

/** About a file: `cannot read deploy/crd.yaml: EACCES: permission denied, …`. */
export const ofFile = (doing: string, file: string) => ({ message, reason }: PlatformError.PlatformError): Failure =>
  make(`cannot ${doing} ${file}: ${reason.cause instanceof Error ? reason.cause.message : message}`)
