/**
 * KronJobs whose Jobs end: well or badly, one after the other, and are kept as long as the spec says. Every schedule is
 * one minute of the first day, so that the story rests between two of them.
 */
import { KubeClient, Manager } from "@effect-operator/core"
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import { controller } from "@effect-operator/examples/kronjob/reconciler"
import { KronJob } from "@effect-operator/examples/kronjob/resource"
import { Job } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"

const key = { namespace: "default", name: "report" }

const change = (spec: Partial<KronJob["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(KronJob, key, KubeClient.Patch.merge({ spec })))

/** A minute of the day on which simulations begin: one that comes after the step before has come to rest. */
const at = (hour: number, minute: number) => `${minute} ${hour} 1 1 *`

const ends = (job: Job): "Complete" | "Failed" | undefined =>
  job.status?.conditions?.find(({ status, type }) => status === "True" && (type === "Complete" || type === "Failed"))
    ?.type as "Complete" | "Failed" | undefined

/** How many Jobs have succeeded, failed and run; and that the status tells the same. */
const kept = (succeeded: number, failed: number, running: number) => (objects: ReadonlyArray<KubeObject>): boolean => {
  const kronJob = objects.find((object): object is KronJob => object.kind === KronJob.kind)
  const jobs = objects.filter((object): object is Job => object.kind === Job.kind)
    .filter((job) => controllerOf(job)?.uid === kronJob?.metadata.uid)
  const of = (end: ReturnType<typeof ends>) => jobs.filter((job) => ends(job) === end)
  const [complete, active] = [of("Complete"), of(undefined)]
  return complete.length === succeeded && of("Failed").length === failed && active.length === running &&
    kronJob?.status?.active.map(({ uid }) => uid).join() === active.map(({ metadata }) => metadata.uid).join() &&
    complete.every(({ status }) => status?.completionTime === kronJob.status?.lastSuccessfulTime)
}

export const scenario: Simulation.Scenario = {
  name: "kronjob-history",
  resources: [KronJob],
  cluster: {
    kubelet: {
      ending: ({ spec }) =>
        spec.containers[0]!.image === "endless"
          ? undefined
          : { after: "3 seconds", exitCode: spec.containers[0]!.image === "fails" ? 1 : 0 }
    }
  },
  operator: Manager.layer([controller]),
  rest: "15 minutes",
  // What is kept tells of every step: one that comes before its time has no Job.
  without: ["hurried"],
  steps: [
    {
      name: "a Job is due, and ends well",
      act: KubeClient.KubeClient.use((client) =>
        client.create(KronJob, {
          metadata: key,
          spec: { schedule: at(0, 1), jobTemplate: { image: "works" }, successfulJobsHistoryLimit: 1 }
        })
      ),
      desired: kept(1, 0, 0)
    },
    {
      name: "another one takes its place",
      act: change({ schedule: at(0, 20) }),
      desired: (objects) =>
        kept(1, 0, 0)(objects) &&
        objects.some(({ kind, metadata }) =>
          kind === Job.kind && metadata.name === `report-${Date.UTC(2026, 0, 1, 0, 20) / 1000}`
        )
    },
    {
      name: "the next one fails",
      act: change({ schedule: at(0, 40), jobTemplate: { image: "fails", restartPolicy: "Never" } }),
      desired: kept(1, 1, 0)
    },
    {
      name: "the next one does not end",
      act: change({ schedule: at(1, 0), jobTemplate: { image: "endless" } }),
      desired: kept(1, 1, 1)
    },
    {
      name: "one is due that replaces it",
      act: change({ schedule: at(1, 20), concurrencyPolicy: "Replace", jobTemplate: { image: "works" } }),
      desired: kept(1, 1, 0)
    },
    { name: "what is over is not kept", act: change({ completedJobsExpirySeconds: 60 }), desired: kept(0, 0, 0) },
    { name: "delete it", act: KubeClient.KubeClient.use((client) => client.delete(KronJob, key)) }
  ]
}
