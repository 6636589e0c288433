/**
 * `PodSecurityLevels`: the Pod Security levels in the labels of a namespace.
 *
 * A label names a level (`privileged`, `baseline` or `restricted`) for each of three modes: enforce, audit and warn.
 * Another label pins the release whose version of the level applies. A mode without labels is privileged, except that
 * without a warn label the enforced level is also the warn level. If a label is invalid, enforce is the strictest
 * level, and audit and warn are privileged.
 *
 * Source: k8s.io/pod-security-admission/api (`PolicyToEvaluate`).
 */
import * as FieldError from "../../schema/FieldError.ts"

/** From least to most strict. */
const levels = ["privileged", "baseline", "restricted"] as const

export type Level = (typeof levels)[number]

/** A level in the version of one release. */
export interface Standard {
  readonly level: Level
  /** The minor version of the release; `Infinity` is the latest. */
  readonly minor: number
}

export interface Policy {
  readonly enforce: Standard
  readonly audit: Standard
  readonly warn: Standard
}

export const prefix = "pod-security.kubernetes.io/"

const nothing: Standard = { level: "privileged", minor: Infinity }

/** The policy without labels. */
export const privileged: Policy = { enforce: nothing, audit: nothing, warn: nothing }

/** Whether nothing is restricted, in any release. */
export const isPrivileged = ({ audit, enforce, warn }: Policy): boolean =>
  [enforce, audit, warn].every(({ level }) => level === "privileged")

/** The standard in messages and annotations: `restricted:v1.30`. */
export const print = ({ level, minor }: Standard): string => `${level}:${minor === Infinity ? "latest" : `v1.${minor}`}`

export const isStricter = (a: Level, b: Level): boolean => levels.indexOf(a) > levels.indexOf(b)

const levelOf = (text: string): Level | undefined => levels.find((level) => level === text)

const minorOf = (text: string): number | undefined =>
  text === "latest" ? Infinity : /^v1\.(0|[1-9][0-9]*)$/.test(text) ? Number(text.slice("v1.".length)) : undefined

/** The policy in the labels, and the faults of the labels. */
export const read = (
  labels: Readonly<Record<string, string>> | undefined
): { readonly policy: Policy; readonly faults: ReadonlyArray<FieldError.FieldError> } => {
  if (labels === undefined) return { policy: privileged, faults: [] }
  const faults: Array<FieldError.FieldError> = []
  /** The value of a label: `otherwise` if it is invalid, undefined if it is missing. */
  const value = <A>(name: string, read: (text: string) => A | undefined, otherwise: A, why: string): A | undefined => {
    const text = labels[prefix + name]
    if (text === undefined) return undefined
    const found = read(text)
    if (found === undefined) faults.push(FieldError.invalid(`metadata.labels[${prefix}${name}]`, text, why))
    return found ?? otherwise
  }
  const standard = (mode: keyof Policy, otherwise: Level) => ({
    level: value<Level>(mode, levelOf, otherwise, `must be one of ${levels.join(", ")}`),
    minor: value(`${mode}-version`, minorOf, Infinity, `must be "latest" or "v1.x"`)
  })
  const complete = ({ level, minor }: ReturnType<typeof standard>): Standard => ({
    level: level ?? nothing.level,
    minor: minor ?? nothing.minor
  })
  const [enforce, audit, warn] = [
    standard("enforce", "restricted"),
    standard("audit", "privileged"),
    standard("warn", "privileged")
  ]
  const implied = warn.level === undefined && levelOf(labels[`${prefix}enforce`] ?? "") !== undefined
  return {
    policy: {
      enforce: complete(enforce),
      audit: complete(audit),
      warn: complete(
        implied && enforce.level !== "privileged" ? { level: enforce.level, minor: warn.minor ?? enforce.minor } : warn
      )
    },
    faults
  }
}
