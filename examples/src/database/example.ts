import { KubeClient } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap, Job, PersistentVolumeClaim, Pod, Secret, Service, StatefulSet } from "@effect-operator/k8s/kinds"
import { Stream } from "effect"
import { ensure, type Example } from "../Example.ts"
import { controller } from "./reconciler.ts"
import { Database } from "./resource.ts"
import * as Tasks from "./tasks.ts"

const sample = {
  apiVersion: Database.apiVersion,
  kind: Database.kind,
  metadata: { namespace: "default", name: "orders" },
  spec: { name: "orders", port: 5432, "storage-size": "1Gi", image: "postgres:17", replicas: 2 }
}
const { metadata: key } = sample

const change = (spec: Partial<Database["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(Database, key, KubeClient.Patch.merge({ spec })))

const runs = (image: string) => (objects: ReadonlyArray<KubeObject>) => {
  const database = objects.find(({ kind }) => kind === Database.kind) as Database | undefined
  return database?.status?.phase === "Ready" && database.status.image === image &&
    database.status.readyReplicas === 2 &&
    database.status.observedGeneration === database.metadata.generation
}

/** A Job's container ends after a while, and fails if its image is broken. */
const ending = (pod: Pod) => {
  const [container] = pod.spec.containers
  if (container === undefined || container.name === "database") return undefined
  return { after: "1 second", exitCode: container.image?.includes("broken") === true ? 1 : 0 } as const
}

const concerns = ({ kind, metadata }: KubeObject) =>
  kind === Database.kind || Tasks.owner.key in (metadata.labels ?? {}) ||
  metadata.ownerReferences?.some((owner) => owner.kind === Database.kind) === true

export const example: Example = {
  name: "database",
  sample,
  follows: [Database, StatefulSet, Job, PersistentVolumeClaim],
  concerns,
  tryIt: [
    "kubectl get databases -w",
    "kubectl get statefulsets,jobs,pvc",
    `kubectl patch database ${key.name} --type merge -p '{"spec":{"image":"postgres:19"}}'`,
    `kubectl delete database ${key.name}`
  ],
  resources: [Database],
  controllers: [controller],
  kubelet: { ending },
  writes: [
    ...[ConfigMap, Secret, Service, StatefulSet].map((resource) => ({
      resource,
      verbs: ["create", "patch", "delete"] as const
    })),
    { resource: Job, verbs: ["create", "delete"] },
    { resource: PersistentVolumeClaim, verbs: ["create", "patch", "delete"] }
  ],
  story: [
    {
      title: "apply a Database: volumes, servers, and then its first configuration",
      act: ensure(Database, { metadata: key, spec: sample.spec }),
      done: runs("postgres:17")
    },
    {
      title: "upgrade: a backup, a Job that upgrades, and then the servers",
      act: change({ image: "postgres:18" }),
      done: runs("postgres:18")
    },
    {
      title: "an upgrade that fails is rolled back",
      act: change({ image: "postgres:19-broken" }),
      done: (objects) =>
        runs("postgres:18")(objects) &&
        objects.some((object) => (object as Database).status?.rejectedImage === "postgres:19-broken")
    },
    {
      title: "delete the Database: its servers and volumes go, a last backup stays",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(Database, key)),
      done: (objects) =>
        objects.some(({ metadata }) => metadata.annotations?.[Tasks.purpose] === "final") &&
        objects.filter(concerns).every(({ kind, metadata }) =>
          kind === PersistentVolumeClaim.kind && Tasks.completed in (metadata.annotations ?? {})
        )
    },
    {
      title: "delete the backups",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) =>
        client.list(PersistentVolumeClaim, { namespace: "default", labels: Tasks.owner.key }).pipe(
          Stream.runForEach((claim) => client.delete(PersistentVolumeClaim, claim))
        )
      ),
      done: (objects) => !objects.some(concerns)
    }
  ]
}
