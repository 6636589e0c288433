/**
 * `Declared`: the custom resources of a test, on the in-memory server.
 *
 * If a kind is declared with its versions, all of them are installed. The server converts between them with the
 * declared functions, without a webhook server, so the Service that the definition names need not exist. If an operator
 * installs its own conversion webhook (`Webhook.install`), that one is called from then on.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import {
  type CustomResourceVersions,
  isVersions,
  storageOf,
  versionsOf
} from "@effect-operator/core/CustomResourceVersions"
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Crd from "../Crd.ts"
import * as Handler from "../webhook/Handler.ts"
import * as Hook from "../webhook/Hook.ts"
import { ApiServer } from "./ApiServer.ts"
import * as InProcess from "./InProcess.ts"

export type Declared = CustomResource | CustomResourceVersions

/** The storage version of each kind. */
export const stored = (declared: ReadonlyArray<Declared>): ReadonlyArray<CustomResource> => declared.map(storageOf)

export const versions = (declared: ReadonlyArray<Declared>): ReadonlyArray<CustomResource> =>
  declared.flatMap(versionsOf)

const serviceOf = ({ storage: { group, plural } }: CustomResourceVersions) => ({
  namespace: "kube-system",
  name: `${plural}-${group}`.replaceAll(".", "-")
})

/** The options of its definition: the conversion webhook, if it has several versions. */
const optionsOf = (declared: Declared): Crd.Options => {
  if (!isVersions(declared)) return {}
  const { path } = Hook.conversion(declared)
  return { conversion: { clientConfig: { service: { ...serviceOf(declared), path } } } }
}

/** The CustomResourceDefinition that is installed for a kind. */
export const definition = (declared: Declared): Crd.Manifest => Crd.make(declared, optionsOf(declared))

/** Installs the kinds, and waits until they are served. */
export const install = (declared: ReadonlyArray<Declared>): Effect.Effect<void, KubeError, KubeClient> =>
  Effect.forEach(declared, (one) => Crd.install(one, optionsOf(one)), { discard: true })

/** Serves the conversion between versions until the scope closes. */
export const serve = (
  declared: ReadonlyArray<Declared>
): Effect.Effect<void, never, ApiServer | Scope.Scope> =>
  Effect.gen(function*() {
    const several = declared.filter(isVersions)
    if (several.length === 0) return
    const listen = yield* InProcess.make(yield* ApiServer)
    for (const one of several) {
      yield* listen(InProcess.keyOf(serviceOf(one)), InProcess.backend(yield* Handler.make([Hook.conversion(one)])))
    }
  })
