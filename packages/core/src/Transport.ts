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

/** The last two are for servers to answer; no client of the API needs them. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS"

/**
 * What a reader of objects does not need. A transport may make use of it or not: the response is right either way, and
 * the reader must still drop what it may not keep.
 */
export interface Reading {
  /** Paths that nobody will read, in each object of a list or watch, such as `metadata.managedFields`. */
  readonly without: ReadonlyArray<string>
  /** The objects may be `Unparsed`: most of them will never be read. */
  readonly lazily?: boolean | undefined
  /**
   * Called with the token as soon as it is known that another page of a list follows, maybe before the objects of this
   * page are known: time to request it.
   */
  readonly onContinue?: ((token: string) => Effect.Effect<void>) | undefined
}

/** Input of a process in a container. */
export interface Process {
  /** All of its standard input; absent if it has none. */
  readonly stdin?: string | undefined
}

/** The result of a process. */
export interface Ended {
  readonly stdout: string
  readonly stderr: string
  /** For a failure of reason `NonZeroExitCode`, the cause `ExitCode` has the exit code. */
  readonly status: Status
}

export interface Request {
  readonly method: Method
  /** Starts with `/`; segments are percent-encoded; no query. */
  readonly path: string
  /** Query parameters, not encoded, in order; a name may repeat. */
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  /** Names in lower case. The transport adds credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON value; absent for none. A transport must not keep or change it. */
  readonly body?: unknown
  /**
   * Whether it may be sent, called each time right before that. If not, nothing is sent, and there is no response. A
   * transport that sends at once need not call it.
   */
  readonly permit?: (() => boolean) | undefined
  /** For a list or watch whose objects are kept; absent if the whole response is wanted. */
  readonly reading?: Reading | undefined
  /** For a streamed request: the values are lines of text, without line ends, instead of JSON values. */
  readonly lines?: boolean | undefined
  /** For a request that starts a process (`exec`): the body of a successful response is an `Ended`. */
  readonly process?: Process | undefined
}

export interface Response {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The JSON value; text if the body is not JSON; absent if there is none. Must not be changed. */
  readonly body?: unknown
}

/** The response to a request whose successful body is a sequence of JSON values (a watch), or of lines of text. */
export interface StreamResponse extends Response {
  /** The values as they arrive, in the arrays in which they came off the socket. Empty unless `status` is 200. */
  readonly values: Stream.Stream<unknown, TransportFailed>
}

export class Transport extends Context.Service<Transport, {
  /** One request, one response, whatever its status. Fails only if there is no response. */
  readonly request: (request: Request) => Effect.Effect<Response, TransportFailed>
  /** Opens a streamed response. Closing the scope closes the connection. */
  readonly stream: (request: Request) => Effect.Effect<StreamResponse, TransportFailed, Scope.Scope>
}>()("@effect-operator/core/Transport") {}
