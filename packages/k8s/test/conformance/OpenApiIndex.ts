/** What statements about OpenAPI v3 share: where the document of a group version is. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Answer, Target } from "./Target.ts"

/** By what an answer lists. A server says of its index that it is text, though it is JSON. */
const paths = ({ body }: Answer): Readonly<Record<string, { readonly serverRelativeURL: string }>> =>
  JSON.parse(String(body)).paths

/** The paths of the index, once it has the one of a group version. */
export const indexWith = Effect.fnUntraced(function*(groupVersion: string) {
  const { request, until } = yield* Target
  const answer = yield* until(request("GET", "/openapi/v3"), (answer) => groupVersion in paths(answer))
  assert.strictEqual(answer.headers["content-type"], "text/plain; charset=utf-8")
  return paths(answer)
})
