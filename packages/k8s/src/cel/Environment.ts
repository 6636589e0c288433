/**
 * `Environment`: the variables, functions and types that an expression may use, and its compilation.
 *
 * All expressions in Kubernetes have the same libraries; only variables and types differ. Compiling never throws:
 * errors are returned as the server's text.
 *
 * Source: k8s.io/apiserver/pkg/cel/environment/base.go, release 1.35.
 */
import type * as Ast from "./Ast.ts"
import * as Checker from "./Checker.ts"
import * as Evaluator from "./Evaluator.ts"
import { collect, type Functions } from "./Functions.ts"
import { authorizer } from "./library/Authorizer.ts"
import { lists } from "./library/Lists.ts"
import { namedFormats } from "./library/NamedFormats.ts"
import { network } from "./library/Network.ts"
import { optionals } from "./library/Optionals.ts"
import { quantities } from "./library/Quantities.ts"
import { regex } from "./library/Regex.ts"
import { semver } from "./library/Semver.ts"
import { strings } from "./library/Strings.ts"
import { urls } from "./library/Urls.ts"
import { jsonPatch } from "./library/JsonPatchKeys.ts"
import { parse } from "./Parser.ts"
import * as Source from "./Source.ts"
import { standardLibrary } from "./StandardLibrary.ts"
import type * as Types from "./Types.ts"
import { Fault } from "./Values.ts"
import * as Validators from "./Validators.ts"

export interface Environment {
  readonly variables: ReadonlyMap<string, Types.Type>
  readonly provider: Checker.TypeProvider
  readonly functions: Functions
  /** Whether expressions may use `cel.bind`. */
  readonly binds: boolean
}

/** The functions of all expressions. */
export const functions: Functions = collect(
  standardLibrary,
  urls,
  regex,
  lists,
  authorizer,
  optionals,
  quantities,
  strings,
  network,
  namedFormats,
  semver
)

/** The functions of mutating policies. */
export const patchFunctions: Functions = collect([...functions.values()], jsonPatch)

const noTypes: Checker.TypeProvider = { field: () => undefined, isStruct: () => false }

export const make = (
  variables: Readonly<Record<string, Types.Type>>,
  provider: Checker.TypeProvider = noTypes,
  known: Functions = functions,
  binds = false
): Environment => ({ variables: new Map(Object.entries(variables)), provider, functions: known, binds })

/** A parsed and type-checked expression. */
export interface Compiled {
  readonly expr: Ast.Expr
  readonly checked: Checker.Checked
  readonly type: Types.Type
}

export type Compilation =
  | { readonly _tag: "Compiled"; readonly compiled: Compiled }
  /** `issues` is the whole text, one issue after the other. */
  | { readonly _tag: "Refused"; readonly issues: string }

export const compile = (environment: Environment, text: string): Compilation => {
  const parsed = parse(text, environment.binds)
  if (parsed._tag === "Refused") return { _tag: "Refused", issues: Source.format(parsed.source, parsed.issues) }
  const { expr, source } = parsed
  const checked = Checker.check(expr, environment)
  const issues = checked.issues.length > 0 ? checked.issues : Validators.validate(expr, checked)
  return issues.length > 0
    ? { _tag: "Refused", issues: Source.format(source, issues) }
    : { _tag: "Compiled", compiled: { expr, checked, type: checked.typeOf(expr) } }
}

/** The program; a fault if evaluating a constant part of the expression fails. */
export const program = ({ checked, expr }: Compiled): Evaluator.Program | Fault => Evaluator.plan(expr, checked)

/** The names of the variables in an expression. */
export const variablesOf = ({ checked }: Compiled): ReadonlySet<string> =>
  new Set([...checked.references.values()].filter(({ _tag }) => _tag === "Variable").map(({ name }) => name))
