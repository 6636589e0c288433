/**
 * `Kubelet`: the nodes of a simulated cluster: a scheduler, and kubelets for Pods that run no programs.
 *
 * A Pod is bound to a node at once. After `startDelay` it is Running and ready, with IP, conditions and container
 * statuses. A script per container (`script`) can make it do anything else: start or become ready slowly, fail to pull
 * its image, exit, crash or be killed, repeatedly (see `PodLife`). A test can also cause this directly: `crash`,
 * `exit`, `fail`, `evict`. A deleted Pod is removed once its containers have stopped, at the latest after its grace
 * period.
 *
 * With `registerNodes`, nodes are objects that report their health. Pods are placed on them by selector, affinity,
 * taints and resources. They have Leases, and can be lost and restored. A lost node writes nothing, so its Pods stay
 * unchanged, including deleted ones; `NodeLifecycle` simulates how the control plane reacts. Without Node objects, Pods
 * are bound in turn to nodes that are not visible in the API.
 *
 * A Pod waits for the Secrets and ConfigMaps that its volumes and environment variables name (see `PodSources`).
 *
 * Times are those of the Clock in context. Every write has uid and resourceVersion as preconditions; after a conflict
 * it is computed again. Finished Pods (Succeeded, Failed) stay finished.
 *
 * The in-memory API server gets logs from the kubelets of registered nodes (the output in the scripts), and passes them
 * commands (`kubectl exec`), which the option `exec` answers.
 *
 * Not simulated: probes (a script says when a container is ready), other volumes, static Pods, resizing, and changes of
 * a Secret or ConfigMap after the start. Without `verbose`, a deleted Pod reports the end of its containers only if
 * finalizers keep it.
 *
 * Source: "Pod Lifecycle" of the Kubernetes documentation; k8s.io/kubernetes/pkg/kubelet.
 */
import { FieldManager, KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, type KubeObject, type ObjectRef, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ConfigMap, type Container, Node, Pod, type PodStatus, Secret } from "../kinds/core.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { timestamp } from "./server/Exchange.ts"
import { dropNulls } from "../api/Plain.ts"
import * as Addresses from "./sim/Addresses.ts"
import * as Informers from "./sim/Informers.ts"
import * as KubeletApi from "./sim/KubeletApi.ts"
import * as Loop from "./sim/Loop.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as PodLife from "./sim/PodLife.ts"
import * as PodSources from "./sim/PodSources.ts"
import * as PodStatuses from "./sim/PodStatus.ts"
import * as Recorder from "./sim/Recorder.ts"
import * as Scheduler from "./sim/Scheduler.ts"
import * as SimNodes from "./sim/SimNodes.ts"

export type { Command, Executed } from "./sim/KubeletApi.ts"
export type { Script } from "./sim/PodLife.ts"
export type { NodeOptions } from "./sim/SimNodes.ts"

export const defaults = {
  /** From a Pod's creation until it is bound. */
  scheduleDelay: "0 seconds",
  /** From binding until it is Running. */
  startDelay: "1 second",
  /** From the deletion request until the Pod is removed, unless its grace period is shorter. */
  terminationDelay: "1 second",
  /**
   * The first back-off for containers that crash and images that cannot be pulled. It doubles each time, up to 5 min.
   */
  restartDelay: "10 seconds",
  nodes: ["sim-node-0", "sim-node-1", "sim-node-2"]
} as const

export interface Options {
  readonly scheduleDelay?: Duration.Input | undefined
  readonly startDelay?: Duration.Input | undefined
  readonly terminationDelay?: Duration.Input | undefined
  readonly restartDelay?: Duration.Input | undefined
  readonly nodes?: ReadonlyArray<string | SimNodes.NodeOptions> | undefined
  /** Creates a ready Node object for each node. Off by default, since an idle cluster then has heartbeats. */
  readonly registerNodes?: boolean | undefined
  /**
   * Whether registered nodes renew a Lease every ten seconds; on by default. Without Leases, a lost node is not
   * noticed.
   */
  readonly leases?: boolean | undefined
  /** Also reports ordinary life: events, containers being created or stopped. On by default if nodes are registered. */
  readonly verbose?: boolean | undefined
  /** Whether Pods wait for the Secrets and ConfigMaps that they name; on by default. */
  readonly sources?: boolean | undefined
  /** How the containers of a Pod end by themselves, and how long after Running; never by default. */
  readonly ending?: ((pod: Pod) => (PodLife.Ending & { readonly after: Duration.Input }) | undefined) | undefined
  /** What a container does each time it is started after `restarts` restarts. Takes precedence over `ending`. */
  readonly script?: ((pod: Pod, container: Container, restarts: number) => PodLife.Script | undefined) | undefined
  /** Answers a command in a running container of a registered node. By default commands are refused. */
  readonly exec?: ((command: KubeletApi.Command) => Effect.Effect<KubeletApi.Executed>) | undefined
}

/** Why a Pod fails. */
export interface Failure {
  /** `Evicted`, `NodeLost`, …; none by default, as after a crash. */
  readonly reason?: string | undefined
  readonly message?: string | undefined
  /** 1 by default. */
  readonly exitCode?: number | undefined
}

/** How one or all containers of a Pod crash. */
export interface Crash {
  /** All containers by default. */
  readonly container?: string | undefined
  /** 1 by default. */
  readonly exitCode?: number | undefined
  /** `OOMKilled`, …; `Error` by default. */
  readonly reason?: string | undefined
}

export class Kubelet extends Context.Service<Kubelet, {
  /** Makes the Pod fail for good, whatever its restart policy. Finished Pods are left alone. */
  readonly fail: (pod: ObjectRef, failure?: Failure) => Effect.Effect<void, KubeError>
  /**
   * Ends all containers of the Pod. Depending on its restart policy and the exit code, they are restarted after a
   * back-off, or the Pod is Succeeded or Failed.
   */
  readonly exit: (pod: ObjectRef, exitCode: number) => Effect.Effect<void, KubeError>
  /** Like `exit` for one or all containers, with a non-zero exit code. */
  readonly crash: (pod: ObjectRef, crash?: Crash) => Effect.Effect<void, KubeError>
  /** Evicts the Pod, as a kubelet under pressure does: it fails with reason Evicted. */
  readonly evict: (pod: ObjectRef, message?: string) => Effect.Effect<void, KubeError>
  /** Makes the node silent: its kubelet writes nothing any more. */
  readonly loseNode: (name: string) => Effect.Effect<void>
  /** Brings the node back: its kubelet reports that it is healthy, and catches up. */
  readonly restoreNode: (name: string) => Effect.Effect<void, KubeError>
}>()("@effect-operator/k8s/testing/Kubelet") {}

/** Makes a Pod fail for good; see the service. */
export const fail = (pod: ObjectRef, failure?: Failure): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.fail(pod, failure))

/** Ends a Pod's containers; see the service. */
export const exit = (pod: ObjectRef, exitCode: number): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.exit(pod, exitCode))

/** Crashes a Pod's containers; see the service. */
export const crash = (pod: ObjectRef, how?: Crash): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.crash(pod, how))

/** Evicts a Pod; see the service. */
export const evict = (pod: ObjectRef, message?: string): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.evict(pod, message))

/** Loses a node; see the service. */
export const loseNode = (name: string): Effect.Effect<void, never, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.loseNode(name))

/** Brings a lost node back; see the service. */
export const restoreNode = (name: string): Effect.Effect<void, KubeError, Kubelet> =>
  Kubelet.use((kubelet) => kubelet.restoreNode(name))

/** Runs the Pods of the server until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<Kubelet, never, KubeClient> =>
  Layer.effect(Kubelet, make(options)).pipe(Layer.provide(Informers.layer))

/** The state of a Pod that is being run. */
interface Care {
  readonly uid: string
  readonly podIP: string
  life: PodLife.Life
  /** What its volumes still wait for, how often mounting failed, and when it is tried again. */
  volumes: ReadonlyArray<PodSources.Source>
  mounts: number
  mountAt: number
  /** What its containers' environments need, and why containers cannot be created. */
  readonly environment: ReadonlyArray<PodSources.Source>
  readonly errors: Map<string, string>
  /** Why the Pod failed as a whole. */
  failure?: PodStatuses.Failure
  /** When its containers will have stopped, once it is being deleted. */
  gone?: number
}

const make = Effect.fnUntraced(function*(options: Options) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const pods = yield* informers.of(Pod)
  const nodes = yield* informers.of(Node)
  const recorders = new Map<string, Recorder.Recorder>()
  const specs = (options.nodes ?? defaults.nodes).map((node) => typeof node === "string" ? { name: node } : node)
  const registered = options.registerNodes === true
  const verbose = options.verbose ?? registered
  const cares = new Map<string, Care>()
  const lost = new Set<string>()
  const { hostIP, nextPodIP } = Addresses.make()

  const millis = (option: Duration.Input | undefined, otherwise: Duration.Input) =>
    Duration.toMillis(Duration.fromInputUnsafe(option ?? otherwise))
  const startDelay = millis(options.startDelay, defaults.startDelay)
  const terminationDelay = millis(options.terminationDelay, defaults.terminationDelay)
  const backoff = millis(options.restartDelay, defaults.restartDelay)
  const renewInterval = millis(undefined, SimNodes.defaults.renewInterval)

  const now = () => clock.currentTimeMillisUnsafe()

  const scriptsOf = (pod: Pod): PodLife.Scripts => {
    const errors = cares.get(keyString(pod))?.errors
    return (container, restarts) => {
      const configError = errors?.get(container.name)
      if (configError !== undefined) return { configError }
      const script = options.script?.(pod, container, restarts)
      if (script !== undefined) return script
      // Compared by name, because the Pod may have been read again since.
      const isMain = pod.spec.containers.some(({ name }) => name === container.name)
      const ending = isMain ? options.ending?.(pod) : undefined
      return ending === undefined ? {} : { exit: ending }
    }
  }

  const contextOf = (pod: Pod): PodLife.Context => ({ pod, scripts: scriptsOf(pod), notes: [], backoff })

  const careOf = (key: string, pod: Pod): Care => {
    const known = cares.get(key)
    if (known?.uid === pod.metadata.uid) return known
    const care: Care = {
      uid: pod.metadata.uid,
      podIP: pod.spec.hostNetwork === true ? hostIP(pod.spec.nodeName!) : pod.status?.podIP ?? nextPodIP(),
      life: PodLife.recover(pod, scriptsOf(pod), now(), startDelay, backoff),
      volumes: options.sources === false || isBegun(pod) ? [] : PodSources.mounted(pod),
      mounts: 0,
      mountAt: 0,
      environment: options.sources === false ? [] : PodSources.environment(pod),
      errors: new Map()
    }
    cares.set(key, care)
    return care
  }

  /** The event recorder of the Pod's kubelet. */
  const recorderOf = Effect.fnUntraced(function*({ spec: { nodeName = "" } }: Pod) {
    const known = recorders.get(nodeName)
    if (known !== undefined) return known
    const recorder = yield* Effect.provideService(Recorder.make("kubelet", nodeName), KubeClient, client)
    recorders.set(nodeName, recorder)
    return recorder
  })

  const tell = Effect.fnUntraced(function*(pod: Pod, notes: ReadonlyArray<PodLife.Note>) {
    const told = verbose ? notes : notes.filter(({ type }) => type === "Warning")
    if (told.length === 0) return
    const recorder = yield* recorderOf(pod)
    for (const { container: { container, role }, message, reason, type } of told) {
      const fieldPath = `spec.${role === "Main" ? "containers" : "initContainers"}{${container.name}}`
      yield* recorder[type === "Normal" ? "normal" : "warning"]({ ...pod, fieldPath }, reason, message)
    }
  })

  const writeStatus = (pod: Pod, status: PodStatus) => {
    const { resourceVersion, uid } = pod.metadata
    return client.patch(Pod, pod, Patch.merge({ metadata: { resourceVersion, uid }, status }), {
      subresource: "status"
    })
  }

  /** Writes the current status if it changed. */
  const report = (pod: Pod, care: Care) => {
    const host = { hostIP: hostIP(pod.spec.nodeName ?? ""), podIP: care.podIP }
    const status = PodStatuses.render(pod, care.life, host, now(), care.failure)
    // A status of containers being created is of interest only to people.
    if (status.phase === "Pending" && !verbose && !care.life.containers.some(isNews)) return Effect.void
    return isSame(pod.status, status) ? Effect.void : writeStatus(pod, status)
  }

  /** Removes a deleted Pod once its containers have stopped. */
  const remove = Effect.fnUntraced(function*(key: string, pod: Pod, care: Care): Effect.fn.Return<void, KubeError> {
    const grace = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000
    if (grace === 0) return
    const stop = PodFacts.isTerminal(pod) ? 0 : PodLife.stopTime(pod, scriptsOf(pod), terminationDelay)
    const asked = care.gone === undefined
    care.gone = Math.min(care.gone ?? Infinity, now() + Math.min(stop, grace))
    if (asked) yield* tell(pod, care.life.containers.flatMap(stopping))
    if (now() < care.gone) return agenda.at(key, care.gone)
    if ((verbose || (pod.metadata.finalizers ?? []).length > 0) && !PodFacts.isTerminal(pod)) {
      const policy = pod.spec.restartPolicy ?? "Always"
      care.life = PodLife.endAll(care.life, { exitCode: policy === "Never" ? 137 : 0 }, now())
      yield* report(pod, care)
    }
    yield* client.delete(Pod, pod, { gracePeriodSeconds: 0 })
  })

  const keysOf = ({ namespace }: Pod["metadata"], { kind, name }: PodSources.Source) =>
    client.get<KubeObject>(kind === "Secret" ? Secret : ConfigMap, { namespace, name }).pipe(
      Effect.map((found) => {
        const { binaryData, data } = found as ConfigMap
        return new Set([...Object.keys(data ?? {}), ...Object.keys(binaryData ?? {})])
      }),
      Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
    )

  /** Mounts the volumes of a Pod that has not started; false while a source is missing. */
  const mount = Effect.fnUntraced(function*(key: string, pod: Pod, care: Care): Effect.fn.Return<boolean, KubeError> {
    if (care.volumes.length === 0) return true
    if (now() < care.mountAt) {
      agenda.at(key, care.mountAt)
      return false
    }
    for (const source of care.volumes) {
      const error = PodSources.mountError(source, yield* keysOf(pod.metadata, source))
      if (error === undefined) continue
      const recorder = yield* recorderOf(pod)
      yield* recorder.warning(pod, "FailedMount", error)
      yield* report(pod, care)
      care.mountAt = now() + Math.min(firstMount * 2 ** care.mounts, lastMount)
      care.mounts += 1
      agenda.at(key, care.mountAt)
      return false
    }
    care.volumes = []
    if (care.mounts === 0) return true
    const { startTime } = care.life
    care.life = { ...PodLife.begin(pod, scriptsOf(pod), now(), startDelay), startTime }
    return true
  })

  /** Checks whether the containers that start now can be created. */
  const prepare = Effect.fnUntraced(function*(pod: Pod, care: Care): Effect.fn.Return<void, KubeError> {
    care.errors.clear()
    if (care.environment.length === 0 || PodLife.next(care.life, now()) > now()) return
    for (const source of care.environment) {
      if (care.errors.has(source.by)) continue
      const { namespace = "" } = pod.metadata
      const error = PodSources.environmentError(source, yield* keysOf(pod.metadata, source), namespace)
      if (error !== undefined) care.errors.set(source.by, error)
    }
  })

  const syncPod = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const pod = pods.get(parseKey(key))
    const node = pod?.spec.nodeName ?? ""
    if (pod === undefined || node === "" || lost.has(node)) return
    const care = careOf(key, pod)
    if (pod.metadata.deletionTimestamp !== undefined) return yield* remove(key, pod, care)
    if (PodFacts.isTerminal(pod) || !(yield* mount(key, pod, care))) return
    yield* prepare(pod, care)
    const context = contextOf(pod)
    care.life = PodLife.advance(care.life, context, now())
    const deadline = care.life.startTime + (pod.spec.activeDeadlineSeconds ?? Infinity) * 1000
    if (deadline <= now() && care.failure === undefined) {
      care.failure = {
        reason: "DeadlineExceeded",
        message: "Pod was active on the node longer than the specified deadline"
      }
      care.life = PodLife.endAll(care.life, { exitCode: 137 }, now())
    }
    yield* tell(pod, context.notes)
    yield* report(pod, care)
    const next = Math.min(PodLife.next(care.life, now()), deadline > now() ? deadline : Infinity)
    if (next < Infinity) agenda.at(key, next)
  })

  /** The state of a container and the output of its runs. */
  const printing = (ref: ObjectRef, container: string): KubeletApi.Printing | undefined => {
    const pod = pods.get(ref)
    const life = cares.get(keyString(ref))?.life.containers.find((entry) => entry.container.name === container)
    if (pod === undefined || life === undefined) return undefined
    const scripts = scriptsOf(pod)
    const { exec } = options
    return {
      life,
      output: (attempt) => scripts(life.container, attempt).output,
      exec: exec && ((command, stdin) => exec({ pod, container: life.container, command, stdin }))
    }
  }

  /** Renews the Lease of a node periodically. */
  const syncNode = Effect.fnUntraced(function*(name: string): Effect.fn.Return<void, KubeError, KubeClient> {
    const node = nodes.get({ name })
    if (node === undefined || lost.has(name) || !registered || options.leases === false) return
    yield* SimNodes.renew(node, micro(now()))
    leases.at(name, now() + renewInterval)
  })

  const agenda = yield* Loop.make({ sync: syncPod, reads: [pods], manager: "kubelet" })
  const leases = yield* Loop.make({ sync: syncNode, reads: [nodes], manager: "kubelet" })

  yield* Scheduler.make({
    delay: millis(options.scheduleDelay, defaults.scheduleDelay),
    unseen: specs.map(({ name }) => name),
    verbose
  })

  if (registered) {
    yield* Effect.forEach(specs, (spec) => SimNodes.register(spec, hostIP(spec.name), timestamp(now())), {
      discard: true
    }).pipe(Effect.provideService(FieldManager, "kubelet"), Effect.ignore)
    if (options.leases !== false) { for (const { name } of specs) leases.now(name) }
    const names = new Set(specs.map(({ name }) => name))
    yield* KubeletApi.serve({ isServed: (name) => names.has(name) && !lost.has(name), printing, now })
  }

  pods.listen((pod, before) => {
    const key = keyString((pod ?? before)!)
    if (pod === undefined) {
      cares.delete(key)
      agenda.forget(key)
    } else if ((pod.spec.nodeName ?? "") !== "") agenda.now(key)
  })

  /** Changes the state of a Pod. After a conflict, the change is computed again from the new Pod. */
  const change = (ref: ObjectRef, update: (pod: Pod, care: Care) => ReadonlyArray<PodLife.Note>) =>
    client.get(Pod, ref).pipe(
      Effect.flatMap(Effect.fnUntraced(function*(pod: Pod): Effect.fn.Return<void, KubeError> {
        if (PodFacts.isTerminal(pod)) return
        const key = keyString(pod)
        const care = careOf(key, pod)
        const { failure, life } = care
        const notes = update(pod, care)
        // A change that the server refused has not happened.
        const undo = Effect.sync(() => {
          care.life = life
          if (failure === undefined) delete care.failure
        })
        yield* Effect.tapError(report(pod, care), () => undo)
        yield* tell(pod, notes)
        agenda.now(key)
      })),
      Effect.retry({ while: (error) => error.reason._tag === "Conflict", times: 10 }),
      Effect.provideService(FieldManager, "kubelet")
    )

  const failPod = (ref: ObjectRef, { exitCode = 1, ...failure }: Failure) =>
    change(ref, (_, care) => {
      care.failure = failure
      care.life = PodLife.endAll(care.life, { exitCode }, now())
      return []
    })

  const end = (ref: ObjectRef, ending: PodLife.Ending, container?: string) =>
    change(ref, (pod, care) => {
      // No container is running yet.
      if (care.volumes.length > 0) return []
      const context = contextOf(pod)
      care.life = PodLife.endNow(PodLife.advance(care.life, context, now()), ending, context, now(), container)
      return context.notes
    })

  return Kubelet.of({
    fail: (ref, failure = {}) => failPod(ref, failure),
    exit: (ref, exitCode) => end(ref, { exitCode }),
    crash: (ref, { container, exitCode = 1, reason } = {}) => end(ref, { exitCode, reason }, container),
    evict: (ref, message = "The node was low on resource: memory.") =>
      Effect.andThen(
        client.get(Pod, ref).pipe(
          Effect.flatMap((pod) => Effect.flatMap(recorderOf(pod), ({ warning }) => warning(pod, "Evicted", message)))
        ),
        failPod(ref, { reason: "Evicted", message, exitCode: 137 })
      ),
    loseNode: (name) => Effect.sync(() => lost.add(name)),
    restoreNode: Effect.fnUntraced(function*(name) {
      lost.delete(name)
      const node = nodes.get({ name })
      const spec = specs.find((candidate) => candidate.name === name)
      if (node !== undefined) {
        // The Lease first, since it makes the rest credible.
        const back = Effect.andThen(
          syncNode(name),
          SimNodes.report(node, spec ?? { name }, hostIP(name), timestamp(now()))
        )
        yield* back.pipe(
          Effect.provideService(FieldManager, "kubelet"),
          Effect.provideService(KubeClient, client)
        )
      }
      for (const pod of pods.all()) if (pod.spec.nodeName === name) agenda.now(keyString(pod))
    })
  })
})

const stopping = (container: PodLife.ContainerLife): ReadonlyArray<PodLife.Note> => {
  if (container.state._tag !== "Running") return []
  const message = `Stopping container ${container.container.name}`
  return [{ type: "Normal", reason: "Killing", message, container }]
}

/** RFC 3339 with microseconds. */
const micro = (millis: number): string => `${new Date(millis).toISOString().slice(0, -1)}000Z`

/** Whether a container is past being created or waiting for that. */
const isNews = ({ last, pulls, state }: PodLife.ContainerLife): boolean =>
  state._tag !== "Waiting" || last !== undefined || pulls > 0 || state.reason === "CreateContainerConfigError"

/** The first and the maximum delay before mounting is retried, in milliseconds. It doubles each time. */
const [firstMount, lastMount] = [500, 122_000]

/** Whether a container of the Pod already ran before this kubelet saw it. */
const isBegun = ({ status }: Pod): boolean =>
  [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []].some(({ lastState, state }) =>
    state?.running !== undefined || state?.terminated !== undefined || lastState?.terminated !== undefined
  )

/** Whether a status contains everything in another one. */
const isSame = (have: PodStatus | undefined, want: PodStatus): boolean =>
  Object.entries(want).every(([key, value]) => JsonValue.equals(dropNulls(have?.[key as keyof PodStatus]), value))
