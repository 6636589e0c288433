/**
 * `/readyz`, `/livez` and `/healthz` for all managers of the process; each check also at `/readyz/<name>`.
 *
 * `/readyz/serving` requires less than `/readyz`: that webhooks and the operator's own API are served, and that the
 * process has not been asked to stop. Caches and leases do not matter. It is the readiness probe of Pods behind a
 * Service that the API server calls: a forbidden list is no reason to refuse every write that has a webhook, and a list
 * that needs a conversion would never succeed if the Pod had to complete it before it is called.
 *
 * `/healthz` is the old name of `/livez`. If a process has several managers, the names of their checks start with the
 * manager's name or number; with both if several have that name.
 */
import * as Health from "@effect-operator/core/Health"
import type * as Manager from "@effect-operator/core/Manager"
import * as Effect from "effect/Effect"
import { type Answer, type Asked, notFound, text } from "./Answer.ts"

type Managers = ReadonlyArray<Manager.Manager["Service"]>

/** A manager's prefix among several, different for each; just its name, if any, if it is the only one. */
export const label = (managers: Managers, i: number): string => {
  const name = managers[i]?.name
  if (managers.length < 2) return name ?? ""
  if (name === undefined) return String(i)
  const namesakes = managers.filter((manager) => manager.name === name)
  return namesakes.length < 2 ? name : `${name}-${namesakes.indexOf(managers[i]!)}`
}

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

/** The readiness check of what the API server calls. */
export const serving = "serving"

const unserved: Health.Check = {
  name: serving,
  failure: "no webhooks and no API are served: provide Webhook.layer or ApiService.layer to the manager"
}

const whileServing = (report: Manager.Report): ReadonlyArray<Health.Check> =>
  Health.readiness(report).filter(({ name }) => name === "ping" || name === "shutdown")

/** The response of a probe; undefined if the path is not a probe's. */
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
  const serves = ready && only === serving
  const of = serves ? whileServing : ready ? Health.readiness : Health.liveness
  return Effect.gen(function*() {
    const all: Array<Health.Check> = [...yield* checks(managers, of, ready)]
    for (const part of parts) all.push({ name: part.name, failure: yield* ready ? part.ready : part.alive })
    if (serves && parts.length === 0) all.push(unserved)
    const { body, status } = Health.answer(all, {
      endpoint: serves ? `${endpoint}/${serving}` : endpoint,
      only: serves ? undefined : only,
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
