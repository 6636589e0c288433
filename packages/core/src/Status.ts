/**
 * `Status` (meta/v1): the body of every error of an API server, and of some successful deletions.
 *
 * Source: sig-architecture/api-conventions.md, "Response Status Kind".
 */

/** One of several causes of a failure; for `Invalid`, one per field. */
export interface StatusCause {
  readonly reason?: string
  readonly message?: string
  readonly field?: string
}

/** What a failure is about. In most responses `kind` holds the resource (`pods`), not the kind. */
export interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: ReadonlyArray<StatusCause>
  readonly retryAfterSeconds?: number
}

/** The body itself. `code` is the HTTP code. */
export interface Status {
  readonly kind: "Status"
  readonly apiVersion: "v1"
  readonly metadata: { readonly resourceVersion?: string }
  readonly status: "Success" | "Failure"
  readonly message?: string
  readonly reason?: string
  readonly details?: StatusDetails
  readonly code?: number
}

/** Whether a JSON value is a `Status`. */
export const isStatus = (body: unknown): body is Status =>
  typeof body === "object" && body !== null && (body as { kind?: unknown }).kind === "Status" &&
  (body as { apiVersion?: unknown }).apiVersion === "v1"
