/** `Ends`: how Jobs have ended. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Recording } from "./Recording.ts"
import { conditionsOf } from "./Writes.ts"

/** Whether a Job has ended this way. */
export const hasEnded = (object: KubeObject, how: "Complete" | "Failed"): boolean =>
  object.kind === "Job" && conditionsOf(object).some(({ status, type }) => type === how && status === "True")

/** Whether work has failed for good. */
export const hasFailed = ({ entries }: Recording): boolean =>
  entries.some((entry) => entry._tag === "Fault" && entry.point.fault === "workFails") &&
  entries.some((entry) => entry._tag === "Change" && hasEnded(entry.change.object, "Failed"))

/** Whether a Job has succeeded. */
export const isComplete = (object: KubeObject): boolean => hasEnded(object, "Complete")
