/** Two providers. Neither knows of Machines; each only fulfils the contract. */
import { Action, Controller, KubeClient, ObjectStatus } from "@effect-operator/core"
import { Clock, Effect } from "effect"
import { CloudMachine, MetalMachine } from "./resource.ts"

export const clouds = Controller.make("cloudmachine", {
  for: CloudMachine,
  reconcile: Effect.fn("CloudMachine.reconcile")(function*(machine) {
    const client = yield* KubeClient.KubeClient
    const providerID = `cloud://${machine.spec.flavor}/${machine.metadata.uid}`
    if (machine.spec.providerID === undefined) {
      yield* client.patch(CloudMachine, machine, KubeClient.Patch.merge({ spec: { providerID } }))
    }
    yield* ObjectStatus.write(CloudMachine, machine, { ready: true })
    return Action.done
  })
})

/** How long it takes to walk to a rack, in milliseconds. */
export const walk = 3_000

export const metals = Controller.make("metalmachine", {
  for: MetalMachine,
  reconcile: Effect.fn("MetalMachine.reconcile")(function*(machine) {
    const client = yield* KubeClient.KubeClient
    const { creationTimestamp, name } = machine.metadata
    const left = Date.parse(creationTimestamp) + walk - (yield* Clock.currentTimeMillis)
    if (left > 0) {
      yield* ObjectStatus.write(MetalMachine, machine, { ready: false })
      return Action.requeueAfter(left)
    }
    const providerID = `metal://${machine.spec.rack}/${name}`
    if (machine.spec.providerID === undefined) {
      yield* client.patch(MetalMachine, machine, KubeClient.Patch.merge({ spec: { providerID } }))
    }
    yield* ObjectStatus.write(MetalMachine, machine, { ready: true })
    return Action.done
  })
})
