/**
 * `Recording`: what happened in one run, as a list of entries in the order they happened.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import type { Point } from "./Fault.ts"

export type Entry =
  /** The operator asked, and was answered; `status` 0 where no answer came. */
  | {
    readonly _tag: "Call"
    readonly at: number
    readonly n: number
    readonly life: number
    readonly request: Request
    readonly status: number
    /** The object of the answer. */
    readonly object: KubeObject | undefined
    /** The store's revision before and after. */
    readonly before: number
    readonly after: number
  }
  /** The operator was handed a watch event. */
  | {
    readonly _tag: "Event"
    readonly at: number
    readonly n: number
    readonly life: number
    readonly type: string
    readonly object: KubeObject
  }
  /** Somebody else changed an object. */
  | { readonly _tag: "Change"; readonly at: number; readonly type: string; readonly object: KubeObject }
  | { readonly _tag: "Step"; readonly at: number; readonly name: string; readonly failed: string | undefined }
  | { readonly _tag: "Fault"; readonly at: number; readonly point: Point }
  | { readonly _tag: "Crash" | "Start"; readonly at: number; readonly life: number }
  /** A line the operator logged at warning or above. */
  | { readonly _tag: "Log"; readonly at: number; readonly level: string; readonly text: string }

export interface Recording {
  readonly entries: ReadonlyArray<Entry>
  /** Requests of the operator, watches aside. */
  readonly calls: number
  readonly events: number
  /** Every object at the end. */
  readonly objects: ReadonlyArray<KubeObject>
  /** Whether the desired state was reached and kept, in the words of the scenario; undefined if it does not say. */
  readonly desired: boolean | undefined
  /** What the operator did in the last quiet hour: requests that changed or tried to change something. */
  readonly restless: ReadonlyArray<Entry>
  /** Why the run came to an early end: a loop without time passing, a defect outside the operator. */
  readonly failure: string | undefined
  /** Faults of the plan that were met. */
  readonly met: number
}

/** A request in one line: `PATCH /api/v1/…`. */
export const line = ({ method, path }: Request): string => `${method} ${path}`
