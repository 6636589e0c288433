import { Action, Conditions, Controller, KubeClient, ObjectStatus, Watch } from "@effect-operator/core"
import { controllerOf, controllerReference, type KubeObject } from "@effect-operator/core/KubeObject"
import { CustomResourceDefinition } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import * as Contract from "./contract.ts"
import { Machine } from "./resource.ts"

type Finding = { readonly reason: string; readonly message: string; readonly providerID?: string | undefined }

/** Reads the infrastructure object, and makes the Machine its controller. */
const look = Effect.fnUntraced(function*(machine: Machine) {
  const client = yield* KubeClient.KubeClient
  const { infrastructureRef: reference } = machine.spec
  const name = `${reference.kind} ${reference.name}`
  const resource = yield* Contract.resourceOf(reference)
  if (resource === undefined) {
    return {
      reason: "KindMissing",
      message: `there is no kind ${reference.kind} of ${reference.apiVersion}`
    } as Finding
  }
  if (resource.scope === "Cluster") {
    const message = `${reference.kind} is cluster-scoped: infrastructure lives in the namespace of its Machine`
    return { reason: "ContractBroken", message } as Finding
  }
  const key = { namespace: machine.metadata.namespace, name: reference.name }
  const found: KubeObject | undefined = yield* client.get(resource, key).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
  )
  if (found === undefined) return { reason: "NotFound", message: `there is no ${name}` } as Finding
  const said = Contract.read(found, machine)
  if (said._tag === "Broken") return { reason: "ContractBroken", message: said.message } as Finding
  if (controllerOf(found) === undefined) {
    const { ownerReferences = [], resourceVersion } = found.metadata
    // If somebody else has taken it meanwhile, this is a conflict.
    const metadata = { resourceVersion, ownerReferences: [...ownerReferences, controllerReference(machine)] }
    yield* client.patch(resource, found, KubeClient.Patch.merge({ metadata }))
  }
  return said.ready
    ? { reason: "Ready", message: `runs as ${said.providerID}`, providerID: said.providerID } as Finding
    : { reason: "NotReady", message: `waits for ${name}` } as Finding
})

export const machines = Controller.make("machine-contract", {
  for: Machine,
  dynamicWatches: Contract.infrastructure,
  watches: [
    // When a kind appears or disappears, reconcile the Machines that refer to it.
    Watch.make(CustomResourceDefinition, {
      reads: [Machine],
      map: ({ spec }, cache) =>
        cache.list(Machine, { filter: (machine) => machine.spec.infrastructureRef.kind === spec.names.kind })
          .map(({ metadata }) => metadata)
    })
  ],

  reconcile: Effect.fn("Machine.reconcile")(function*(machine, { events }) {
    const { message, providerID, reason }: Finding = yield* look(machine)
    const before = Conditions.get(machine.status?.conditions, "InfrastructureReady")
    if (before?.reason !== reason) {
      const event = { reason, note: message }
      yield* reason === "ContractBroken" ? events.warning(event) : events.normal(event)
    }
    yield* ObjectStatus.write(Machine, machine, {
      ready: reason === "Ready",
      ...(providerID !== undefined && { providerID }),
      conditions: yield* Conditions.state(machine, machine.status?.conditions, {
        type: "InfrastructureReady",
        status: reason === "Ready",
        reason,
        message
      })
    })
    // An object that the Machine does not control triggers no reconcile.
    return reason === "NotFound" || reason === "ContractBroken" ? Action.requeueAfter("15 seconds") : Action.done
  })
})
