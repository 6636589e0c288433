/** The request and response of an endpoint as plain values, so that tests need no socket. */

export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
}

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

export const text = (status: number, body: string): Answer => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body
})

export const json = (status: number, body: unknown): Answer => ({
  status,
  contentType: "application/json",
  body: `${JSON.stringify(body, undefined, 2)}\n`
})

export const notFound: Answer = text(404, "404 page not found\n")
