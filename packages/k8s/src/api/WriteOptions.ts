/**
 * `WriteOptions`: parses and validates the query parameters of a write.
 *
 * Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as FieldError from "../schema/FieldError.ts"
import * as MetadataRules from "./MetadataRules.ts"
import { byteLength } from "./Names.ts"
import { parameter } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"

/** The options of every write. */
export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: "Ignore" | "Warn" | "Strict"
}

/** An apply has the options of a patch, but rules of its own. */
export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions" | "ApplyOptions" | "DeleteOptions"

/** The faults of `dryRun`, in a query or DeleteOptions. */
export const dryRunFaults = (values: ReadonlyArray<string>): ReadonlyArray<FieldError.FieldError> =>
  values.every((value) => value === "All") ? [] : [FieldError.notSupported("dryRun", values, ["All"])]

/** Parses and validates the query parameters of a write. */
export const read = (
  { request }: { readonly request: Request },
  kind: OptionsKind
): Effect.Effect<WriteOptions, StatusError.StatusError> => {
  const dryRun = request.query.filter(([name]) => name === "dryRun").map(([, value]) => value)
  const fieldManager = parameter(request, "fieldManager") ?? ""
  const fieldValidation = parameter(request, "fieldValidation") ?? ""
  const faults = [
    ...(kind === "ApplyOptions" && fieldManager === ""
      ? [FieldError.required("fieldManager", "is required for apply patch")]
      : []),
    ...(kind === "PatchOptions" && parameter(request, "force") !== undefined
      ? [FieldError.forbidden("force", "may not be specified for non-apply patch")]
      : []),
    ...dryRunFaults(dryRun),
    ...MetadataRules.validateFieldManager(fieldManager, "fieldManager"),
    ...(["", "Ignore", "Warn", "Strict"].includes(fieldValidation)
      ? []
      : [FieldError.notSupported("fieldValidation", fieldValidation, ["", "Ignore", "Strict", "Warn"])])
  ]
  const named = kind === "ApplyOptions" ? "PatchOptions" : kind
  return faults.length > 0 ? Effect.fail(StatusError.invalidOptions(named, faults)) : Effect.succeed({
    dryRun: dryRun.length > 0,
    fieldManager: fieldManager || defaultManager(request),
    fieldValidation: fieldValidation === "Ignore" || fieldValidation === "Strict" ? fieldValidation : "Warn"
  })
}

/** The user agent up to the first slash, shortened to what a field manager may be named. */
const defaultManager = (request: Request): string => {
  const [agent] = (request.headers["user-agent"] ?? "").split("/", 1) as [string]
  if (/^[ -~]{1,128}$/.test(agent)) return agent
  let name = ""
  for (const char of agent) {
    if (!FieldError.isPrintable(char)) continue
    if (byteLength(name + char) > 128) break
    name += char
  }
  return name || "unknown"
}
