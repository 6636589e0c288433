import { KubeClient } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Job, PersistentVolumeClaim, Pod } from "@effect-operator/k8s/kinds"
import { Effect, Stream } from "effect"
import { ensure, type Example } from "../Example.ts"
import { annotation } from "./backup.ts"
import { controllers } from "./controllers.ts"
import { Machine } from "./resource.ts"

const sample = {
  apiVersion: Machine.apiVersion,
  kind: Machine.kind,
  metadata: { namespace: "default", name: "worker" },
  spec: { image: "nginx:1.27", volumeSize: "1Gi" }
}
const { metadata: key } = sample

const machineOf = (objects: ReadonlyArray<KubeObject>) =>
  objects.find(({ kind }) => kind === Machine.kind) as Machine | undefined

const concerns = ({ kind, metadata }: KubeObject) =>
  kind === Machine.kind || annotation in (metadata.annotations ?? {}) ||
  ((kind === "Pod" || kind === "PersistentVolumeClaim") && metadata.name === key.name)

const isBackup = ({ kind, metadata }: KubeObject) =>
  (kind === "Job" || kind === "PersistentVolumeClaim") && annotation in (metadata.annotations ?? {})

export const example: Example = {
  name: "volumebackup",
  sample,
  follows: [Machine, Pod, Job, PersistentVolumeClaim],
  concerns,
  tryIt: [
    "kubectl get machines.machines.example.com -w",
    `kubectl delete machines.machines.example.com ${key.name} --wait=false`,
    "kubectl get jobs,pvc"
  ],
  resources: [Machine],
  controllers,
  kubelet: {
    ending: (pod) => {
      const [container] = pod.spec.containers
      if (container?.name !== "backup") return undefined
      // busybox itself has no such folder.
      const mounted = container.volumeMounts?.some(({ mountPath }) => mountPath === "/backup") === true
      return { after: "1 second", exitCode: mounted ? 0 : 1 }
    }
  },
  writes: [
    { resource: PersistentVolumeClaim, verbs: ["create", "patch", "delete"] },
    { resource: Pod, verbs: ["create", "patch", "delete", "deletecollection"] },
    { resource: Job, verbs: ["create", "delete"] }
  ],
  story: [
    {
      title: "apply a Machine: one controller runs it, the other leaves its finalizer",
      act: ensure(Machine, { metadata: key, spec: sample.spec }),
      done: (objects) =>
        machineOf(objects)?.status?.ready === true && machineOf(objects)?.metadata.finalizers?.length === 1
    },
    {
      title: "delete the Machine: its volume is backed up before it goes, and the backup stays",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(Machine, key)),
      done: (objects) =>
        objects.filter(concerns).every(isBackup) &&
        objects.some((object) => object.kind === "PersistentVolumeClaim" && isBackup(object)) &&
        objects.some((object) => object.kind === "Job" && (object as Job).status?.succeeded === 1)
    },
    {
      title: "delete the backup",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) =>
        Effect.andThen(
          client.list(Job, { namespace: key.namespace }).pipe(
            Stream.filter(isBackup),
            Stream.runForEach((job) => client.delete(Job, job, { propagationPolicy: "Background" }))
          ),
          client.list(PersistentVolumeClaim, { namespace: key.namespace }).pipe(
            Stream.filter(isBackup),
            Stream.runForEach((claim) => client.delete(PersistentVolumeClaim, claim))
          )
        )
      ),
      done: (objects) => !objects.some(concerns)
    }
  ]
}
