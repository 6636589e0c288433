/**
 * `/readyz`, `/livez` and `/healthz` over every manager of the process; each check also at `/readyz/<name>`.
 *
 * `/healthz` is the old name of `/livez`. Where a process has several managers, their checks begin with the manager's
 * name, or its number.
 */
import * as Health from "@effect-operator/core/Health"
import type * as Manager from "@effect-operator/core/Manager"
import * as Effect from "effect/Effect"
import { type Answer, type Asked, notFound, text } from "./Answer.ts"

type Managers = ReadonlyArray<Manager.Manager["Service"]>

/** The name of a manager among others; empty if it is alone. */
export const label = (managers: Managers, i: number): string =>
  managers.length < 2 ? managers[i]?.name ?? "" : managers[i]?.name ?? String(i)

const checks = Effect.fnUntraced(function*(
  managers: Managers,
  of: (report: Manager.Report) => ReadonlyArray<Health.Check>,
  needed: boolean
) {
  if (managers.length === 0) {
    const failure = needed ? "no manager is running" : undefined
    return [{ name: "ping", failure: undefined }, { name: "manager", failure }] satisfies ReadonlyArray<Health.Check>
  }
  const all: Array<Health.Check> = []
  for (const [i, manager] of managers.entries()) {
    const prefix = managers.length > 1 ? `${label(managers, i)}/` : ""
    for (const check of of(yield* manager.report)) {
      if (check.name !== "ping" || i === 0) {
        all.push({ ...check, name: check.name === "ping" ? "ping" : prefix + check.name })
      }
    }
  }
  return all
})

/** The answer of a probe; nothing if the path is none of theirs. */
export const answer = (
  managers: Managers,
  asked: Asked,
  parts: ReadonlyArray<Manager.CheckedPart> = []
): Effect.Effect<Answer> | undefined => {
  const [, endpoint, rest] = /^\/(readyz|livez|healthz)(?:\/(.*))?$/.exec(asked.path) ?? []
  if (endpoint === undefined) return undefined
  const only = decoded(rest ?? "")
  if (only === undefined) return Effect.succeed(notFound)
  const ready = endpoint === "readyz"
  return Effect.gen(function*() {
    const all: Array<Health.Check> = [...yield* checks(managers, ready ? Health.readiness : Health.liveness, ready)]
    for (const part of parts) all.push({ name: part.name, failure: yield* ready ? part.ready : part.alive })
    const { body, status } = Health.answer(all, {
      endpoint,
      only,
      verbose: asked.query.has("verbose"),
      exclude: asked.query.getAll("exclude").filter((name) => name !== "")
    })
    return text(status, body)
  })
}

const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
