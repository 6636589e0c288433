/**
 * `BootstrapFlows`: the default FlowSchemas and PriorityLevelConfigurations.
 *
 * They are those of Kubernetes 1.35; compare `kubectl get flowschemas,prioritylevelconfigurations` on a new cluster.
 */
import type * as JsonValue from "../../schema/JsonValue.ts"
import { asObject, freeze, objectAt } from "../../api/Plain.ts"
import type { Entry } from "./BootstrapPolicy.ts"

const group = "flowcontrol.apiserver.k8s.io"

/** The collections of the two kinds. */
export const schemas = `flowschemas.${group}`
export const levels = `prioritylevelconfigurations.${group}`

const apiVersion = `${group}/v1`

const metadata = (name: string) => ({
  name,
  generation: 1,
  annotations: { "apf.kubernetes.io/autoupdate-spec": "true" }
})

const entry = (collection: string, kind: string, name: string, rest: object): Entry => ({
  collection,
  namespace: "",
  object: asObject({ apiVersion, kind, metadata: metadata(name), ...rest })
})

const level = (name: string, spec: object): Entry =>
  entry(levels, "PriorityLevelConfiguration", name, { spec, status: {} })

const limited = (
  name: string,
  nominalConcurrencyShares: number,
  lendablePercent: number,
  limitResponse: object
): Entry => level(name, { type: "Limited", limited: { nominalConcurrencyShares, limitResponse, lendablePercent } })

const queue = (queues: number, handSize: number) => ({
  type: "Queue",
  queuing: { queues, handSize, queueLengthLimit: 50 }
})

const named = (kind: "User" | "Group", ...names: ReadonlyArray<string>) =>
  names.map((name) => ({ kind, [kind.toLowerCase()]: { name } }))

/** All service accounts of kube-system. */
const systemAccounts = { kind: "ServiceAccount", serviceAccount: { namespace: "kube-system", name: "*" } }

const rule = (
  verbs: ReadonlyArray<string>,
  apiGroup: string,
  resources: ReadonlyArray<string>,
  clusterScope: boolean
) => ({
  verbs,
  apiGroups: [apiGroup],
  resources,
  ...(clusterScope ? { clusterScope } : {}),
  namespaces: ["*"]
})

const everything = {
  resourceRules: [rule(["*"], "*", ["*"], true)],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }]
}

type Distinguisher = "ByUser" | "ByNamespace" | undefined

const schema = (
  name: string,
  to: string,
  matchingPrecedence: number,
  by: Distinguisher,
  subjects: ReadonlyArray<object>,
  rules: object = everything
): Entry =>
  entry(schemas, "FlowSchema", name, {
    spec: {
      priorityLevelConfiguration: { name: to },
      matchingPrecedence,
      ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
      rules: [{ subjects, ...rules }]
    },
    status: {
      conditions: [{
        type: "Dangling",
        status: "False",
        lastTransitionTime: null,
        reason: "Found",
        message: `This FlowSchema references the PriorityLevelConfiguration object named "${to}" and it exists`
      }]
    }
  })

const everybody = named("Group", "system:unauthenticated", "system:authenticated")
const nodes = named("Group", "system:nodes")
const manager = "system:kube-controller-manager"
const scheduler = "system:kube-scheduler"

const leases = (verbs: ReadonlyArray<string>) => rule(verbs, "coordination.k8s.io", ["leases"], false)

const make = (): ReadonlyArray<Entry> =>
  freeze([
    level("exempt", { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
    limited("catch-all", 5, 0, { type: "Reject" }),
    limited("system", 30, 33, queue(64, 6)),
    limited("node-high", 40, 25, queue(64, 6)),
    limited("leader-election", 10, 0, queue(16, 4)),
    limited("workload-high", 40, 50, queue(128, 6)),
    limited("workload-low", 100, 90, queue(128, 6)),
    limited("global-default", 20, 50, queue(128, 6)),
    schema("exempt", "exempt", 1, undefined, named("Group", "system:masters")),
    schema("probes", "exempt", 2, undefined, everybody, {
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }]
    }),
    schema(
      "system-leader-election",
      "leader-election",
      100,
      "ByUser",
      [...named("User", manager, scheduler), systemAccounts],
      { resourceRules: [leases(["get", "create", "update"])] }
    ),
    schema("system-node-high", "node-high", 400, "ByUser", nodes, {
      resourceRules: [rule(["*"], "", ["nodes", "nodes/status"], true), leases(["*"])]
    }),
    schema("system-nodes", "system", 500, "ByUser", nodes),
    schema("kube-controller-manager", "workload-high", 800, "ByNamespace", named("User", manager)),
    schema("kube-scheduler", "workload-high", 800, "ByNamespace", named("User", scheduler)),
    schema("kube-system-service-accounts", "workload-high", 900, "ByNamespace", [systemAccounts]),
    schema("service-accounts", "workload-low", 9000, "ByUser", named("Group", "system:serviceaccounts")),
    schema("global-default", "global-default", 9900, "ByUser", everybody),
    schema("catch-all", "catch-all", 10_000, "ByUser", everybody)
  ])

let entries: ReadonlyArray<Entry> | undefined

/** All objects, in the order in which a real server creates them. */
export const objects = (): ReadonlyArray<Entry> => entries ??= make()

/** The specs of the mandatory objects, by name. They cannot be changed. */
export const mandatorySpecs = (collection: string): ReadonlyMap<string, JsonValue.JsonObject> =>
  new Map(
    objects().filter((entry) => entry.collection === collection).map(({ object }) => object)
      .filter(({ metadata: { name } }) => name === "exempt" || name === "catch-all")
      .map((object) => [object.metadata.name, objectAt(object, "spec")])
  )
