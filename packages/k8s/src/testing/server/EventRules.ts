/**
 * `EventRules`: what an Event must be. An Event with an `eventTime` is one of the new form and judged as such.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/events.go `legacyValidateEvent`.
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as Names from "../../api/Names.ts"
import { at, stringAt } from "../../api/Plain.ts"
import type { Strategy } from "./Strategy.ts"

/** A text that must be there, of at most 128 characters. */
const named = (event: unknown, field: string, key = field): ReadonlyArray<FieldError.FieldError> => {
  const value = stringAt(event, key)
  if (value === "") return [FieldError.required(field, "")]
  return Names.byteLength(value) > 128 ? [FieldError.invalid(field, "", "can have at most 128 characters")] : []
}

/** Faults of an Event in either form. */
export const validate: Strategy["validate"] = (event) => {
  const regarding = at(event, "involvedObject") ?? at(event, "regarding")
  const own = event.metadata.namespace ?? ""
  const other = stringAt(regarding, "namespace")
  const mismatch = [FieldError.invalid("involvedObject.namespace", other, "does not match event.namespace")]
  if (stringAt(event, "eventTime") === "") {
    return (other === "" ? own === "" || own === "default" : own === other) ? [] : mismatch
  }
  const controller = stringAt(event, "reportingComponent") || stringAt(event, "reportingController")
  const message = stringAt(event, "message") || stringAt(event, "note")
  return [
    ...(other === "" && own !== "default" && own !== "kube-system" ? mismatch : []),
    ...(controller === ""
      ? [FieldError.required("reportingController", "")]
      : Names.labelKey(controller).map((fault) => FieldError.invalid("reportingController", controller, fault))),
    ...named(event, "reportingInstance"),
    ...named(event, "action"),
    ...named(event, "reason"),
    ...(Names.byteLength(message) > 1024 ? [FieldError.invalid("message", "", "can have at most 1024 characters")] : [])
  ]
}
