import { KubeClient } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Job, PersistentVolumeClaim, Pod } from "@effect-operator/k8s/kinds"
import { Stream } from "effect"
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
  (kind === "Pod" && metadata.name === key.name)

export const example: Example = {
  name: "volumebackup",
  sample,
  follows: [Machine, Pod, Job],
  concerns,
  tryIt: [
    "kubectl get machines.machines.example.com -w",
    `kubectl delete machines.machines.example.com ${key.name} --wait=false`,
    "kubectl get jobs"
  ],
  resources: [Machine],
  controllers,
  kubelet: {
    ending: (pod) => pod.spec.containers[0]?.name === "backup" ? { after: "1 second", exitCode: 0 } : undefined
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
      title: "delete the Machine: its volume is backed up before it goes",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(Machine, key)),
      done: (objects) =>
        objects.filter(concerns).every(({ kind }) => kind === "Job") &&
        objects.some((object) => object.kind === "Job" && (object as Job).status?.succeeded === 1)
    },
    {
      title: "delete the backup",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) =>
        client.list(Job, { namespace: key.namespace }).pipe(
          Stream.filter(concerns),
          Stream.runForEach((job) => client.delete(Job, job, { propagationPolicy: "Background" }))
        )
      ),
      done: (objects) => !objects.some(concerns)
    }
  ]
}
