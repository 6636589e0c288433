/**
 * `PodLife`: the state of a Pod's containers on its node, as a pure state machine.
 *
 * Init containers run one after the other; sidecars among them keep running; then all regular containers run at once. A
 * script says, for each attempt, how long a container takes to start and become ready, whether its image can be pulled,
 * and how and when it ends. A failed image pull is retried after 10 s, 20 s, … 5 min. A container that ends is
 * restarted according to the restart policy: at once the first time, then after a back-off that doubles from 10 s to 5
 * min and is reset by a run of 10 min. A container that cannot be created is retried every 10 s.
 *
 * `advance` performs everything that is due, each at its own time; `next` is when to call it again. Times are in
 * milliseconds.
 *
 * Source: k8s.io/kubernetes/pkg/kubelet/kuberuntime (doBackOff, computePodActions),
 * pkg/kubelet/images/image_manager.go.
 */
import * as Duration from "effect/Duration"
import type { Container, ContainerStatus, Pod } from "../../kinds/core.v1.ts"

/** How a container ends. */
export interface Ending {
  /** 0 for success. */
  readonly exitCode: number
  /** `OOMKilled`, …; `Completed` or `Error` by default. */
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** What a container does each time it is started. */
export interface Script {
  /** The time until it runs. */
  readonly start?: Duration.Input | undefined
  /** Why its image cannot be pulled. */
  readonly pullError?: string | undefined
  /** Why it cannot be created although it has an image: its environment refers to something that does not exist. */
  readonly configError?: string | undefined
  /** The time from running to ready. */
  readonly ready?: Duration.Input | undefined
  /** What it prints as soon as it runs. */
  readonly output?: string | undefined
  /**
   * How it ends by itself, and how long after it started running. By default an init container ends at once, others
   * never.
   */
  readonly exit?: (Ending & { readonly after: Duration.Input }) | undefined
  /** The time from the stop request to its end. After the grace period it is killed. */
  readonly stop?: Duration.Input | undefined
}

/** The script of an attempt, by container and number of previous restarts. */
export type Scripts = (container: Container, restarts: number) => Script

/** A container that ended. */
export interface Ended extends Ending {
  readonly startedAt: number
  readonly finishedAt: number
}

export type State =
  | { readonly _tag: "Waiting"; readonly reason: string; readonly message?: string; readonly until: number }
  | { readonly _tag: "Running"; readonly startedAt: number; readonly readyAt: number; readonly endsAt: number }
  | { readonly _tag: "Terminated"; readonly ended: Ended; readonly until: number }

export type Role = "Init" | "Sidecar" | "Main"

export interface ContainerLife {
  readonly container: Container
  readonly role: Role
  readonly state: State
  readonly last?: Ended
  readonly restarts: number
  /** The number of consecutive failed image pulls. */
  readonly pulls: number
  /** The delay of the next restart; 0 for the first. */
  readonly backoff: number
}

export interface Life {
  readonly containers: ReadonlyArray<ContainerLife>
  readonly startTime: number
}

/** Something to report as an event. */
export interface Note {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly message: string
  readonly container: ContainerLife
}

export interface Context {
  readonly pod: Pod
  readonly scripts: Scripts
  readonly notes: Array<Note>
  /** The first and the maximum back-off, and how long a run must be to reset it. */
  readonly backoff: number
}

const longest = 300_000
const healthy = 600_000
/** The time until a kubelet notices that something ended or failed. */
const notice = 1000
/** The time until a container that could not be created is retried. */
const again = 10_000

const millis = (input: Duration.Input | undefined, otherwise: number): number =>
  input === undefined ? otherwise : Duration.toMillis(Duration.fromInputUnsafe(input))

const roleOf = (container: Container, init: boolean): Role =>
  init ? container.restartPolicy === "Always" ? "Sidecar" : "Init" : "Main"

const all = ({ spec }: Pod): ReadonlyArray<readonly [Container, Role]> => [
  ...(spec.initContainers ?? []).map((container) => [container, roleOf(container, true)] as const),
  ...spec.containers.map((container) => [container, roleOf(container, false)] as const)
]

/** The initial waiting reason of a Pod's containers. */
const waitingReason = ({ spec }: Pod): string =>
  (spec.initContainers ?? []).length > 0 ? "PodInitializing" : "ContainerCreating"

/** The life of a newly bound Pod: its first containers start after `startDelay`, unless a script says otherwise. */
export const begin = (pod: Pod, scripts: Scripts, now: number, startDelay: number): Life =>
  turn(
    pod,
    scripts,
    {
      startTime: now,
      containers: all(pod).map(([container, role]) => ({
        container,
        role,
        state: { _tag: "Waiting", reason: waitingReason(pod), until: Infinity },
        restarts: 0,
        pulls: 0,
        backoff: 0
      }))
    },
    now,
    startDelay
  )

/** The life of a Pod that a kubelet finds, from its status. */
export const recover = (pod: Pod, scripts: Scripts, now: number, startDelay: number, backoff: number): Life => {
  const statuses = [...pod.status?.initContainerStatuses ?? [], ...pod.status?.containerStatuses ?? []]
  const life = begin(pod, scripts, now, startDelay)
  if (statuses.length === 0) return life
  const containers = life.containers.map((entry): ContainerLife => {
    const status = statuses.find(({ name }) => name === entry.container.name)
    if (status === undefined) return entry
    const last = endedOf(status.lastState)
    return {
      ...entry,
      state: stateOf(entry, status, scripts, now, backoff),
      restarts: status.restartCount,
      ...(last === undefined ? {} : { last, backoff })
    }
  })
  const startTime = pod.status?.startTime === undefined ? now : Date.parse(pod.status.startTime)
  return turn(pod, scripts, { containers, startTime }, now, startDelay)
}

const endedOf = (state: ContainerStatus["state"]): Ended | undefined => {
  const terminated = state?.terminated
  if (terminated === undefined) return undefined
  return {
    exitCode: terminated.exitCode,
    reason: terminated.reason,
    message: terminated.message,
    startedAt: Date.parse(terminated.startedAt ?? terminated.finishedAt ?? "1970-01-01T00:00:00Z"),
    finishedAt: Date.parse(terminated.finishedAt ?? "1970-01-01T00:00:00Z")
  }
}

const stateOf = (
  entry: ContainerLife,
  { ready, restartCount, state }: ContainerStatus,
  scripts: Scripts,
  now: number,
  backoff: number
): State => {
  const ended = endedOf(state)
  if (ended !== undefined) return { _tag: "Terminated", ended, until: Infinity }
  if (state?.running !== undefined) {
    const running = run(entry, scripts(entry.container, restartCount), Date.parse(state.running.startedAt ?? ""))
    return ready ? { ...running, readyAt: running.startedAt } : { ...running, readyAt: Math.max(running.readyAt, now) }
  }
  if (state?.waiting?.reason === "CrashLoopBackOff") {
    return { _tag: "Waiting", reason: "CrashLoopBackOff", until: now + backoff }
  }
  return entry.state
}

const run = (entry: ContainerLife, script: Script, at: number): State & { readonly _tag: "Running" } => ({
  _tag: "Running",
  startedAt: at,
  readyAt: at + millis(script.ready, 0),
  endsAt: script.exit === undefined ? entry.role === "Init" ? at : Infinity : at + millis(script.exit.after, 0)
})

/** Whether the containers after this one may start. */
const isPassed = ({ role, state }: ContainerLife): boolean =>
  role === "Sidecar"
    ? state._tag === "Running" || state._tag === "Terminated"
    : state._tag === "Terminated" && state.ended.exitCode === 0 && state.until === Infinity

/** Whether the init containers have finished, or run as sidecars. */
export const isInitialized = ({ containers }: Life): boolean =>
  containers.every((entry) => entry.role === "Main" || isPassed(entry))

/** Starts the containers whose turn it is. */
const turn = (pod: Pod, scripts: Scripts, life: Life, at: number, startDelay: number): Life => {
  const initialized = isInitialized(life)
  const first = life.containers.find((entry) => entry.role !== "Main" && !isPassed(entry))
  const containers = life.containers.map((entry): ContainerLife => {
    const mine = entry.role === "Main" ? initialized : entry === first
    if (!mine || entry.state._tag !== "Waiting" || entry.state.until !== Infinity) return entry
    const until = at + millis(scripts(entry.container, entry.restarts).start, startDelay)
    return { ...entry, state: { _tag: "Waiting", reason: waitingReason(pod), until } }
  })
  return { ...life, containers }
}

const dueOf = ({ state }: ContainerLife): number => state._tag === "Running" ? state.endsAt : state.until

/** The next time at which anything changes, including readiness. */
export const next = ({ containers }: Life, now: number): number =>
  containers.reduce((first, entry) => {
    const { state } = entry
    const ready = state._tag === "Running" && state.readyAt > now ? state.readyAt : Infinity
    return Math.min(first, dueOf(entry), ready)
  }, Infinity)

/** The life after everything that is due by now. */
export const advance = (life: Life, context: Context, now: number): Life => {
  let current = life
  for (;;) {
    const due = current.containers.reduce<ContainerLife | undefined>(
      (first, entry) => dueOf(entry) <= now && (first === undefined || dueOf(entry) < dueOf(first)) ? entry : first,
      undefined
    )
    if (due === undefined) return current
    const at = dueOf(due)
    current = settle(replace(current, due, step(due, context, at)), context, at)
  }
}

const replace = (life: Life, before: ContainerLife, after: ContainerLife): Life => ({
  ...life,
  containers: life.containers.map((entry) => entry === before ? after : entry)
})

/** Starts the next containers after a change, and ends sidecars with the last regular container. */
const settle = (life: Life, { pod, scripts }: Context, at: number): Life => {
  const over = life.containers.every(({ role, state }) =>
    role !== "Main" || (state._tag === "Terminated" && state.until === Infinity)
  )
  if (!over) return turn(pod, scripts, life, at, 0)
  const containers = life.containers.map((entry): ContainerLife =>
    entry.role !== "Sidecar" || entry.state._tag === "Terminated" ? entry : stop(entry, { exitCode: 0 }, at)
  )
  return { ...life, containers }
}

const stop = (entry: ContainerLife, ending: Ending, at: number): ContainerLife => ({
  ...entry,
  state: {
    _tag: "Terminated",
    ended: {
      reason: ending.exitCode === 0 ? "Completed" : "Error",
      ...ending,
      startedAt: entry.state._tag === "Running" ? entry.state.startedAt : at,
      finishedAt: at
    },
    until: Infinity
  }
})

/** Performs what is due for one container. */
const step = (entry: ContainerLife, context: Context, at: number): ContainerLife => {
  const { state } = entry
  const { image = "" } = entry.container
  const note = (type: Note["type"], reason: string, message: string) =>
    context.notes.push({ type, reason, message, container: entry })
  const script = context.scripts(entry.container, entry.restarts)
  if (state._tag === "Running") {
    return end(entry, script.exit ?? { exitCode: 0 }, context, at)
  }
  if (state._tag === "Waiting" && state.reason === "ErrImagePull") {
    const message = `Back-off pulling image "${image}"`
    note("Normal", "BackOff", message)
    note("Warning", "Failed", "Error: ImagePullBackOff")
    const until = at - notice + Math.min(context.backoff * 2 ** (entry.pulls - 1), longest)
    return {
      ...entry,
      state: {
        _tag: "Waiting",
        reason: "ImagePullBackOff",
        message: `${message}: ErrImagePull: ${state.message ?? ""}`,
        until
      }
    }
  }
  if (script.pullError !== undefined) {
    note("Normal", "Pulling", `Pulling image "${image}"`)
    note("Warning", "Failed", `Failed to pull image "${image}": ${script.pullError}`)
    note("Warning", "Failed", "Error: ErrImagePull")
    return {
      ...entry,
      pulls: entry.pulls + 1,
      state: { _tag: "Waiting", reason: "ErrImagePull", message: script.pullError, until: at + notice }
    }
  }
  note("Normal", "Pulled", `Container image "${image}" already present on machine and can be accessed by the pod`)
  const last = state._tag === "Terminated" ? state.ended : entry.last
  if (script.configError !== undefined) {
    note("Warning", "Failed", `Error: ${script.configError}`)
    return {
      ...entry,
      pulls: 0,
      ...(last === undefined ? {} : { last }),
      state: {
        _tag: "Waiting",
        reason: "CreateContainerConfigError",
        message: script.configError,
        until: at + again
      }
    }
  }
  note("Normal", "Created", "Container created")
  note("Normal", "Started", "Container started")
  const ran = last !== undefined
  const restarts = ran ? entry.restarts + 1 : entry.restarts
  return {
    ...entry,
    restarts,
    pulls: 0,
    ...(last === undefined ? {} : { last }),
    state: run(entry, ran ? context.scripts(entry.container, restarts) : script, at)
  }
}

const restarts = ({ role }: ContainerLife, { spec }: Pod, { exitCode }: Ending): boolean => {
  if (role === "Sidecar") return true
  const policy = spec.restartPolicy ?? "Always"
  if (role === "Init") return exitCode !== 0 && policy !== "Never"
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0)
}

/** A duration as Go prints it: `10s`, `1m20s`, `5m0s`. */
const goDuration = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

/** Ends a running container. */
export const end = (entry: ContainerLife, ending: Ending, context: Context, at: number): ContainerLife => {
  const { pod } = context
  const stopped = stop(entry, ending, at)
  if (stopped.state._tag !== "Terminated" || !restarts(entry, pod, ending)) return stopped
  const { ended } = stopped.state
  if (entry.backoff === 0 || ended.finishedAt - ended.startedAt > healthy) {
    return { ...stopped, backoff: context.backoff, state: { ...stopped.state, until: at + notice } }
  }
  const { name, namespace, uid } = pod.metadata
  const who = `${name}_${namespace}(${uid})`
  context.notes.push({
    type: "Warning",
    reason: "BackOff",
    message: `Back-off restarting failed container ${entry.container.name} in pod ${who}`,
    container: entry
  })
  return {
    ...stopped,
    last: ended,
    backoff: Math.min(entry.backoff * 2, longest),
    state: {
      _tag: "Waiting",
      reason: "CrashLoopBackOff",
      message: `back-off ${goDuration(entry.backoff)} restarting failed container=${entry.container.name} pod=${who}`,
      until: at + entry.backoff
    }
  }
}

/** Ends running containers now: all of them, or the one with that name. */
export const endNow = (life: Life, ending: Ending, context: Context, at: number, name?: string): Life => {
  const containers = life.containers.map((entry) =>
    entry.state._tag === "Running" && entry.role !== "Init" &&
      (name === undefined ? entry.role === "Main" : entry.container.name === name)
      ? end(entry, ending, context, at)
      : entry
  )
  return settle({ ...life, containers }, context, at)
}

/** Ends everything that runs or waits, for good. */
export const endAll = (life: Life, ending: Ending, at: number): Life => ({
  ...life,
  containers: life.containers.map((entry) =>
    entry.state._tag === "Terminated" && entry.state.until === Infinity ? entry : stop(entry, ending, at)
  )
})

/** How long the containers take to stop, at most. */
export const stopTime = (pod: Pod, scripts: Scripts, otherwise: number): number =>
  Math.max(...pod.spec.containers.map((container) => millis(scripts(container, 0).stop, otherwise)))
