/**
 * `Target`: the cluster that a development loop runs on, and what is installed there.
 *
 * In memory (the default): a cluster that lives as long as the loop, so its contents outlive restarts of the operator.
 * Everything in the manifests except the Deployment is installed, and the operator runs as its own ServiceAccount with
 * exactly the generated rules, so that a missing permission shows at once. Its Services lead to this machine (see
 * `Beside`).
 *
 * A cluster of a kubeconfig gets the definitions, adapted because it cannot call the operator (see `Apart`), the
 * namespace for the operator's certificates, and nothing else. The operator runs as the kubeconfig's user.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { isTerminating } from "@effect-operator/core/KubeObject"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Path from "node:path"
import * as Crd from "../../Crd.ts"
import * as CrdDiff from "../../CrdDiff.ts"
import { CustomResourceDefinition } from "../../kinds/apiextensions.v1.ts"
import { Deployment } from "../../kinds/apps.v1.ts"
import { Namespace, Service } from "../../kinds/core.v1.ts"
import { resources } from "../../kinds/tables.ts"
import * as KubeConfig from "../../KubeConfig.ts"
import * as LiveClient from "../../LiveClient.ts"
import { ApiServer } from "../../testing/ApiServer.ts"
import type * as Audit from "../../testing/auth/Audit.ts"
import * as Refusal from "../../testing/auth/Refusal.ts"
import * as HttpFacade from "../../testing/HttpFacade.ts"
import { serviceAccount } from "../../api/UserInfo.ts"
import * as InMemory from "../InMemory.ts"
import * as Definitions from "../Definitions.ts"
import type { Description } from "../Description.ts"
import * as Failure from "../Failure.ts"
import { quoted } from "../quoted.ts"
import * as Apart from "./Apart.ts"
import * as Beside from "./Beside.ts"
import * as Health from "./Health.ts"
import * as Objects from "./Objects.ts"
import * as Surroundings from "./Surroundings.ts"

export interface Options {
  readonly context: Option.Option<string>
  readonly kubeconfig: Option.Option<string>
  readonly port: number
}

export interface Target {
  readonly client: Context.Context<KubeClient.KubeClient>
  /** The namespace of objects that name none. */
  readonly namespace: string
  /** Whether its API server calls the operator's hooks. */
  readonly asksHooks: boolean
  /** The port of this machine for hooks, unless another is chosen. */
  readonly webhooks: number
  /** What the user should know first. */
  readonly introduction: ReadonlyArray<string>
  /** Requests that were denied to the operator, with the permission to add; each once per installation. */
  readonly lacking: Stream.Stream<string>
  /** Installs what a program needs, and reports it. */
  readonly install: (description: Description, say: Say) => Effect.Effect<void, Failure.Failure>
  /** The environment variables with which the operator reaches the cluster. */
  readonly environment: (
    description: Description
  ) => Effect.Effect<Readonly<Record<string, string>>, Failure.Failure>
}

type Say = (line: string) => Effect.Effect<void>

/**
 * Installs the definitions that have changed, or that somebody has deleted, one after the other, and reports what each
 * change means.
 */
const definer = (client: Context.Context<KubeClient.KubeClient>) => {
  const installed = new Map<string, Crd.Manifest>()
  return Effect.fnUntraced(function*({ definitions }: Description, say: Say) {
    for (const definition of definitions) {
      const name = definition.metadata.name!
      const before = installed.get(name)
      const kube = Context.get(client, KubeClient.KubeClient)
      const isThere = Effect.map(
        Effect.option(kube.get(CustomResourceDefinition, { name })),
        Option.exists((there) => !isTerminating(there))
      )
      if (JSON.stringify(before) === JSON.stringify(definition) && (yield* isThere)) continue
      yield* Crd.installManifest(definition).pipe(
        Effect.provide(client),
        Effect.mapError(({ message }) => Failure.make(`the definition ${name} was not accepted: ${message}`))
      )
      installed.set(name, definition)
      yield* say(`${before === undefined ? "installed" : "changed"} the definition ${name}`)
      for (const line of CrdDiff.format(before === undefined ? [] : CrdDiff.diff(before, definition))) {
        yield* say(`  ${line}`)
      }
    }
  })
}

const memory = Effect.fnUntraced(function*(port: number) {
  const files = yield* FileSystem.FileSystem
  const context = yield* Layer.build(InMemory.layer({ port })).pipe(
    Effect.catchTag("ListenFailed", InMemory.taken)
  )
  const facade = Context.get(context, HttpFacade.HttpFacade)
  const client = Context.pick(KubeClient.KubeClient)(context)
  const file = InMemory.kubeconfigFile(Option.none(), facade.port)
  yield* Effect.acquireRelease(
    InMemory.writeKubeconfig(file, facade.kubeconfig),
    () => Effect.ignore(files.remove(file))
  )
  const own = yield* Effect.mapError(
    files.makeTempDirectoryScoped({ prefix: "effect-operator-" }),
    Failure.ofFile("make", "a folder for the operator's kubeconfig")
  )
  const define = definer(client)
  const webhooks = yield* Health.freePort
  let operator: Description | undefined
  const told = new Set<string>()
  const lacking = Context.get(context, ApiServer).audit.pipe(
    Stream.flatMap((event) => Stream.fromIterable(operator === undefined ? [] : lacks(operator, event))),
    Stream.filter((line) => !told.has(line) && told.add(line).size > 0)
  )
  const applied = new Map<string, string>()
  let placed: ReadonlyMap<string, Objects.Written> = new Map()
  return {
    client,
    namespace: KubeConfig.defaults.namespace,
    asksHooks: true,
    webhooks,
    lacking,
    introduction: [
      `an in-memory cluster is running at ${facade.url}; in another terminal:`,
      `  export KUBECONFIG=${quoted(file)}`
    ],
    install: Effect.fnUntraced(function*(description: Description, say: Say) {
      operator = description
      told.clear()
      const port = Surroundings.webhooksPort(description, { webhooks }, process.env)
      yield* define(Beside.description(description, port), say)
      const kept = new Map<string, Objects.Written>()
      for (const [name, text] of Object.entries(description.files)) {
        if (!besides.includes(name)) continue
        const objects = (yield* Definitions.documents(text, name)) as ReadonlyArray<Objects.Written>
        for (const object of objects) kept.set(Objects.idOf(object), object)
        const wanted = `${port} ${text}`
        if (applied.get(name) === wanted) continue
        placed = new Map([...placed, ...kept])
        for (const object of objects) {
          yield* Effect.provide(Objects.apply(Beside.object(object, port), description.kinds, name), client)
        }
        yield* say(`applied ${name}`)
        applied.set(name, wanted)
      }
      // The hooks that a program no longer has would refuse every write, and its old roles would allow too much.
      for (const [id, object] of placed) {
        // A namespace may contain objects of the user.
        if (kept.has(id) || object.kind === Namespace.kind) continue
        yield* Effect.provide(Objects.remove(object, description.kinds), client)
        yield* say(`deleted ${object.kind} ${object.metadata.name}, which the manifests no longer have`)
      }
      for (const name of applied.keys()) if (!(name in description.files)) applied.delete(name)
      placed = kept
    }),
    environment: Effect.fnUntraced(function*({ name, namespace }: Description) {
      const kubeconfig = Path.join(own, "kubeconfig")
      yield* Effect.mapError(
        files.writeFileString(kubeconfig, yield* facade.kubeconfigFor(serviceAccount(namespace, name)), {
          mode: 0o600
        }),
        Failure.ofFile("write", kubeconfig)
      )
      // As in a pod, except for its files.
      return {
        KUBECONFIG: kubeconfig,
        KUBE_CONTEXT: "",
        KUBERNETES_SERVICE_HOST: "127.0.0.1",
        KUBERNETES_SERVICE_PORT: String(facade.port)
      }
    })
  } satisfies Target
})

/** The operator's denied requests in an audit event, with the remedy. */
const lacks = ({ kinds, name, namespace }: Description, event: Audit.Event): ReadonlyArray<string> =>
  Refusal.decided(event, serviceAccount(namespace, name).username).refused.map((asked) =>
    `the operator may not ${Refusal.textOf({ ...asked, name: "" })}: ${Refusal.remedy([...kinds, ...resources], asked)}`
  )

/** The manifests that an in-memory cluster gets besides the definitions. */
const besides: ReadonlyArray<string> = ["rbac.yaml", "service.yaml", "webhooks.yaml", "apiservice.yaml"]

/** Warns if the operator also runs in the cluster: two would work against each other. */
const deployed = Effect.fnUntraced(function*({ name, namespace }: Description) {
  const client = yield* KubeClient.KubeClient
  const found = yield* Effect.option(client.get(Deployment, { namespace, name }))
  return Option.filter(found, ({ spec }) => (spec?.replicas ?? 1) > 0)
})

/** An object, if there is one: only the server's word counts, not a refusal or a lost answer. */
const maybe = <A>(
  what: string,
  object: Effect.Effect<A, KubeError>
): Effect.Effect<Option.Option<A>, Failure.Failure> =>
  Effect.asSome(object).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.succeedNone),
    Effect.mapError(({ message }) => Failure.make(`cannot find out whether ${what}: ${message}`))
  )

/** The state that decides how a definition can be installed. */
const found = Effect.fnUntraced(function*(definition: Crd.Manifest) {
  const client = yield* KubeClient.KubeClient
  const service = Apart.converter(definition)
  if (service === undefined) return { service: false, stored: [] }
  const name = definition.metadata.name!
  const there = yield* maybe(
    `${name} is converted in the cluster, by service ${service.namespace}/${service.name}`,
    client.get(Service, service)
  )
  const before = yield* maybe(`${name} has stored objects`, client.get(CustomResourceDefinition, { name }))
  const stored = Option.match(before, { onNone: () => [], onSome: ({ status }) => status?.storedVersions ?? [] })
  return { service: Option.isSome(there), stored }
})

/** Whether it serves anything over TLS, for which it keeps certificates in its namespace. */
const serves = ({ definitions, files, webhooks }: Description): boolean =>
  webhooks.length > 0 || "apiservice.yaml" in files ||
  definitions.some((definition) => Apart.converter(definition) !== undefined)

/** Without the namespace the operator would wait for its certificates forever. */
const ensureNamespace = Effect.fnUntraced(function*({ namespace: name }: Description, say: Say) {
  const client = yield* KubeClient.KubeClient
  yield* client.get(Namespace, { name }).pipe(
    Effect.catchReason("KubeError", "NotFound", () =>
      client.create(Namespace, { metadata: { name } }).pipe(
        Effect.andThen(
          say(`created the namespace ${name}, where the operator keeps its serving certificates`)
        ),
        Effect.mapError(({ message }) =>
          Failure.make(
            `the operator keeps its serving certificates in the namespace ${name}, which does not exist: ` +
              `kubectl create namespace ${name} (${message})`
          )
        )
      )),
    // A user who may not read namespaces may still write to one.
    Effect.catchTag("KubeError", () => Effect.void)
  )
})

const live = Effect.fnUntraced(function*({ context, kubeconfig }: Options) {
  // For instance from an unset variable; it would be resolved to the current folder.
  if (Option.isSome(kubeconfig) && kubeconfig.value === "") {
    return yield* Failure.make(`--kubeconfig "": must be a file; leave it out for an in-memory cluster`)
  }
  const file = Option.getOrUndefined(Option.map(kubeconfig, (file) => Path.resolve(file)))
  const name = Option.getOrUndefined(context)
  const failed = Effect.mapError(({ message }: KubeConfig.KubeConfigError) => Failure.make(message))
  const cluster = yield* failed(KubeConfig.load({ file, context: name }))
  const client = yield* Layer.build(LiveClient.layerCluster(cluster))
  const own = yield* Effect.mapError(
    (yield* FileSystem.FileSystem).makeTempDirectoryScoped({ prefix: "effect-operator-" }),
    Failure.ofFile("make", "a folder for the operator's kubeconfig")
  )
  // Programs differ in how they choose a context, but all of them read $KUBECONFIG.
  const kubeconfigs = name === undefined ? file : yield* failed(KubeConfig.pointing(own, { context: name, file }))
  const define = definer(client)
  const told = new Set<string>()
  let warned = false
  /** Installs the definitions in the form that this cluster can use. */
  const apart = Effect.fnUntraced(function*(description: Description, say: Say) {
    const definitions: Array<Crd.Manifest> = []
    for (const declared of description.definitions) {
      const { definition, note } = Apart.definition(declared, yield* Effect.provide(found(declared), client))
      definitions.push(definition)
      if (note === undefined || told.has(note)) continue
      told.add(note)
      yield* say(note)
    }
    return { ...description, definitions }
  })
  return {
    client,
    namespace: cluster.namespace,
    asksHooks: false,
    webhooks: yield* Health.freePort,
    // Here the operator has the user's own permissions.
    lacking: Stream.empty,
    introduction: [
      `the operator runs on this machine, against ${name === undefined ? file : `the cluster of context ${name}`}`
    ],
    install: Effect.fnUntraced(function*(description: Description, say: Say) {
      yield* define(yield* apart(description, say), say)
      if (serves(description)) yield* Effect.provide(ensureNamespace(description, say), client)
      if (warned) return
      warned = true
      if (description.webhooks.length > 0) {
        yield* say("its admission webhooks are not registered, because the cluster cannot call this machine")
      }
      if (Option.isSome(yield* Effect.provide(deployed(description), client))) {
        const where = `${description.namespace} deployment/${description.name}`
        yield* say(`it also runs in the cluster: stop it there: kubectl scale --replicas 0 -n ${where}`)
      }
    }),
    environment: () =>
      Effect.succeed({
        ...(kubeconfigs === undefined ? {} : { KUBECONFIG: kubeconfigs }),
        // That of the user's environment may be another.
        KUBE_CONTEXT: name ?? ""
      })
  } satisfies Target
})

/** The cluster that the options select, until the scope closes. */
export const make = (
  options: Options
): Effect.Effect<Target, Failure.Failure, FileSystem.FileSystem | Scope.Scope> =>
  Option.isNone(options.context) && Option.isNone(options.kubeconfig) ? memory(options.port) : live(options)
