/**
 * `Wire`: the transport between an operator and the server that records what passes, and does the faults of a plan.
 */
import * as KubeError from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request, Response, Transport } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ApiServer } from "../ApiServer.ts"
import * as StatusError from "../StatusError.ts"
import type { CallFault, EventFault, Plan, Point } from "./Fault.ts"
import type { Entry } from "./Recording.ts"

export const defaults = {
  /** How long a delayed event is held up, and a stale list stays stale. */
  delay: "30 seconds",
  /** How long nobody answers before the client gives up. */
  patience: "5 seconds"
} as const

/** One life of the operator's process. */
export interface Life {
  readonly number: number
  dead: boolean
  /** It is shown the cluster of this revision until it has listed. */
  stale: number | undefined
}

/** What the wire needs of the run it is part of. */
export interface Run {
  readonly server: ApiServer["Service"]
  readonly plan: Plan
  readonly now: () => number
  readonly note: (entry: Entry) => void
  /** The process dies; the next life sees the cluster of `stale` at first. */
  readonly crash: (life: Life, stale?: number) => void
  /** Somebody does something to the cluster, about the object of an answer where there is one. */
  readonly mischief: (
    fault: "podFailed" | "podRemoved" | "orphaned",
    object: KubeObject | undefined
  ) => Effect.Effect<void>
}

type Refusal = (path: string) => StatusError.StatusError

const refusals: Partial<Record<CallFault, Refusal>> = {
  serverError: () => StatusError.internal("simulated: the server failed"),
  unavailable: () => StatusError.serviceUnavailable("simulated: the server is not available"),
  throttled: () => StatusError.tooManyRequests("simulated: slow down", 1),
  conflict: () => StatusError.conflict({ group: "", plural: "objects" }, "simulated", StatusError.objectModified)
}

const refused = ({ body, headers, status }: StatusError.StatusError): Response => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body
})

const noAnswer = (what: string) => new KubeError.Transport({ message: `simulated: ${what}` })

const objectOf = (body: unknown): KubeObject | undefined =>
  typeof body === "object" && body !== null && "metadata" in body && (body as KubeObject).metadata?.uid !== undefined
    ? body as KubeObject
    : undefined

export class Wire {
  readonly #run: Run
  readonly #calls = new Map<number, CallFault>()
  readonly #events = new Map<number, EventFault>()
  /** The store's revision before each write of the operator. */
  readonly #revisions: Array<number> = []
  calls = 0
  events = 0
  met = 0

  constructor(run: Run) {
    this.#run = run
    for (const point of run.plan.points) {
      if (point._tag === "Call") this.#calls.set(point.at, point.fault)
      else this.#events.set(point.at, point.fault)
    }
  }

  /** The transport of one life. */
  transport(life: Life): Transport["Service"] {
    return {
      request: (request) => Effect.suspend(() => life.dead ? Effect.never : this.#request(life, request)),
      stream: (request) =>
        Effect.suspend(() =>
          life.dead ? Effect.never : Effect.map(this.#run.server.handle(request), ({ events, ...response }) => ({
            ...response,
            values: events === undefined ? Stream.empty : this.#watched(life, events)
          }))
        )
    }
  }

  #met(point: Point): void {
    this.met += 1
    this.#run.note({ _tag: "Fault", at: this.#run.now(), point })
  }

  readonly #request = Effect.fnUntraced(
    { self: this },
    function*(this: Wire, life: Life, request: Request): Effect.fn.Return<Response, KubeError.Transport> {
      const { crash, mischief, server } = this.#run
      const n = ++this.calls
      const fault = this.#calls.get(n)
      if (fault !== undefined) this.#met({ _tag: "Call", at: n, fault })
      if (fault === "crashBefore") {
        this.#note(life, n, request, undefined, 0)
        crash(life)
        return yield* Effect.never
      }
      if (fault === "lostRequest") {
        this.#note(life, n, request, undefined, 0)
        yield* Effect.sleep(defaults.patience)
        return yield* noAnswer("the request was lost")
      }
      const refusal = fault === undefined ? undefined : refusals[fault]
      if (refusal !== undefined) {
        const answer = refused(refusal(request.path))
        this.#note(life, n, request, answer, yield* server.revision)
        return answer
      }
      const before = yield* server.revision
      if (request.method !== "GET") this.#revisions.push(before)
      const answer = yield* server.handle(this.#aged(life, request))
      this.#note(life, n, request, answer, before, yield* server.revision)
      switch (fault) {
        case "crashAfter":
          crash(life)
          return yield* Effect.never
        case "staleRestart":
          crash(life, this.#revisions.at(-2) ?? before)
          return yield* Effect.never
        case "lostAnswer":
          yield* Effect.sleep(defaults.patience)
          return yield* noAnswer("the answer was lost")
        case "podFailed":
        case "podRemoved":
        case "orphaned":
          yield* mischief(fault, objectOf(answer.body))
          return answer
        default:
          return answer
      }
    }
  )

  /** A list of a stale life is that of an old revision. */
  #aged(life: Life, request: Request): Request {
    const first = request.query.every(([name]) => name !== "continue" && name !== "watch")
    return life.stale !== undefined && request.method === "GET" && first && !isNamed(request.path)
      ? {
        ...request,
        query: [
          ...request.query.filter(([name]) => !name.startsWith("resourceVersion")),
          ["resourceVersion", String(life.stale)],
          ["resourceVersionMatch", "Exact"]
        ]
      }
      : request
  }

  #note(
    life: Life,
    n: number,
    request: Request,
    answer: Response | undefined,
    before: number,
    after: number = before
  ): void {
    this.#run.note({
      _tag: "Call",
      at: this.#run.now(),
      n,
      life: life.number,
      request,
      status: answer?.status ?? 0,
      object: objectOf(answer?.body),
      before,
      after
    })
  }

  /** The events of a watch, each with its number; a fault ends or delays the stream. */
  #watched(life: Life, events: Stream.Stream<WireEvent>): Stream.Stream<unknown, KubeError.Transport> {
    const held = life.stale === undefined
      ? events
      : Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep(defaults.delay))), events)
    return Stream.transformPull(
      held,
      (pull) => Effect.succeed(Effect.flatMap(pull, (chunk) => this.#hand(life, chunk)))
    )
  }

  #hand(life: Life, chunk: ReadonlyArray<WireEvent>): Effect.Effect<any, any> {
    const out: Array<unknown> = []
    for (const [index, event] of chunk.entries()) {
      if (event.type === "BOOKMARK" || event.type === "ERROR") {
        out.push(event)
        continue
      }
      const n = ++this.events
      const fault = this.#events.get(n)
      this.#run.note({
        _tag: "Event",
        at: this.#run.now(),
        n,
        life: life.number,
        type: event.type,
        object: event.object as KubeObject
      })
      if (fault === undefined) {
        out.push(event)
        continue
      }
      this.#met({ _tag: "Event", at: n, fault })
      const rest = chunk.slice(index)
      switch (fault) {
        case "watchDelayed":
          return Effect.as(Effect.sleep(defaults.delay), [...out, ...rest])
        case "watchExpired":
          return Effect.succeed([...out, expired])
        case "watchClosed":
          return out.length > 0 ? Effect.succeed(out) : Effect.fail(noAnswer("the watch ended"))
        case "watchBroken":
          return Effect.fail(noAnswer("the connection broke"))
      }
    }
    return Effect.succeed(out)
  }
}

const expired: WireEvent = {
  type: "ERROR",
  object: StatusError.tooOldResourceVersion("1", "2").body
}

const isNamed = (path: string): boolean => {
  const segments = path.split("/").filter((part) => part !== "")
  const rest = segments.slice(segments[0] === "api" ? 2 : 3)
  const below = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest
  return below.length > 1
}
