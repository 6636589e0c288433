/**
 * A statement about API servers: one numbered line of the conformance checklist, as a program that fails if the server
 * does not keep it.
 *
 * A statement is run against the in-memory server called directly, against the same over HTTPS with the live client,
 * and against a real kube-apiserver. It says what every one of them does; where versions differ, it says since which
 * version of Kubernetes it holds, or gives both forms and lets the target's version choose.
 */
import type * as KubeError from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Target } from "./Target.ts"

export interface Statement {
  /** Number in the checklist; several statements may share one, told apart by a letter. */
  readonly id: string
  readonly title: string
  /** The first minor version of Kubernetes 1.x that keeps it; older servers are not asked. */
  readonly since?: number | undefined
  /** Whether it speaks of work that controllers do, not the API server. */
  readonly controllers?: boolean | undefined
  /** What was corrected in the checklist's wording, or may surprise. */
  readonly note?: string | undefined
  readonly run: Effect.Effect<void, KubeError.Transport, Target | Scope.Scope>
}

export type Options = Pick<Statement, "since" | "controllers" | "note">

/** Declares a statement. Its body fails by an assertion that throws. */
export const statement = (
  id: string,
  title: string,
  options: Options,
  run: () => Effect.fn.Return<void, KubeError.Transport, Target | Scope.Scope>
): Statement => ({ id, title, ...options, run: Effect.gen(run) })
