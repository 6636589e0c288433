/**
 * `StoredVersions`: migrates every object of a kind to the current storage version.
 *
 * The server writes an object in the storage version whenever it is written at all, and records in the definition's
 * `status.storedVersions` which versions may still be on disk. A version can only be removed from the definition once
 * it is not among them. So every object is read and written back unchanged, and then the list is cut. A conflict means
 * that somebody else has just written the object, which is just as good; a deleted object needs nothing. A list of very
 * many objects expires before all are written; then it begins anew, and what is written is skipped.
 *
 * Run it when no program that knows only the old version is running any more: as an administrator, or under the
 * operator's account, whose manifests then need `migrates: [...]`. Several at once, or an interrupted one, do no harm.
 *
 * Source: "Upgrade existing objects to a new stored version" in the Kubernetes documentation of versions.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import type { KubeError } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { CustomResourceDefinition } from "./kinds/apiextensions.v1.ts"

/** A write that got no verdict is repeated: four times, after 500 ms and then twice as long each. */
const retry = Schedule.max([Schedule.exponential("500 millis"), Schedule.recurs(4)])

/** The number of objects written, and the versions that were stored before. */
export interface Migrated {
  readonly written: number
  readonly before: ReadonlyArray<string>
}

/**
 * Rewrites all objects in the storage version, then sets `status.storedVersions` of the definition to it. Does nothing
 * if that is the only stored version already.
 */
export const migrate = Effect.fn("StoredVersions.migrate")(function*(storage: CustomResource) {
  const client = yield* KubeClient.KubeClient
  const name = `${storage.plural}.${storage.group}`
  const definition = yield* client.get(CustomResourceDefinition, { name })
  const before = definition.status?.storedVersions ?? []
  const current = storedIn(definition)
  if (current !== storage.version) {
    return yield* Effect.die(
      new Error(
        `StoredVersions.migrate: ${name} stores ${
          current ?? "nothing"
        }, not ${storage.version}: install the new definition first`
      )
    )
  }
  if (isOnly(definition, current)) return { written: 0, before } satisfies Migrated
  const plain = Resource.unstructured(storage)
  const done = new Set<string>()
  let written = 0
  const rewrite = (object: KubeObject) =>
    client.replace(plain, object).pipe(
      Effect.as(1),
      Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(0)),
      Effect.catchReason("KubeError", "Conflict", () => Effect.succeed(0)),
      Effect.retry({ schedule: retry, while: ({ isRetryable }) => isRetryable }),
      Effect.map((one) => {
        written += one
        done.add(object.metadata.uid)
      })
    )
  const rewriteAll: Effect.Effect<void, KubeError> = Effect.suspend(() => {
    const before = done.size
    return client.list(plain).pipe(
      Stream.filter(({ metadata }) => !done.has(metadata.uid)),
      Stream.runForEach(rewrite),
      Effect.catchIf(({ reason }) => reason._tag === "Gone" && done.size > before, () => rewriteAll)
    )
  })
  yield* rewriteAll

  /** What others have written into the definition since is no obstacle unless it is another spec. */
  const cut = (from: CustomResourceDefinition): Effect.Effect<void, KubeError> =>
    client.replace(CustomResourceDefinition, {
      ...from,
      status: { ...from.status!, storedVersions: [current] }
    }, { subresource: "status" }).pipe(
      Effect.asVoid,
      Effect.catchIf(
        ({ reason }) => reason._tag === "Conflict",
        (conflict) =>
          Effect.flatMap(client.get(CustomResourceDefinition, { name }), (now) => {
            if (isOnly(now, current)) return Effect.void
            // With another storage version meanwhile, objects may have been written in that one.
            const isSame = now.metadata.uid === definition.metadata.uid &&
              now.metadata.generation === definition.metadata.generation
            return isSame ? cut(now) : Effect.fail(conflict)
          })
      )
    )
  yield* cut(definition)
  return { written, before } satisfies Migrated
})

const storedIn = ({ spec }: CustomResourceDefinition): string | undefined =>
  spec.versions.find((version) => version.storage)?.name

/** Whether this is the storage version, and the only one in which objects are stored. */
const isOnly = (definition: CustomResourceDefinition, version: string): boolean => {
  const stored = definition.status?.storedVersions ?? []
  return storedIn(definition) === version && stored.length === 1 && stored[0] === version
}
