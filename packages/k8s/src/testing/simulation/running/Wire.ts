/**
 * `Wire`: the connection between an operator and the rest of the world. It records what passes, and carries out the
 * faults of a plan.
 */
import * as KubeError from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request, Response, StreamResponse, Transport } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Representation from "../../../api/Representation.ts"
import type { ApiServer } from "../../ApiServer.ts"
import type { Outside } from "../External.ts"
import {
  type CallFault,
  type EventFault,
  type ExternalFault,
  isRead,
  type Plan,
  type Point
} from "../recording/Fault.ts"
import { type Entry, nowhere, type Reach, type Told } from "../recording/Recording.ts"
import { keysOf, States } from "../state/Outside.ts"
import { draw } from "../world/Seed.ts"
import { expired, noAnswer, objectOf, refusalOf, refusals, refused, saidOf } from "./Answers.ts"
import type { Checkpoint } from "./Checkpoint.ts"

/** Milliseconds. */
export const defaults = {
  /** How long a delayed event is held back, and how long stale reads stay stale. */
  delay: 30_000,
  /** How long a slow request takes; less than a client's timeout. */
  slow: 4_000,
  /** How long a process is cut off. */
  cut: 60_000,
  /** How long the server answers only 503; short, so that retries with growing delays come soon after. */
  outage: 20_000,
  /** How long a process stays away that restarts late. */
  away: 20_000,
  /** Maximum latency of a request, and of its answer, if the order of tasks is drawn. */
  lag: 30,
  /** How long the client waits for an answer. */
  patience: 5_000
} as const

/** The objects that a request selects, as one string. */
const selectionOf = ({ path, query }: Request): string =>
  [path, ...query.flatMap(([name, value]) => name.endsWith("Selector") ? [value] : [])].join(" ")

/** What a process sees that starts with an old state of the cluster. */
export interface Stale {
  readonly revision: number
  /** Path prefixes of the kinds that are stale; all by default. */
  readonly only?: ReadonlyArray<string> | undefined
}

/** One life of a process of the operator. */
export interface Life {
  readonly replica: number
  readonly number: number
  dead: boolean
  /** Lists are of this revision until a time; with `only`, just those of some API groups. */
  stale: Stale & { readonly until: number } | undefined
  /** The process reaches nobody before this time. */
  cutUntil: number
}

/** What the wire needs from its run. */
export interface Run {
  /** The checkpoint from which the run continues. */
  readonly from: Pick<Checkpoint, "reach" | "outside" | "untouched"> | undefined
  readonly server: ApiServer["Service"]
  readonly revision: () => number
  readonly plan: Plan
  readonly now: () => number
  readonly note: (entry: Entry) => void
  /** Kills the process. Its next life begins after `away` milliseconds, and at first sees the cluster of `stale`. */
  readonly crash: (life: Life, stale?: Stale, away?: number) => void
  /** The custom resources as they were before the last step. */
  readonly before: () => Stale
  /** Whether a custom resource that is terminating or gone still exists in a revision. */
  readonly haunted: (revision: number) => boolean
  /** Takes the next step now. */
  readonly hurry: Effect.Effect<void>
  /** Something that was held back continues only now, so the cluster is not at rest before that. */
  readonly stir: () => void
  /** Somebody removes, later, what the n-th request created. */
  readonly doom: (n: number, object: KubeObject | undefined) => void
  /** Makes the work of a Job fail. */
  readonly hinder: (job: KubeObject | undefined) => void
  /** Somebody changes the cluster; it concerns the object of an answer, if there is one. */
  readonly mischief: (
    fault: "podFailed" | "podRemoved" | "orphaned" | "annotated",
    object: KubeObject | undefined
  ) => Effect.Effect<void>
}

/** The revision that a list asks for. */
const revisionOf = ({ query }: Request): number => Number(query.find(([key]) => key === "resourceVersion")?.[1])

/** How a watch ends. */
type Ending = Effect.Effect<never, KubeError.Transport | Cause.Done>

/** As a server ends every watch after some minutes: not an error. */
const closed: Ending = Cause.done()

const broken: Ending = Effect.suspend(() => Effect.fail(noAnswer("the connection broke")))

const concerns = ({ only }: Stale, { path }: Request): boolean =>
  only === undefined || only.some((start) => path.startsWith(start))

const isNamed = (path: string): boolean => {
  const segments = path.split("/").filter((part) => part !== "")
  const rest = segments.slice(segments[0] === "api" ? 2 : 3)
  const below = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest
  return below.length > 1
}

export class Wire {
  readonly #run: Run
  readonly #calls = new Map<number, CallFault>()
  readonly #events = new Map<number, EventFault>()
  readonly #externals = new Map<number, ExternalFault>()
  /** The store's revision before each write of the operator. */
  readonly #revisions: Array<number> = []
  /** The last revision of which the server has no history. */
  #forgotten = 0
  readonly outside: States
  calls: number
  events: number
  externals: number
  met = 0
  /** The server answers only 503 before this time. */
  #outageUntil = 0
  /** Every outside call fails before this time. */
  #outsideFailsUntil = 0
  /** The selections that have been watched. */
  readonly #followed = new Set<string>()

  constructor(run: Run) {
    this.#run = run
    const { outside, reach = nowhere, untouched } = run.from ?? {}
    this.outside = new States(outside, untouched)
    this.calls = reach.call
    this.events = reach.event
    this.externals = reach.external
    for (const point of run.plan.points) this.#expect(point)
  }

  #expect(point: Point, after: Pick<Reach, "call" | "event" | "external"> = nowhere): void {
    if (point._tag === "Call") this.#calls.set(after.call + point.at, point.fault)
    else if (point._tag === "Event") this.#events.set(after.event + point.at, point.fault)
    else if (point._tag === "External") this.#externals.set(after.external + point.at, point.fault)
  }

  /** From now on, only these points get their faults; their numbers are counted from here. */
  arm(points: ReadonlyArray<Point>): void {
    for (const faults of [this.#calls, this.#events, this.#externals]) faults.clear()
    const { calls: call, events: event, externals: external } = this
    for (const point of points) this.#expect(point, { call, event, external })
  }

  /** The transport of one life. */
  transport(life: Life): Transport["Service"] {
    return {
      request: (request) => Effect.suspend(() => life.dead ? Effect.never : this.#request(life, request)),
      stream: (request) =>
        Effect.suspend(() => {
          if (life.dead) return Effect.never
          if (life.cutUntil > this.#run.now()) return this.#unreachable(life)
          if (this.#outageUntil > this.#run.now()) {
            return Effect.succeed({ ...refused(refusals.unavailable()), values: Stream.empty })
          }
          return Effect.map(this.#run.server.handle(request), (response): StreamResponse => {
            const { events } = response
            const streamed = Representation.streamed(request, response)
            return events === undefined ? streamed : { ...streamed, values: this.#watched(life, request, events) }
          })
        })
    }
  }

  /** The outside as one life sees it. */
  external(life: Life): Outside {
    return {
      state: this.outside,
      call: (name, failure, act) =>
        Effect.suspend(() => life.dead ? Effect.never : this.#call(life, name, failure, act))
    }
  }

  /** A fault of the plan takes place. */
  readonly happens = (point: Point, told?: Told): void => {
    this.met += 1
    this.#run.note({ _tag: "Fault", at: this.#run.now(), point, told })
  }

  #call<A, E>(life: Life, name: string, failure: () => E, act: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.gen({ self: this }, function*() {
      const n = ++this.externals
      const { number, replica } = life
      const fault = this.#externals.get(n)
      const note = (failed: boolean) => {
        const kept = keysOf(this.outside)
        this.#run.note({ _tag: "External", at: this.#run.now(), n, replica, life: number, name, failed, kept })
      }
      if (fault !== undefined) this.happens({ _tag: "External", at: n, fault })
      if (fault === "externalOutage") this.#outsideFailsUntil = this.#run.now() + defaults.outage
      if (fault === "externalFails" || this.#outsideFailsUntil > this.#run.now()) {
        note(true)
        return yield* Effect.fail(failure())
      }
      if (fault === "externalSlow") yield* Effect.sleep(defaults.delay)
      if (life.dead) return yield* Effect.never
      const result = yield* Effect.exit(act)
      note(fault === "externalLost" || result._tag === "Failure")
      if (fault === "externalLate") yield* Effect.sleep(defaults.delay)
      if (life.dead) return yield* Effect.never
      if (fault === "externalLost") return yield* Effect.fail(failure())
      if (fault === "externalHurried") yield* this.#run.hurry
      if (fault === "externalCrash") {
        this.#run.crash(life)
        return yield* Effect.never
      }
      return yield* result
    })
  }

  readonly #unreachable = (life: Life) =>
    Effect.flatMap(
      Effect.sleep(defaults.patience),
      () => life.dead ? Effect.never : Effect.fail(noAnswer("nobody is reached"))
    )

  readonly #request = Effect.fnUntraced(
    { self: this },
    function*(this: Wire, life: Life, request: Request): Effect.fn.Return<Response, KubeError.Transport> {
      const { crash, mischief, now, revision, server } = this.#run
      const n = ++this.calls
      const sent = now()
      const fault = this.#calls.get(n)
      if (fault !== undefined && fault !== "removed") this.happens({ _tag: "Call", at: n, fault })
      const note = (answer: Response | undefined, before: number, shown?: number) =>
        this.#run.note({
          _tag: "Call",
          at: now(),
          sent,
          n,
          replica: life.replica,
          life: life.number,
          request,
          status: answer?.status ?? 0,
          object: objectOf(answer?.body),
          said: answer && saidOf(answer),
          before,
          after: revision(),
          ...(shown === undefined ? {} : { shown })
        })
      if (fault === "crashBefore") {
        note(undefined, revision())
        crash(life)
        return yield* Effect.never
      }
      if (fault === "cutOff") life.cutUntil = sent + defaults.cut
      if (fault === "lostRequest" || life.cutUntil > sent) {
        note(undefined, revision())
        return yield* this.#unreachable(life)
      }
      if (fault === "forestalled") yield* this.#run.hurry
      if (fault === "slowRequest" || fault === "forestalled") yield* Effect.sleep(defaults.slow)
      yield* this.#lag(2 * n)
      if (life.dead) return yield* Effect.never
      if (fault === "outage") this.#outageUntil = sent + defaults.outage
      const refusal = refusalOf(this.#outageUntil > now() ? "unavailable" : fault)
      if (refusal !== undefined) {
        const answer = refused(refusal)
        note(answer, revision())
        return answer
      }
      if (fault === "overtaken") yield* mischief("annotated", yield* this.#target(request))
      const before = revision()
      if (!isRead(request)) this.#revisions.push(before)
      const asked = this.#aged(life, request)
      const answer = yield* server.handle(asked)
      note(answer, before, asked === request ? undefined : revisionOf(asked))
      yield* this.#lag(2 * n + 1)
      switch (fault) {
        case "crashAway":
          crash(life, undefined, defaults.away)
          return yield* Effect.never
        case "crashAfter":
          crash(life)
          return yield* Effect.never
        case "staleRestart":
          crash(life, { revision: this.#unseen(before) })
          return yield* Effect.never
        case "oldRestart":
          crash(life, { revision: this.#revisions.at(-4) ?? this.#revisions[0] ?? before })
          return yield* Effect.never
        case "travelRestart":
          crash(life, this.#run.before())
          return yield* Effect.never
        case "hurried":
          yield* this.#run.hurry
          return answer
        case "lostAnswer":
          return yield* this.#unreachable(life)
        case "podFailed":
        case "podRemoved":
        case "orphaned":
        case "annotated":
          yield* mischief(fault, objectOf(answer.body))
          return answer
        case "removed":
          if (answer.status === 201) this.#run.doom(n, objectOf(answer.body))
          return answer
        case "workFails":
          if (answer.status === 201) this.#run.hinder(objectOf(answer.body))
          return answer
        default:
          // A process that was cut off or died meanwhile gets no answer.
          if (life.dead) return yield* Effect.never
          return answer
      }
    }
  )

  /**
   * The revision before the last two writes if people did nothing between them, otherwise before the last one: a
   * process that sees what is desired now, but not what it has done about it, does it again.
   */
  #unseen(before: number): number {
    const earlier = this.#revisions.at(-2) ?? before
    return earlier > this.#run.before().revision ? earlier : before
  }

  /** In the plain order, requests take no time. In another order, concurrent requests overlap. */
  #lag(turn: number): Effect.Effect<void> {
    const { interleaving } = this.#run.plan
    return interleaving === 0 ? Effect.void : Effect.sleep(draw(interleaving, turn, defaults.lag))
  }

  /** The current object that a request is about. */
  readonly #target = (request: Request): Effect.Effect<KubeObject | undefined> =>
    Effect.map(
      this.#run.server.handle({
        method: "GET",
        path: request.path.replace(/\/(?:status|scale)$/, ""),
        query: [],
        headers: {}
      }),
      ({ body }) => objectOf(body)
    )

  /**
   * A list of a stale life is that of an old revision if it is for a watch. A list on its own that does not accept any
   * revision gets the current state, as from any server.
   */
  #aged(life: Life, request: Request): Request {
    const { stale } = life
    if (stale === undefined || request.method !== "GET" || isNamed(request.path) || !concerns(stale, request)) {
      return request
    }
    const any = request.query.some(([name, value]) => name === "resourceVersion" && value === "0")
    if (!any && !this.#followed.has(selectionOf(request))) return request
    const shown = Math.max(stale.revision, this.#forgotten)
    if (this.#run.now() >= stale.until || this.#run.haunted(shown)) {
      life.stale = undefined
      return request
    }
    if (request.query.some(([name]) => name === "continue" || name === "watch")) return request
    return {
      ...request,
      query: [
        ...request.query.filter(([name]) => !name.startsWith("resourceVersion")),
        ["resourceVersion", String(shown)],
        ["resourceVersionMatch", "Exact"]
      ]
    }
  }

  /** The events of a watch, each with its number; a fault ends or delays the stream. */
  #watched(
    life: Life,
    request: Request,
    events: Stream.Stream<WireEvent>
  ): Stream.Stream<unknown, KubeError.Transport> {
    const { now } = this.#run
    const wait = life.stale === undefined || !concerns(life.stale, request) ? 0 : life.stale.until - now()
    // After the watch has ended, it delivers nothing more: the next watch shows what is missing.
    let ended: Ending | undefined
    const end = (how: Ending) => {
      ended = how
    }
    const named = selectionOf(request)
    this.#followed.add(named)
    const held = wait <= 0 ? events : Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep(wait))), events)
    return Stream.transformPull(
      held,
      (pull) =>
        Effect.succeed(Effect.suspend(() =>
          // Nor does it wait for what would have come next.
          ended ?? Effect.flatMap(pull, (chunk) => {
            if (life.dead) return Effect.never
            const cut = life.cutUntil - now()
            return cut <= 0 ? this.#hand(life, named, chunk, end) : Effect.andThen(Effect.sleep(cut), broken)
          })
        ))
    )
  }

  #hand(
    life: Life,
    watch: string,
    chunk: ReadonlyArray<WireEvent>,
    end: (how: Ending) => void
  ): Effect.Effect<Arr.NonEmptyReadonlyArray<unknown>, KubeError.Transport | Cause.Done> {
    const { note, now, revision, server, stir } = this.#run
    const out: Array<unknown> = []
    /** The revision of the last event so far: if the watch ends before the next one, the process sees that. */
    let last: number | undefined
    for (const [index, event] of chunk.entries()) {
      if (event.type === "BOOKMARK" || event.type === "ERROR") {
        out.push(event)
        continue
      }
      const n = ++this.events
      const object = event.object as KubeObject
      const wanted = this.#events.get(n)
      const fault = wanted !== undefined && last !== undefined && this.#run.haunted(last) ? undefined : wanted
      last = Number(object.metadata.resourceVersion)
      const told: Told = { watch, type: event.type, object }
      const seen = () => note({ _tag: "Event", at: now(), n, replica: life.replica, life: life.number, ...told })
      if (fault === undefined) {
        seen()
        out.push(event)
        continue
      }
      this.happens({ _tag: "Event", at: n, fault }, told)
      switch (fault) {
        case "watchDelayed":
          seen()
          return Effect.as(Effect.sleep(defaults.delay), Arr.appendAll(Arr.append(out, event), chunk.slice(index + 1)))
        case "watchDuplicated":
          seen()
          out.push(event, event)
          continue
        case "watchSkipped":
          end(closed)
          return Effect.as(Effect.andThen(Effect.sleep(defaults.delay), Effect.sync(stir)), Arr.append(out, expired))
        case "watchStale": {
          const before = Math.max(1, Number(object.metadata.resourceVersion) - 1)
          life.stale = before <= revision() ? { revision: before, until: now() + defaults.delay } : undefined
          end(closed)
          return Effect.succeed(Arr.append(out, expired))
        }
        case "watchExpired":
          end(closed)
          // The server really forgets its history: nobody can resume from before, or read an earlier state.
          this.#forgotten = revision()
          return Effect.as(server.compact(), Arr.append(out, expired))
        case "watchClosed":
        case "watchBroken": {
          const how = fault === "watchClosed" ? closed : broken
          end(how)
          // What came before it has already arrived.
          return Arr.isReadonlyArrayNonEmpty(out) ? Effect.succeed(out) : how
        }
      }
    }
    return Arr.isReadonlyArrayNonEmpty(out) ? Effect.succeed(out) : closed
  }
}
