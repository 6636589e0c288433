/**
 * `Kubelet`: scheduler and kubelet in one, for Pods that run nothing.
 *
 * A Pod without a node is bound to one, at once; `startDelay` later it is Running and ready, with IP, conditions and
 * container statuses. A deleted Pod goes after `terminationDelay`, or its grace period if that is shorter. What only a
 * crash or a finished program could bring about is brought about by `fail` and `exit`, or by the option `ending`.
 * Times are those of the Clock in context, so a test with a virtual one decides when anything happens.
 *
 * Every write is guarded by uid and resourceVersion: it loses against a concurrent change and is then decided anew.
 * Finished Pods (Succeeded, Failed) stay finished, as they do in a real cluster; restarting containers is `exit`'s
 * business and follows the restart policy.
 *
 * Not simulated: nodes and their capacity, images and pulls, probes (a running container is ready), init containers
 * (done in no time), volumes, logs and exec, eviction under pressure, a back-off that grows with the restarts, QoS.
 */
import { FieldManager, KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, type ObjectRef } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Binding, Node, Pod, type PodStatus } from "../kinds/core.v1.ts"
import * as Agenda from "./sim/Agenda.ts"
import * as Exchange from "./server/Exchange.ts"
import { follow } from "./sim/Follow.ts"
import * as PodStates from "./sim/PodStates.ts"

export const defaults = {
  /** From a Pod's creation to its binding. */
  scheduleDelay: "0 seconds",
  /** From its binding to Running. */
  startDelay: "1 second",
  /** From the request to delete it to its end, unless its grace period is shorter. */
  terminationDelay: "1 second",
  /** From the end of its containers to their restart, where the restart policy wants one. */
  restartDelay: "10 seconds",
  /** The nodes Pods are bound to, in turn. */
  nodes: ["sim-node-0", "sim-node-1", "sim-node-2"]
} as const

export interface Options {
  readonly scheduleDelay?: Duration.Input | undefined
  readonly startDelay?: Duration.Input | undefined
  readonly terminationDelay?: Duration.Input | undefined
  readonly restartDelay?: Duration.Input | undefined
  readonly nodes?: ReadonlyArray<string> | undefined
  /** Creates a Node object, ready, for each of them; not by default, as nothing but people looks at them. */
  readonly registerNodes?: boolean | undefined
  /** How and when the containers of a Pod end by themselves, counted from Running; never by default. */
  readonly ending?: ((pod: Pod) => (PodStates.Ending & { readonly after: Duration.Input }) | undefined) | undefined
}

/** Why a Pod fails. */
export interface Failure {
  /** `Evicted`, `NodeLost`, …; none by default, as after a crash. */
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** 1 by default. */
  readonly exitCode?: number | undefined
}

export class Kubelet extends Context.Service<Kubelet, {
  /** The Pod fails for good, whatever its restart policy, as one whose node is lost. Finished Pods are left alone. */
  readonly fail: (pod: ObjectRef, failure?: Failure) => Effect.Effect<void, KubeError>
  /**
   * All containers of the Pod end: they are restarted after a while, or the Pod is Succeeded or Failed, as its restart
   * policy and the exit code have it.
   */
  readonly exit: (pod: ObjectRef, exitCode: number) => Effect.Effect<void, KubeError>
}>()("@effect-operator/k8s/testing/Kubelet") {}

/** Makes a Pod fail for good; see the service. */
export const fail = (pod: ObjectRef, failure?: Failure): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.fail(pod, failure))

/** Ends a Pod's containers; see the service. */
export const exit = (pod: ObjectRef, exitCode: number): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.exit(pod, exitCode))

/** Runs the Pods of the server until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<Kubelet, never, KubeClient> =>
  Layer.effect(Kubelet, make(options))

/** A binding is written to a subresource of the Pod, but is a kind of its own. */
const PodBinding = Resource.make<Binding>()({
  group: "",
  version: "v1",
  kind: "Binding",
  plural: "pods",
  scope: "Namespaced",
  subresources: ["binding"]
})

/** A Pod under care. */
interface Care {
  pod: Pod
  step: PodStates.Step
  /** When the step is due. */
  due: number
}

/** A Node that is there already, or that the server does not take, is left as it is. */
const registerNode = (client: KubeClient["Service"], name: string, now: string): Effect.Effect<void> =>
  client.create(Node, { metadata: { name, labels: { "kubernetes.io/hostname": name } } }).pipe(
    Effect.andThen((node) => {
      const ready = { lastHeartbeatTime: now, lastTransitionTime: now, type: "Ready", status: "True" }
      const condition = { ...ready, reason: "KubeletReady", message: "kubelet is posting ready status" }
      const addresses = [{ type: "InternalIP", address: "192.0.2.1" }, { type: "Hostname", address: name }]
      const nodeInfo = { kubeletVersion: "v1.35.0", osImage: "simulated", containerRuntimeVersion: "sim://1.0.0" }
      const status = { conditions: [condition], addresses, nodeInfo }
      return client.patch(Node, node, Patch.merge({ status }), { subresource: "status" })
    }),
    Effect.provideService(FieldManager, "kubelet"),
    Effect.ignore
  )

const make = Effect.fnUntraced(function*(options: Options) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const pods = new Map<string, Care>()
  const nodes = options.nodes ?? defaults.nodes
  let bound = 0
  let addresses = 0

  const millis = (option: Duration.Input | undefined, otherwise: Duration.Input) =>
    Duration.toMillis(Duration.fromInputUnsafe(option ?? otherwise))
  const delays: Record<Exclude<PodStates.Step, "Exit">, number> = {
    Bind: millis(options.scheduleDelay, defaults.scheduleDelay),
    Start: millis(options.startDelay, defaults.startDelay),
    Restart: millis(options.restartDelay, defaults.restartDelay),
    Refresh: 0,
    Remove: millis(options.terminationDelay, defaults.terminationDelay)
  }

  const delayOf = (step: PodStates.Step, pod: Pod): number => {
    switch (step) {
      case "Remove":
        return Math.min(delays.Remove, (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000)
      case "Exit":
        return millis(options.ending?.(pod)?.after, 0)
      default:
        return delays[step]
    }
  }

  const timestamp = () => Exchange.timestamp(clock.currentTimeMillisUnsafe())

  const nextHost = (): PodStates.Host => {
    addresses += 1
    return {
      now: timestamp(),
      hostIP: "192.0.2.1",
      podIP: `10.${(addresses >>> 16) & 0xff}.${(addresses >>> 8) & 0xff}.${addresses & 0xff}`
    }
  }

  const writeStatus = (pod: Pod, status: PodStatus) => {
    const { resourceVersion, uid } = pod.metadata
    return client.patch(Pod, pod, Patch.merge({ metadata: { resourceVersion, uid }, status }), {
      subresource: "status"
    })
  }

  const bind = (pod: Pod) => {
    const { name, namespace, uid } = pod.metadata
    const target = { apiVersion: "v1", kind: "Node", name: nodes[bound++ % nodes.length]! }
    return client.create(PodBinding, { metadata: { name, namespace, uid }, target }, { subresource: "binding" })
  }

  const end = (pod: Pod, ending: PodStates.Ending) =>
    writeStatus(
      pod,
      PodStates.restarts(pod, ending)
        ? PodStates.crashed(pod, ending, timestamp())
        : PodStates.finished(pod, ending, timestamp())
    )

  const perform = (step: PodStates.Step, pod: Pod): Effect.Effect<unknown, KubeError> => {
    switch (step) {
      case "Bind":
        return bind(pod)
      case "Start":
        return writeStatus(pod, PodStates.running(pod, nextHost()))
      case "Restart":
        return writeStatus(pod, PodStates.restarted(pod, timestamp()))
      case "Refresh":
        return writeStatus(pod, PodStates.refreshed(pod, timestamp()))
      case "Exit":
        return end(pod, options.ending?.(pod) ?? { exitCode: 0 })
      case "Remove":
        return client.delete(Pod, pod, { gracePeriodSeconds: 0 })
    }
  }

  /** Does what the Pod waits for, if its time has come; what is done shows in the watch, which brings the next step. */
  const work = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const care = pods.get(key)
    if (care === undefined) return
    if (care.due > clock.currentTimeMillisUnsafe()) return agenda.at(key, care.due)
    yield* perform(care.step, care.pod).pipe(
      // Gone meanwhile: the watch says so, too.
      Effect.catchReason("KubeError", "NotFound", () => Effect.void)
    )
  }, Effect.provideService(FieldManager, "kubelet"))

  const agenda = yield* Agenda.make(work)

  yield* Effect.forkScoped(follow(Pod, {
    onPresent: (pod) => {
      const key = keyString(pod)
      const step = PodStates.stepOf(pod, options.ending?.(pod) !== undefined)
      const care = pods.get(key)
      if (step === undefined) {
        pods.delete(key)
        agenda.forget(key)
        return
      }
      // A change of something else does not start the wait anew.
      const due = care?.step === step ? care.due : clock.currentTimeMillisUnsafe() + delayOf(step, pod)
      pods.set(key, { pod, step, due })
      agenda.at(key, due)
    },
    onGone: (pod) => {
      pods.delete(keyString(pod))
      agenda.forget(keyString(pod))
    }
  }))

  if (options.registerNodes === true) {
    yield* Effect.forEach(nodes, (name) => registerNode(client, name, timestamp()), { discard: true })
  }

  /** Changes the Pod as it is now; a change in between is looked at again. */
  const change = (ref: ObjectRef, update: (pod: Pod) => Effect.Effect<unknown, KubeError>) =>
    client.get(Pod, ref).pipe(
      Effect.flatMap((pod) => PodStates.isFinished(pod) ? Effect.void : update(pod)),
      Effect.retry({ while: (error) => error.reason._tag === "Conflict", times: 10 }),
      Effect.provideService(FieldManager, "kubelet"),
      Effect.asVoid
    )

  return Kubelet.of({
    fail: (ref, failure = {}) =>
      change(
        ref,
        (pod) => writeStatus(pod, PodStates.finished(pod, { ...failure, exitCode: failure.exitCode ?? 1 }, timestamp()))
      ),
    exit: (ref, exitCode) => change(ref, (pod) => end(pod, { exitCode }))
  })
})
