/**
 * `KubeConfigDocument`: kubeconfig files as data, and entries found in several of them.
 *
 * Nothing is required of a document but that it is a mapping: a broken entry matters only to who uses it. Names are
 * looked up in the order of the documents, the first that has one wins. A text that is JSON is read without the YAML
 * library. No failure quotes a document: only the kind and place of a fault are told, as a line may hold a token.
 *
 * Source: client-go, tools/clientcmd/loader.go and api/v1/types.go.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { codeOf } from "./FileSource.ts"

/** The configuration cannot be used: where, what about it, and what to do. */
export class KubeConfigError extends Schema.TaggedError<KubeConfigError>()("KubeConfigError", {
  /** The file, or what stands for one. */
  source: Schema.String,
  /** The field, as a path. */
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

/** One kubeconfig, parsed; `folder` is what its relative file names are relative to. */
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

/** Reads a file, for the sake of a field. */
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
        remedy: "name a file that exists and may be read"
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
      : yield* fail(source, undefined, "is no kubeconfig: the top is no mapping", "name a kubeconfig file")
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
      return yield* fail(source, undefined, `line ${line} is no YAML (${fault.code})`, "correct the file")
    }
    return yield* Effect.try({
      try: (): unknown => document.toJS(),
      catch: () =>
        new KubeConfigError({ source, problem: "has aliases that cannot be resolved", remedy: "write them out" })
    })
  })

/** An entry, and the document it is from. */
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

/** The names of what can be used, for messages. */
export const known = (documents: ReadonlyArray<Document>, field: keyof typeof faults): string => {
  const names = documents.flatMap((document) =>
    rows(document, field).flatMap(({ fault, name }) => fault === undefined ? [name] : [])
  )
  return names.length === 0 ? "none" : [...new Set(names)].join(", ")
}

/** What all documents are called together. */
export const sources = (documents: ReadonlyArray<Document>): string => documents.map(({ source }) => source).join(", ")

/** The entry of a name: of the first document that has it. */
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

/** PEM text, and the file it is from unless it is inline. */
export interface Pem {
  readonly text: string
  readonly file?: string
}

/** PEM from base64 data, which goes first, or from a file. */
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
        data ? "is not base64 of PEM" : `${file} is not PEM`,
        "give a PEM certificate or key"
      )
  })
