/**
 * The events of a watch, from the values of its response.
 *
 * What came off the socket together is read together: one Effect and one chunk of events for each chunk of values.
 * Nothing before a fault is lost: the events of a chunk up to an ERROR, or up to a value that is not an event, are
 * emitted first, and the stream fails when more is pulled.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as KubeError from "../KubeError.ts"
import type { KubeObject } from "../KubeObject.ts"
import { isStatus } from "../Status.ts"
import type { StreamResponse } from "../Transport.ts"
import type { WatchEvent, WireEvent } from "../WatchEvent.ts"
import { hasVersion, isStored } from "./answers.ts"

type Decode<A> = (object: KubeObject) => Result.Result<A, KubeError.KubeError>
type Failed = (reason: KubeError.Reason) => KubeError.KubeError

/** The events of a chunk up to the first fault, and the fault. */
const read = <A extends KubeObject>(values: ReadonlyArray<unknown>, decode: Decode<A>, failed: Failed) => {
  const events: Array<WatchEvent<A>> = []
  for (const value of values) {
    const { object, type } = (value ?? {}) as Partial<WireEvent>
    if (type === "ERROR" && isStatus(object)) return { events, fault: failed(KubeError.fromStatus(object)) }
    if (type === "BOOKMARK" && hasVersion(object)) events.push({ type, object })
    else if ((type === "ADDED" || type === "MODIFIED" || type === "DELETED") && isStored(object)) {
      const decoded = decode(object)
      if (Result.isFailure(decoded)) return { events, fault: decoded.failure }
      events.push({ type, object: decoded.success })
    } else {
      const issue = `not a watch event: ${JSON.stringify(value)?.slice(0, 100)}`
      return { events, fault: failed(new KubeError.Decode({ message: issue, issues: [issue] })) }
    }
  }
  return { events, fault: undefined }
}

/** The events in the response to a watch; an unsuccessful response fails with its reason. */
export const watchEvents = <A extends KubeObject>(
  response: StreamResponse,
  decode: Decode<A>,
  failed: Failed
): Stream.Stream<WatchEvent<A>, KubeError.KubeError> =>
  response.status !== 200
    ? Stream.fail(failed(KubeError.fromAnswer({ ...response, body: response.body })))
    : Stream.transformPull(response.values, (pull) =>
      Effect.sync(() => {
        /** What ends the stream once the events before it are taken. */
        let end: KubeError.KubeError | undefined
        const next: Pull.Pull<Arr.NonEmptyReadonlyArray<WatchEvent<A>>, KubeError.KubeError> = Effect.suspend(() =>
          end === undefined ? Effect.flatMap(chunks, taken) : Effect.fail(end)
        )
        const chunks = Effect.mapError(pull, (error) => Cause.isDone(error) ? error : failed(error))
        const taken = (values: ReadonlyArray<unknown>) => {
          const { events, fault } = read(values, decode, failed)
          end = fault
          return Arr.isArrayNonEmpty(events) ? Effect.succeed(events) : next
        }
        return next
      }))
