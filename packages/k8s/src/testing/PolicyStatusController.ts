/**
 * `PolicyStatusController`: the status of ValidatingAdmissionPolicies.
 *
 * Every new generation of a policy is type-checked against the schemas of the kinds that it matches. The warnings, if
 * any, are applied to its status, with the generation they refer to.
 *
 * Source: k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import { keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ValidatingAdmissionPolicy } from "../kinds/admissionregistration.v1.ts"
import { CustomResourceDefinition } from "../kinds/apiextensions.v1.ts"
import * as Catalogue from "./admission/Catalogue.ts"
import * as TypeChecking from "./admission/TypeChecking.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"

const manager = "validatingadmissionpolicy-status"

/** Checks policies until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const informers = yield* Informers.Informers
  const policies = yield* informers.of(ValidatingAdmissionPolicy)
  const customs = yield* informers.of(CustomResourceDefinition)
  const agenda = yield* Loop.make({
    manager,
    reads: [policies, customs],
    sync: Effect.fnUntraced(function*(key) {
      const policy = policies.get(parseKey(key))
      if (policy === undefined) return
      const { generation = 0, name } = policy.metadata
      if (generation <= (policy.status?.observedGeneration ?? 0)) return
      const expressionWarnings = TypeChecking.check(policy, Catalogue.make(customs.all()))
      const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings }
      yield* client.apply(
        ValidatingAdmissionPolicy,
        { metadata: { name }, status: { observedGeneration: generation, typeChecking } },
        { subresource: "status", fieldManager: manager, force: true }
      )
    })
  })
  policies.listen((policy, before) => {
    if (policy === undefined) agenda.forget(keyString(before!))
    else agenda.now(keyString(policy))
  })
})
