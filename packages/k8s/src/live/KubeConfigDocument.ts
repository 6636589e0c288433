/**
 * `KubeConfigDocument`: kubeconfig files as data, and look-ups of entries across several files.
 *
 * A document only needs to be a mapping: an invalid entry matters only if it is used. Names are looked up in the order
 * of the documents; the first document that has a name wins. A text that is JSON is parsed without the YAML library. No
 * failure quotes a document, as a line may contain a token; it reports only the kind and place of a fault.
 *
 * Source: client-go, tools/clientcmd/loader.go and api/v1/types.go.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { codeOf } from "./FileSource.ts"

/** The configuration cannot be used: where the fault is, what it is, and how to fix it. */
export class KubeConfigError extends Schema.TaggedError<KubeConfigError>()("KubeConfigError", {
  /** The file, or a name for another source. */
  source: Schema.String,
  /** The path of the field. */
  field: Schema.optionalKey(Schema.String),
  problem: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `${this.source}: ${this.field === undefined ? "" : `${this.field}: `}${this.problem}; ${this.remedy}`
  }
}

export const fail = (source: string, field: string | undefined, problem: string, remedy: string) =>
  Effect.fail(new KubeConfigError({ source, problem, remedy, ...(field === undefined ? {} : { field }) }))

/** A parsed kubeconfig. Its relative file names are relative to `folder`. */
export interface Document {
  readonly source: string
  readonly folder: string | undefined
  readonly value: RawConfig
}

export interface RawConfig {
  readonly "current-context"?: string | null
  readonly "clusters"?: ReadonlyArray<{ readonly name?: string; readonly cluster?: RawCluster | null }> | null
  readonly "contexts"?: ReadonlyArray<{ readonly name?: string; readonly context?: RawContext | null }> | null
  readonly "users"?: ReadonlyArray<{ readonly name?: string; readonly user?: RawUser | null }> | null
}

export interface RawCluster {
  readonly "server"?: string
  readonly "tls-server-name"?: string
  readonly "insecure-skip-tls-verify"?: boolean
  readonly "certificate-authority"?: string
  readonly "certificate-authority-data"?: string
  readonly "proxy-url"?: string
  readonly "disable-compression"?: boolean
  readonly "extensions"?: ReadonlyArray<{ readonly name?: string; readonly extension?: unknown }> | null
}

export interface RawContext {
  readonly cluster?: string
  readonly user?: string
  readonly namespace?: string
}

export interface RawUser {
  readonly "client-certificate"?: string
  readonly "client-certificate-data"?: string
  readonly "client-key"?: string
  readonly "client-key-data"?: string
  readonly "token"?: string
  readonly "tokenFile"?: string
  readonly "as"?: string
  readonly "as-uid"?: string
  readonly "as-groups"?: ReadonlyArray<string>
  readonly "as-user-extra"?: Readonly<Record<string, ReadonlyArray<string>>>
  readonly "username"?: string
  readonly "password"?: string
  readonly "exec"?: RawExec | null
  readonly "auth-provider"?: {
    readonly name?: string
    readonly config?: Readonly<Record<string, string>> | null
  } | null
}

export interface RawExec {
  readonly apiVersion?: string
  readonly command?: string
  readonly args?: ReadonlyArray<string> | null
  readonly env?: ReadonlyArray<{ readonly name?: string; readonly value?: string }> | null
  readonly installHint?: string
  readonly provideClusterInfo?: boolean
  readonly interactiveMode?: string
}

/** Reads a file that a field refers to. */
export const read = (
  source: string,
  field: string | undefined,
  file: string
): Effect.Effect<string, KubeConfigError> =>
  Effect.tryPromise({
    try: () => Fs.readFile(file, "utf8"),
    catch: (cause) =>
      new KubeConfigError({
        source,
        ...(field === undefined ? {} : { field }),
        problem: `cannot read ${file}: ${codeOf(cause)}`,
        remedy: "give the path of a file that exists and is readable"
      })
  })

export const readDocument = (file: string): Effect.Effect<Document, KubeConfigError> =>
  Effect.flatMap(read(file, undefined, file), (text) => parse(file, Path.dirname(file), text))

export const parse = (
  source: string,
  folder: string | undefined,
  text: string
): Effect.Effect<Document, KubeConfigError> =>
  Effect.gen(function*() {
    const value = json(text) ?? (yield* yaml(source, text))
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { source, folder, value: value as RawConfig }
      : yield* fail(
        source,
        undefined,
        "is not a kubeconfig: the top level is not a mapping",
        "give the path of a kubeconfig file"
      )
  })

const json = (text: string): unknown => {
  if (!text.trimStart().startsWith("{")) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const yaml = (source: string, text: string): Effect.Effect<unknown, KubeConfigError> =>
  Effect.gen(function*() {
    const { parseDocument } = yield* Effect.promise(() => import("yaml"))
    const document = parseDocument(text, { prettyErrors: false })
    const fault = document.errors[0]
    if (fault !== undefined) {
      const line = text.slice(0, fault.pos[0]).split("\n").length
      return yield* fail(source, undefined, `line ${line} is not valid YAML (${fault.code})`, "correct the file")
    }
    return yield* Effect.try({
      try: (): unknown => document.toJS(),
      catch: () =>
        new KubeConfigError({
          source,
          problem: "has YAML aliases that cannot be resolved",
          remedy: "replace them with their values"
        })
    })
  })

/** An entry and its document. */
export interface Entry<A> {
  readonly name: string
  readonly value: A
  readonly from: Document
}

/** What is wrong with an entry, if anything. */
const faults = {
  clusters: (cluster: RawCluster | null | undefined) =>
    !cluster ? "cluster is missing" : cluster.server ? undefined : "cluster.server is missing",
  contexts: (context: RawContext | null | undefined) =>
    !context ? "context is missing" : context.cluster ? undefined : "context.cluster is missing",
  users: () => undefined
} as const

const rows = (document: Document, field: keyof typeof faults) => {
  const list: unknown = document.value[field]
  return (Array.isArray(list) ? list : []).map((row: Readonly<Record<string, unknown>> | null, at) => {
    const value = row?.[field.slice(0, -1)]
    const name = typeof row?.["name"] === "string" ? row["name"] : ""
    const fault = name === "" ? "name is missing" : faults[field](value as never)
    return { name, value, fault: fault === undefined ? undefined : `${field}[${at}].${fault}` }
  })
}

/** The names that can be used, for messages. */
export const known = (documents: ReadonlyArray<Document>, field: keyof typeof faults): string => {
  const names = documents.flatMap((document) =>
    rows(document, field).flatMap(({ fault, name }) => fault === undefined ? [name] : [])
  )
  return names.length === 0 ? "none" : [...new Set(names)].join(", ")
}

/** The names of all documents. */
export const sources = (documents: ReadonlyArray<Document>): string => documents.map(({ source }) => source).join(", ")

/** The entry with a name, from the first document that has it. */
export const entry = <A>(
  documents: ReadonlyArray<Document>,
  field: keyof typeof faults,
  name: string
): Effect.Effect<Entry<A>, KubeConfigError> => {
  for (const from of documents) {
    const found = rows(from, field).find((row) => row.name === name && row.fault === undefined)
    if (found !== undefined) return Effect.succeed({ name, value: (found.value ?? {}) as A, from })
  }
  const broken = documents.flatMap((document) =>
    rows(document, field).flatMap(({ fault }) => fault === undefined ? [] : [fault])
  )
  return fail(
    sources(documents),
    field,
    `there is no usable ${field.slice(0, -1)} "${name}"${broken.map((fault) => ` (${fault})`).join("")}`,
    `known ${field}: ${known(documents, field)}`
  )
}

/** A PEM text, and its file unless it is inline. */
export interface Pem {
  readonly text: string
  readonly file?: string
}

/** PEM from base64 data, which has precedence, or from a file. */
export const pem = (
  { folder, source }: Pick<Document, "source" | "folder">,
  field: string,
  data: string | undefined,
  name: string | undefined
): Effect.Effect<Pem | undefined, KubeConfigError> =>
  Effect.gen(function*() {
    if (!data && !name) return undefined
    const where = data ? `${field}-data` : field
    const file = data ? undefined : Path.resolve(folder ?? "", name ?? "")
    const text = file === undefined
      ? Buffer.from(data ?? "", "base64").toString("utf8")
      : yield* read(source, where, file)
    return text.includes("-----BEGIN ")
      ? { text, ...(file === undefined ? {} : { file }) }
      : yield* fail(
        source,
        where,
        data ? "is not base64-encoded PEM" : `${file} is not PEM`,
        "give a PEM certificate or key"
      )
  })
