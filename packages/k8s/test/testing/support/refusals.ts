import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { post, put } from "./server.ts"

type Body = Record<string, any>

/** What an answer says against an object: `field: message`, one of each cause. */
export const causes = ({ body }: { readonly body: any }): ReadonlyArray<string> =>
  (body.details?.causes ?? []).map(({ field, message }: any) => `${field}: ${message}`)

/** Every object is refused with exactly these causes; without any, it is created (in a dry run). */
export const refuses = (url: string, ...rows: ReadonlyArray<readonly [object: Body, ...causes: Array<string>]>) =>
  Effect.forEach(rows, ([object, ...expected]) =>
    Effect.map(post(`${url}?dryRun=All`, object), (answer) => {
      assert.deepStrictEqual(causes(answer), expected, JSON.stringify(object))
      assert.strictEqual(answer.status, expected.length === 0 ? 201 : 422, JSON.stringify(answer.body))
    }), { discard: true })

/** Every change of the object that is there is refused with exactly these causes; without any, it is taken. */
export const refusesUpdates = (
  url: string,
  current: Body,
  ...rows: ReadonlyArray<readonly [change: (object: any) => Body, ...causes: Array<string>]>
) =>
  Effect.forEach(
    rows,
    ([change, ...expected]) =>
      Effect.map(put(`${url}?dryRun=All`, change(structuredClone(current))), (answer) => {
        assert.deepStrictEqual(causes(answer), expected, String(change))
        assert.strictEqual(answer.status, expected.length === 0 ? 200 : 422, JSON.stringify(answer.body))
      }),
    { discard: true }
  )
