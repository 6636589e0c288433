/**
 * `Objects`: applies objects of any kind, as `kubectl apply --server-side` does.
 *
 * A kind must be built into Kubernetes or declared by the program; discovery is not used. Conflicts are forced, because
 * the user wants these values.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schedule from "effect/Schedule"
import * as Path from "node:path"
import { resources } from "../../kinds/tables.ts"
import * as KubeConfig from "../../KubeConfig.ts"
import * as Definitions from "../Definitions.ts"
import type { Kind } from "../Description.ts"
import * as Failure from "../Failure.ts"
import * as Folder from "../Folder.ts"

export const defaults = {
  /** How long to retry while the server cannot handle the request. */
  patience: "20 seconds"
} as const

/** An object from a file. */
export interface Written {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** Distinguishes an object from all others in a cluster. */
export const idOf = ({ apiVersion, kind, metadata: { name, namespace = "" } }: Written): string =>
  [apiVersion, kind, namespace, name].join(" ")

/** The resource of an object: one of these, or a built-in one. */
export const resourceOf = (
  { apiVersion, kind }: Pick<Written, "apiVersion" | "kind">,
  kinds: ReadonlyArray<Kind>
): Resource.Any | undefined => {
  const slash = apiVersion.lastIndexOf("/")
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)]
  const known = [...kinds, ...resources].find((each) =>
    each.group === group && each.version === version && each.kind === kind
  )
  return known === undefined
    ? undefined
    : Resource.make<KubeObject>()({ group, version, kind, plural: known.plural, scope: known.scope })
}

/** The YAML files of a folder in alphabetical order, or the file itself. */
export const filesOf = Effect.fnUntraced(function*(place: string) {
  const files = yield* FileSystem.FileSystem
  const { type } = yield* Effect.mapError(files.stat(place), Failure.ofFile("read", place))
  if (type !== "Directory") return [place]
  const names = yield* Effect.mapError(files.readDirectory(place), Failure.ofFile("read", place))
  return names.filter((name) => /\.(ya?ml|json)$/.test(name)).sort().map((name) => Path.join(place, name))
})

const isWritten = (value: unknown): value is Written => {
  const { apiVersion, kind, metadata } = value as Partial<Written>
  return typeof apiVersion === "string" && typeof kind === "string" && typeof metadata?.name === "string"
}

/** The objects in a file. */
export const inFile = Effect.fnUntraced(function*(file: string) {
  const text = yield* Folder.read(file)
  if (text === undefined) return yield* Failure.make(`${file} does not exist`)
  const objects: Array<Written> = []
  for (const value of yield* Definitions.documents(text, file)) {
    if (!isWritten(value)) {
      return yield* Failure.make(
        `${file}: an object needs apiVersion, kind and metadata.name: ${JSON.stringify(value)}`
      )
    }
    objects.push(value)
  }
  return objects
})

/**
 * Applies an object; `from` is its file, for messages. One that names no namespace gets this one if its kind needs one.
 */
export const apply = Effect.fnUntraced(function*(
  object: Written,
  kinds: ReadonlyArray<Kind>,
  from: string,
  namespace: string = KubeConfig.defaults.namespace
) {
  const client = yield* KubeClient.KubeClient
  const { apiVersion, kind, metadata } = object
  const resource = resourceOf(object, kinds)
  if (resource === undefined) {
    return yield* Failure.make(
      `${from}: ${kind} of ${apiVersion} is neither a built-in kind nor one that the operator declares in \`resources\``
    )
  }
  const placed = resource.scope === "Cluster" ? metadata : { namespace, ...metadata }
  const wanted = { ...object, metadata: placed }
  // An API that the operator serves itself may not support server-side apply.
  const plainly = client.create(resource, wanted).pipe(
    Effect.catchReason(
      "KubeError",
      "AlreadyExists",
      () => client.patch(resource, placed, KubeClient.Patch.merge(wanted))
    )
  )
  yield* client.apply(resource, wanted, { fieldManager: "effect-operator-dev", force: true }).pipe(
    Effect.catchIf(({ reason }) => "code" in reason && reason.code === 415, () => plainly),
    // A webhook or an API that the operator has just started to serve may not be reachable yet.
    Effect.retry({
      schedule: Schedule.spaced("200 millis").pipe(Schedule.upTo({ duration: defaults.patience })),
      while: (error) => error.isRetryable
    }),
    Effect.mapError((error: KubeError) => Failure.make(`${from}: ${error.message}`))
  )
})

/** Deletes an object that was applied before. */
export const remove = Effect.fnUntraced(function*(object: Written, kinds: ReadonlyArray<Kind>) {
  const client = yield* KubeClient.KubeClient
  const resource = resourceOf(object, kinds)
  if (resource === undefined) return
  yield* client.delete(resource, object.metadata).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.void),
    Effect.mapError(({ message }) => Failure.make(message))
  )
})
