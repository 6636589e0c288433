/**
 * `StoredVersions`: migrates every object of a kind to the current storage version.
 *
 * The server writes an object in the storage version whenever it is written at all, and records in the definition's
 * `status.storedVersions` which versions may still be on disk. A version can only be removed from the definition once
 * it is not among them. So every object is read and written back unchanged, and then the list is cut. A conflict means
 * that somebody else has just written the object, which is just as good; a deleted object needs nothing.
 *
 * Run it when no program that knows only the old version is running any more: as an administrator, or under the
 * operator's account, whose manifests then need `migrates: [...]`. Several at once, or an interrupted one, do no harm.
 *
 * Source: "Upgrade existing objects to a new stored version" in the Kubernetes documentation of versions.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { CustomResourceDefinition } from "./kinds/apiextensions.v1.ts"

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
  const current = definition.spec.versions.find((version) => version.storage)?.name
  if (current !== storage.version) {
    return yield* Effect.die(
      new Error(
        `StoredVersions.migrate: ${name} stores ${
          current ?? "nothing"
        }, not ${storage.version}: install the new definition first`
      )
    )
  }
  if (before.length === 1 && before[0] === current) return { written: 0, before } satisfies Migrated
  const plain = Resource.unstructured(storage)
  const written = yield* client.list(plain).pipe(
    Stream.mapEffect((object) =>
      client.replace(plain, object).pipe(
        Effect.as(1),
        Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(0)),
        Effect.catchReason("KubeError", "Conflict", () => Effect.succeed(0))
      )
    ),
    Stream.runFold(() => 0, (sum, one) => sum + one)
  )
  // A conflict if the definition has changed meanwhile: with another storage version this would be wrong.
  yield* client.replace(CustomResourceDefinition, {
    ...definition,
    status: { ...definition.status!, storedVersions: [current] }
  }, { subresource: "status" })
  return { written, before } satisfies Migrated
})
