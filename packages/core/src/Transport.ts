/**
 * `Transport`: the seam between the typed client and whatever answers it.
 *
 * A transport moves plain JSON and knows nothing of kinds. There are two: the live one speaks HTTP to an API server,
 * and the test one calls the in-memory API server directly. Everything above (paths, options, errors, decoding) is
 * shared and lives in `KubeClient`, so a program cannot tell the two apart.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Transport as TransportFailed } from "./KubeError.ts"
import type { Status } from "./Status.ts"

/** The last two are a server's to answer; no client of an API needs them. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS"

/**
 * What a reader of objects does without. A transport may make use of it or not: the answer is right either way, and what
 * must not be there is still the reader's to drop.
 */
export interface Reading {
  /** Paths in each object of a list or watch of what nobody will look at, such as `metadata.managedFields`. */
  readonly without: ReadonlyArray<string>
  /** The objects may be `Unparsed`: most of them will never be looked at. */
  readonly lazily?: boolean | undefined
  /**
   * Runs once it is known that another page of a list follows, with its token, maybe before the objects of this page are:
   * time to ask for it.
   */
  readonly onContinue?: ((token: string) => Effect.Effect<void>) | undefined
}

/** What a process in a container is given. */
export interface Process {
  /** All that it reads from its standard input, which ends there; absent where it has none. */
  readonly stdin?: string | undefined
}

/** What a process has come to. */
export interface Ended {
  readonly stdout: string
  readonly stderr: string
  /** A failure of reason `NonZeroExitCode` has the exit code as its cause `ExitCode`. */
  readonly status: Status
}

export interface Request {
  readonly method: Method
  /** Starts with `/`; segments are percent-encoded; no query. */
  readonly path: string
  /** Query parameters, not encoded, in order; a name may repeat. */
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  /** Names in lower case. Credentials are the transport's business. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON value; absent for none. A transport must not keep or change it. */
  readonly body?: unknown
  /**
   * Whether it may go out, asked each time right before it does: where it may not any more, nothing is sent, and there is
   * no answer. A transport that sends at once need not ask.
   */
  readonly permit?: (() => boolean) | undefined
  /** Of a list or watch whose objects are kept: absent where all of the answer is wanted as it is. */
  readonly reading?: Reading | undefined
  /** Of a streamed request: the values are lines of text, without their ends, instead of JSON values. */
  readonly lines?: boolean | undefined
  /** Of a request that begins a process (`exec`): the body of a successful answer is what it has `Ended` with. */
  readonly process?: Process | undefined
}

export interface Response {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The JSON value; text where the body is no JSON; absent where there is none. Must not be changed. */
  readonly body?: unknown
}

/** The answer to a request whose successful body is a sequence of JSON values (a watch), or of lines of text. */
export interface StreamResponse extends Response {
  /** The values as they arrive, in arrays as they came off the socket. Empty unless `status` is 200. */
  readonly values: Stream.Stream<unknown, TransportFailed>
}

export class Transport extends Context.Service<Transport, {
  /** One request, one answer, whatever its status. Fails only when there is no answer. */
  readonly request: (request: Request) => Effect.Effect<Response, TransportFailed>
  /** Opens a streamed answer. Closing the scope closes the connection. */
  readonly stream: (request: Request) => Effect.Effect<StreamResponse, TransportFailed, Scope.Scope>
}>()("@effect-operator/core/Transport") {}
