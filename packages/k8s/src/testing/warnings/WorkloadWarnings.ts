/**
 * `WorkloadWarnings`: warnings about workloads.
 *
 * Source: k8s.io/kubernetes/pkg/registry/apps, pkg/registry/batch, pkg/registry/core and pkg/api/job/warnings.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as ClaimWarnings from "./ClaimWarnings.ts"
import type { Warnings } from "./NodeLabelWarnings.ts"
import * as PodWarnings from "./PodWarnings.ts"

type Of = (object: KubeObject, previous: KubeObject | undefined) => Warnings

/** Warns about a name that is not a valid host name. */
const ofName = ({ metadata }: KubeObject, use: string): Warnings => {
  const faults = Names.dnsLabel(metadata.name)
  return faults.length === 0 ? [] : [
    `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: ` +
    `[${faults.join(" ")}]`
  ]
}

const made = "Pod names and hostnames"

/** Applies only to new objects and to changes of the desired state. */
const whenChanged = (of: (object: KubeObject) => Warnings): Of => (object, previous) =>
  previous === undefined || object.metadata.generation !== previous.metadata.generation ? of(object) : []

/** Updates of Pods come from programs, which ignore warnings. */
export const ofPod: Of = (pod, previous) =>
  previous === undefined ? [...ofName(pod, "the Pod's hostname"), ...PodWarnings.ofPod(pod)] : []

/** Warnings about the Pod template at a path of keys. */
export const ofTemplate = (...path: ReadonlyArray<string>): Of =>
  whenChanged((object) => PodWarnings.ofTemplate(at(object, ...path), path.join(".")))

const templateGeneration = "deprecated.daemonset.template.generation"

/** A DaemonSet counts the changes of its template, and is judged again only after one. */
export const ofDaemonSet: Of = (set, previous) => {
  const count = (object: KubeObject) => object.metadata.annotations?.[templateGeneration]
  return previous === undefined || count(set) !== count(previous)
    ? PodWarnings.ofTemplate(at(set, "spec", "template"), "spec.template")
    : []
}

/** As `ofTemplate`, for a kind whose name becomes part of its Pods' names. */
export const ofNamedTemplate: Of = (object, previous) => [
  ...(previous === undefined ? ofName(object, made) : []),
  ...ofTemplate("spec", "template")(object, previous)
]

export const ofStatefulSet: Of = (set, previous) => {
  const limit = at(set, "spec", "revisionHistoryLimit")
  return [
    ...ofTemplate("spec", "template")(set, previous),
    ...arrayAt(set, "spec", "volumeClaimTemplates").flatMap((claim, index) =>
      ClaimWarnings.ofClaimSpec(
        at(claim, "spec"),
        // The path in an update differs from that in a creation.
        `spec.volumeClaimTemplates[${index}]${previous === undefined ? "" : ".Spec"}`
      )
    ),
    ...(typeof limit === "number" && limit < 0
      ? [
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
      ]
      : [])
  ]
}

const ofJobSpec = (spec: unknown, path: string): Warnings => {
  const { completionMode, completions = 0, parallelism = 0 } = objectAt(spec)
  const untrackable = completionMode === "Indexed" && Number(completions) > 100_000 && Number(parallelism) > 10_000
  return [
    ...(untrackable
      ? [
        `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, ` +
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
      ]
      : []),
    ...PodWarnings.ofTemplate(at(spec, "template"), `${path}.template`)
  ]
}

export const ofJob: Of = (job, previous) => [
  ...(previous === undefined ? ofName(job, made) : []),
  ...whenChanged((job) => ofJobSpec(at(job, "spec"), "spec"))(job, previous)
]

export const ofCronJob: Of = (cronJob, previous) => [
  ...(previous === undefined ? ofName(cronJob, made) : []),
  ...whenChanged((cronJob) => ofJobSpec(at(cronJob, "spec", "jobTemplate", "spec"), "spec.jobTemplate.spec"))(
    cronJob,
    previous
  ),
  ...(previous !== undefined && stringAt(cronJob, "spec", "schedule").includes("TZ")
    ? [
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see " +
      "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]
    : [])
]
