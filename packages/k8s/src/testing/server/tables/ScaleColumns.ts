/**
 * `ScaleColumns`: the table of a Scale, of built-in and custom kinds.
 *
 * Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go (`printScale`) and
 * k8s.io/apiextensions-apiserver/pkg/apiserver/helpers.go (`getScaleColumnsForVersion`).
 */
import { at } from "../../../api/Plain.ts"
import { type Column, column, createdColumn, nameColumn } from "../../../api/PrinterColumns.ts"
import type { Window } from "../../../api/Representation.ts"
import * as ColumnParts from "./ColumnParts.ts"

const builtin: Window = {
  goType: "autoscaling.Scale",
  columns: [
    { ...nameColumn, format: "" },
    ColumnParts.integer("Desired", ColumnParts.number("spec", "replicas")),
    ColumnParts.integer("Available", ColumnParts.number("status", "replicas")),
    ColumnParts.ageColumn
  ]
}

/** For custom kinds a column is a path, and a missing number has no value. */
const found = (...path: ReadonlyArray<string>): Column["value"] => (scale) => at(scale, ...path) ?? null

const custom: Window = {
  goType: "v1.Scale",
  columns: [
    nameColumn,
    column("Desired", "integer", "Number of desired replicas", found("spec", "replicas")),
    column("Available", "integer", "Number of actual replicas", found("status", "replicas")),
    createdColumn
  ]
}

/** The table of the Scales of a resource. */
export const of = (resource: { readonly custom?: object | undefined }): Window =>
  resource.custom === undefined ? builtin : custom
