/**
 * `RbacProof`: tests that the permissions in an operator's manifests are sufficient and that none is unused.
 *
 * The operator runs as its own service account, with the roles of its manifests and no others. A refused request fails
 * the test at once, and the error gives the verb, the resource, and what to add where. Permissions that were never used
 * are reported at the end.
 *
 * ```ts
 * it.effect("has the permissions that it needs", () =>
 *   RbacProof.prove({ manifests, operator: Manager.layer([controller]) }, Effect.gen(function*() {
 *     const client = yield* KubeClient.KubeClient // an administrator's
 *     yield* client.create(Database, …)
 *     yield* TestClock.adjust("1 minute")
 *   })).pipe(Effect.provide(TestCluster.layer({ resources: [Database] }))))
 * ```
 *
 * The result is only as good as the scenario: a permission counts as used if a request needed it while the scenario
 * ran. Permissions that the framework needs only in some situations (series of events, finalizers under an admission
 * plugin) never count as unused.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { Manager } from "@effect-operator/core/Manager"
import type * as Resource from "@effect-operator/core/Resource"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Namespace, ServiceAccount } from "../kinds/core.v1.ts"
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../kinds/rbac.v1.ts"
import { resources } from "../kinds/tables.ts"
import * as Manifests from "../Manifests.ts"
import { ApiServer } from "./ApiServer.ts"
import * as Refusal from "./auth/Refusal.ts"
import * as TestClient from "./TestClient.ts"
import { serviceAccount } from "../api/UserInfo.ts"

/** The options of the manifests that determine permissions. */
export type Options = Omit<Manifests.Options, "image" | "resources">

/** A request of the operator that was refused. */
export type Missing = Refusal.Asked

export interface Report {
  readonly used: ReadonlyArray<Manifests.Permission>
  /** Unused permissions that come from watches and declared writes, not from the framework. */
  readonly unused: ReadonlyArray<Manifests.Permission>
  readonly missing: ReadonlyArray<Missing>
}

/** The roles of the manifests do not allow a request that the operator made. */
export class RuleMissing extends Data.TaggedError("RuleMissing")<{
  readonly account: string
  readonly missing: ReadonlyArray<Missing>
  readonly remedies: ReadonlyArray<string>
}> {
  override get message(): string {
    const lines = this.missing.map((missing, i) => `  ${Refusal.textOf(missing)}\n    ${this.remedies[i]}`)
    return `${this.account} lacks permissions:\n${lines.join("\n")}`
  }
}

export class RbacProof extends Context.Service<RbacProof, {
  readonly report: Effect.Effect<Report>
  /** Fails with all requests refused so far. */
  readonly check: Effect.Effect<void, RuleMissing>
  /** Fails with the first request that is refused. */
  readonly failure: Effect.Effect<never, RuleMissing>
  /** The operator's client. */
  readonly client: KubeClient["Service"]
}>()("@effect-operator/k8s/testing/RbacProof") {}

const allows = (permission: Manifests.Permission, asked: Missing): boolean =>
  permission.group === asked.group && permission.resource === asked.resource && permission.verb === asked.verb &&
  (permission.namespace === "" || permission.namespace === asked.namespace) &&
  (permission.names?.includes(asked.name) ?? true)

/** The kinds in the options, and those of Kubernetes. */
const kindsIn = ({ controllers, writes }: Options) => [
  ...controllers.flatMap(({ resource, watches }) => [resource, ...watches.map(({ resource }) => resource)]),
  ...writes.map(({ resource }) => resource),
  ...resources
]

/** Installs the account, roles and bindings of the manifests, with the administrator's client in context. */
export const install = (options: Options): Effect.Effect<void, KubeError, KubeClient> =>
  Effect.gen(function*() {
    const client = yield* KubeClient
    const kinds: ReadonlyArray<Resource.Any> = [ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding]
    const ensure = <E extends KubeError>(create: Effect.Effect<unknown, E>) =>
      Effect.catchIf(create, ({ reason }) => reason._tag === "AlreadyExists", () => Effect.void)
    const manifests = Manifests.rbac(options)
    const namespaces = new Set(manifests.flatMap(({ metadata: { namespace } }) => namespace ?? []))
    for (const name of namespaces) yield* ensure(client.create(Namespace, { metadata: { name } }))
    for (const manifest of manifests) {
      const resource = kinds.find(({ kind }) => kind === manifest.kind)!
      yield* ensure(client.create(resource, manifest as never))
    }
  })

/** Records the operator's requests. Its client has the permissions of its service account. */
export const make = (
  options: Options
): Effect.Effect<RbacProof["Service"], KubeError, ApiServer | KubeClient | Scope.Scope> =>
  Effect.gen(function*() {
    const server = yield* ApiServer
    yield* install(options)
    const account = serviceAccount(options.namespace, options.name)
    const permissions = Manifests.permissions(options)
    const used = new Set<Manifests.Permission>()
    const missing = new Map<string, Missing>()
    const refused = yield* Deferred.make<never, RuleMissing>()
    const failure = () => {
      const all = [...missing.values()]
      const remedies = all.map((one) => Refusal.remedy(kindsIn(options), one))
      return new RuleMissing({ account: account.username, missing: all, remedies })
    }
    yield* Effect.forkScoped(
      Stream.runForEach(server.audit, (event) =>
        Effect.sync(() => {
          const { allowed, refused: lacked } = Refusal.decided(event, account.username)
          for (const one of allowed) {
            for (const permission of permissions) if (allows(permission, one)) used.add(permission)
          }
          for (const one of lacked) {
            missing.set(Refusal.textOf({ ...one, name: "" }), one)
            Deferred.doneUnsafe(refused, Effect.fail(failure()))
          }
        })),
      { startImmediately: true }
    )
    const client = Context.get(
      // Fresh, because a client that was already built in this scope may be an administrator's.
      yield* Layer.build(Layer.fresh(Layer.provide(TestClient.layerAs(account), Layer.succeed(ApiServer, server)))),
      KubeClient
    )
    const isUsed = (permission: Manifests.Permission): boolean =>
      used.has(permission) || permission.origin === "framework" ||
      // Reading is one permission with three verbs: a cache lists and watches, and gets only when it is unsure.
      (permission.origin === "watch" && [...used].some(({ group, namespace, origin, resource }) =>
        origin === "watch" && group === permission.group && resource === permission.resource &&
        namespace === permission.namespace
      ))
    return RbacProof.of({
      client,
      report: Effect.sync(() => ({
        used: [...used],
        unused: permissions.filter((permission) => !isUsed(permission)),
        missing: [...missing.values()]
      })),
      check: Effect.suspend(() => missing.size === 0 ? Effect.void : Effect.fail(failure())),
      failure: Deferred.await(refused)
    })
  })

/**
 * Runs a scenario as administrator while the operator runs as itself. Fails with `RuleMissing` as soon as the operator
 * is refused a request. Otherwise returns which permissions it used, and logs those that it did not use.
 */
export const prove = <A, E, R, OE, OR>(
  subject: {
    readonly manifests: Options
    readonly operator: Layer.Layer<Manager, OE, OR>
  },
  scenario: Effect.Effect<A, E, R>
): Effect.Effect<Report, E | OE | KubeError | RuleMissing, ApiServer | KubeClient | Exclude<R | OR, Scope.Scope>> =>
  Effect.scoped(Effect.gen(function*() {
    const proof = yield* make(subject.manifests)
    yield* Layer.build(Layer.provide(subject.operator, Layer.succeed(KubeClient, proof.client)))
    yield* Effect.raceFirst(scenario, proof.failure)
    yield* proof.check
    const report = yield* proof.report
    for (const { group, namespace, resource, verb } of report.unused) {
      yield* Effect.logWarning(
        `${verb} ${resource}${group === "" ? "" : `.${group}`}${namespace === "" ? "" : ` in ${namespace}`}: ` +
          "this permission was not used"
      )
    }
    return report
  })) as Effect.Effect<Report, E | OE | KubeError | RuleMissing, ApiServer | KubeClient | Exclude<R | OR, Scope.Scope>>
