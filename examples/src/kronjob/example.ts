import { KubeClient } from "@effect-operator/core"
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import { Job } from "@effect-operator/k8s/kinds"
import { ensure, type Example } from "../Example.ts"
import { controller } from "./reconciler.ts"
import { KronJob } from "./resource.ts"

const sample = {
  apiVersion: KronJob.apiVersion,
  kind: KronJob.kind,
  metadata: { namespace: "default", name: "report" },
  spec: {
    schedule: "*/4 * * * * *",
    timeZone: "Europe/Berlin",
    jobTemplate: { image: "busybox", command: ["date"] },
    concurrencyPolicy: "Forbid" as const,
    startingDeadlineSeconds: 30
  }
}
const { metadata: key } = sample

const change = (spec: Partial<KronJob["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(KronJob, key, KubeClient.Patch.merge({ spec })))

const jobsOf = (objects: ReadonlyArray<KubeObject>) =>
  objects.filter((object) => object.kind === "Job" && controllerOf(object)?.kind === KronJob.kind)

const kronJobOf = (objects: ReadonlyArray<KubeObject>) =>
  objects.find(({ kind }) => kind === KronJob.kind) as KronJob | undefined

export const example: Example = {
  name: "kronjob",
  sample,
  follows: [KronJob, Job],
  concerns: (object) => object.kind === KronJob.kind || jobsOf([object]).length > 0,
  tryIt: [
    "kubectl get kronjobs -w",
    "kubectl get jobs",
    `kubectl patch kronjob ${key.name} --type merge -p '{"spec":{"suspend":true}}'`,
    `kubectl delete kronjob ${key.name}`
  ],
  resources: [KronJob],
  controllers: [controller],
  writes: [{ resource: Job, verbs: ["create", "delete"] }],
  story: [
    {
      title: "apply a KronJob for every four seconds: the first Job starts in time",
      act: ensure(KronJob, { metadata: key, spec: sample.spec }),
      done: (objects) => jobsOf(objects).length > 0 && kronJobOf(objects)?.status?.lastScheduleTime !== undefined
    },
    {
      title: "suspend it",
      act: change({ suspend: true }),
      done: (objects) => kronJobOf(objects)?.status?.conditions[0]?.reason === "Suspended"
    },
    {
      title: "a schedule that is none is said to be none",
      act: change({ suspend: false, schedule: "every now and then" }),
      done: (objects) => kronJobOf(objects)?.status?.conditions[0]?.reason === "InvalidSchedule"
    },
    {
      title: "delete the KronJob: its Jobs go with it",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(KronJob, key)),
      done: (objects) => jobsOf(objects).length === 0 && kronJobOf(objects) === undefined
    }
  ]
}
