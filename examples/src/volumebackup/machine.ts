/** The first controller: a Machine is a Pod with a volume. It knows nothing of backups. */
import { Action, Cache, Controller, KubeClient, ObjectStatus, Sync } from "@effect-operator/core"
import { PersistentVolumeClaim, Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { Machine } from "./resource.ts"

const isRunning = ({ status }: Pod) => status?.phase === "Running"

export const machines = Controller.make("machine", {
  for: Machine,
  owns: [PersistentVolumeClaim, Pod],

  reconcile: Effect.fn("Machine.reconcile")(function*(machine, { events }) {
    const { name } = machine.metadata
    const { image, volumeSize } = machine.spec
    const pod = yield* Cache.get(Pod, machine)
    // A Pod that has ended is deleted, and created again once it is gone.
    if (pod?.status?.phase === "Failed" || pod?.status?.phase === "Succeeded") {
      yield* KubeClient.KubeClient.use((client) => client.delete(Pod, pod)).pipe(
        Effect.catchReason("KubeError", "NotFound", () => Effect.void)
      )
    }
    const { ready } = yield* Sync.children(machine, [PersistentVolumeClaim, Pod], [
      Sync.child(PersistentVolumeClaim, {
        metadata: { name },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: volumeSize } } }
      }),
      Sync.child(Pod, {
        metadata: { name },
        spec: {
          containers: [{ name: "machine", image, volumeMounts: [{ name: "disk", mountPath: "/disk" }] }],
          volumes: [{ name: "disk", persistentVolumeClaim: { claimName: name } }]
        }
      }, isRunning)
    ])
    if (ready && machine.status?.ready !== true) yield* events.normal({ reason: "MachineReady", note: `${name} runs` })
    yield* ObjectStatus.write(Machine, machine, { ready })
    return Action.done
  })
})
