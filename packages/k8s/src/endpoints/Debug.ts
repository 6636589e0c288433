/**
 * `/debug/operator`: what the operator is doing, as JSON for people and scripts.
 *
 * It shows queues with their keys and when each is due, running reconciles with their duration, watches and their
 * problems, caches and their sizes, and leases. It contains names of objects and reasons of failures, but never their
 * contents. Of many keys only the oldest or the next due are shown, a hundred unless `?limit=` sets another number;
 * counts are always complete.
 */
import type * as Manager from "@effect-operator/core/Manager"
import type { KeyState } from "@effect-operator/core/QueueState"
import * as Trigger from "@effect-operator/core/Trigger"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type Answer, type Asked, json } from "./Answer.ts"

export const defaults = {
  /** The number of keys shown of each kind. */
  limit: 100
} as const

const iso = (at: number): string => new Date(at).toISOString()
const seconds = (millis: number): number => Math.round(millis) / 1000

type Report = Manager.Report

/** Everything about every manager, as a JSON value. */
export const describe = Effect.fnUntraced(function*(
  managers: ReadonlyArray<Manager.Manager["Service"]>,
  limit: number = defaults.limit
) {
  const now = yield* Clock.currentTimeMillis
  const all = yield* Effect.forEach(managers, (manager) =>
    Effect.map(manager.report, (report) => ({
      name: manager.name ?? null,
      stopping: report.stopping,
      failed: report.failed ?? null,
      parts: report.parts,
      controllers: report.controllers.map((controller) => describeController(manager, controller, now, limit)),
      watches: report.watches.map((watch) => describeWatch(watch)),
      caches: report.watches.map((watch) => ({
        ...whose(watch),
        objects: watch.objects,
        bytes: watch.bytes,
        unconfirmedWrites: watch.unconfirmed
      })),
      leases: report.leases.map(({ lease, status, trouble }) => ({
        lease,
        leading: status._tag === "Leading",
        ...(status._tag === "Leading" ? { since: iso(status.since) } : { leader: status.leader ?? null }),
        trouble: trouble ?? null
      }))
    })))
  return { time: iso(now), managers: all }
})

export const answer = (
  managers: ReadonlyArray<Manager.Manager["Service"]>,
  asked: Asked
): Effect.Effect<Answer> => {
  const limit = Number(asked.query.get("limit") ?? defaults.limit)
  return Number.isInteger(limit) && limit >= 0
    ? Effect.map(describe(managers, limit), (found) => json(200, found))
    : Effect.succeed(
      json(400, { error: `limit: ${JSON.stringify(asked.query.get("limit"))}: must be a whole number from 0` })
    )
}

const describeController = (
  manager: Manager.Manager["Service"],
  { name, queue, resource, status, waitingFor }: Report["controllers"][number],
  now: number,
  limit: number
) => {
  const keys = manager.keys(name)
  const known = keys?.known ?? []
  const ready = known.filter(({ phase }) => phase === "Ready").sort((a, b) => (a.readySince ?? 0) - (b.readySince ?? 0))
  const waiting = known.filter(({ phase }) => phase === "Waiting").sort((a, b) => (a.due ?? 0) - (b.due ?? 0))
  const inFlight = [...keys?.processing ?? []].sort(([, a], [, b]) => a - b)
  return {
    name,
    resource,
    status: status._tag,
    since: iso(status.since),
    waitingFor,
    queue: { ...queue, failing: known.filter(({ failures }) => failures > 0).length },
    inFlight: inFlight.slice(0, limit).map(([key, since]) => ({
      key,
      since: iso(since),
      ageSeconds: seconds(now - since)
    })),
    ready: ready.slice(0, limit).map((key) => ({
      ...describeKey(key),
      waitedSeconds: seconds(now - (key.readySince ?? now))
    })),
    waiting: waiting.slice(0, limit).map((key) => ({
      ...describeKey(key),
      due: iso(key.due ?? now),
      inSeconds: seconds((key.due ?? now) - now)
    }))
  }
}

const describeKey = ({ failures, key, priority, reasons }: KeyState) => ({
  key,
  priority,
  failures,
  reasons: reasons.map(Trigger.format)
})

const whose = ({ cluster, namespace, resource, selector }: Report["watches"][number]) => ({
  resource,
  cluster: cluster ?? null,
  namespace: namespace ?? null,
  selector
})

const describeWatch = (watch: Report["watches"][number]) => {
  const { lastEventAt, quietFor, status, synced, traffic } = watch
  const common = { ...whose(watch), status: status._tag, synced, ...traffic }
  switch (status._tag) {
    case "Listing":
      return common
    case "Live":
      return {
        ...common,
        since: iso(status.since),
        ...(lastEventAt === undefined || quietFor === undefined ? {} : {
          lastEvent: iso(lastEventAt),
          secondsSinceEvent: seconds(quietFor)
        })
      }
    case "Degraded":
      return {
        ...common,
        since: iso(status.since),
        reason: status.reason._tag,
        message: status.reason.message,
        failuresInARow: status.failures
      }
  }
}
