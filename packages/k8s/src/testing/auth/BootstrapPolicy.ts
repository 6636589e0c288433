/**
 * `BootstrapPolicy`: the default roles and bindings as objects.
 *
 * They are parsed when the first server is made, then shared by all: uid, resourceVersion and creationTimestamp are
 * added when an object is stored. `admin`, `edit` and `view` contain the rules of the roles from which they are
 * aggregated.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { asObject, freeze } from "../../api/Plain.ts"
import * as Aggregation from "./Aggregation.ts"
import * as Accounts from "./BootstrapControllerRoles.ts"
import * as People from "./BootstrapClusterRoles.ts"
import type { PolicyRule } from "./PolicyRule.ts"
import { collections, group } from "./Rbac.ts"

/** An object to store. */
export interface Entry {
  readonly collection: string
  readonly namespace: string
  readonly object: KubeObject
}

const apiVersion = `${group}/v1`
const aggregation = "rbac.authorization.k8s.io/aggregate-to-"

const list = (text: string): ReadonlyArray<string> => text.split(",").map((item) => (item === "core" ? "" : item))

const rule = (line: string): PolicyRule => {
  const [verbs = "", first = "", resources, names] = line.trim().split(" ")
  return resources === undefined && (first.startsWith("/") || first === "*")
    ? { verbs: list(verbs), nonResourceURLs: list(first) }
    : {
      verbs: list(verbs),
      apiGroups: list(first),
      resources: list(resources ?? ""),
      ...(names === undefined ? {} : { resourceNames: list(names) })
    }
}

const place = (path: string): { readonly namespace: string; readonly name: string } => {
  const slash = path.indexOf("/")
  return slash < 0 ? { namespace: "", name: path } : { namespace: path.slice(0, slash), name: path.slice(slash + 1) }
}

const metadata = (path: string, labels: Readonly<Record<string, string>> = {}) => {
  const { name, namespace } = place(path)
  return {
    name,
    ...(namespace === "" ? {} : { namespace }),
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
    annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" }
  }
}

const after = (words: ReadonlyArray<string>, prefix: string): ReadonlyArray<string> =>
  words.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length))

/** Blocks that consist of a line at the margin and the indented lines below it. */
const blocks = (text: string): ReadonlyArray<readonly [head: string, lines: ReadonlyArray<string>]> =>
  text.trim().split(/\n(?! )/).map((block) => {
    const [head = "", ...lines] = block.split("\n")
    return [head, lines]
  })

const roles = (text: string, collection: string): ReadonlyArray<Entry> =>
  blocks(text).map(([head, lines]) => {
    const [path = "", ...words] = head.split(" ")
    const labels = Object.fromEntries(after(words, "in:").map((into) => [aggregation + into, "true"]))
    const from = after(words, "of:")
    return {
      collection,
      namespace: place(path).namespace,
      object: asObject({
        apiVersion,
        kind: collection === collections.roles ? "Role" : "ClusterRole",
        metadata: metadata(path, labels),
        ...(from.length === 0 ? {} : {
          aggregationRule: { clusterRoleSelectors: from.map((to) => ({ matchLabels: { [aggregation + to]: "true" } })) }
        }),
        rules: lines.map(rule)
      })
    }
  })

const subject = (word: string): unknown => {
  const [kind = "", rest] = [word.slice(0, word.indexOf(":")), word.slice(word.indexOf(":") + 1)]
  return kind === "account"
    ? { kind: "ServiceAccount", ...place(rest) }
    : { kind: kind === "user" ? "User" : "Group", apiGroup: group, name: rest }
}

const bindings = (text: string, collection: string): ReadonlyArray<Entry> =>
  text.trim().split("\n").map((line) => {
    const [path = "", ref = "", ...subjects] = line.split(" ")
    const colon = ref.indexOf(":")
    return {
      collection,
      namespace: place(path).namespace,
      object: asObject({
        apiVersion,
        kind: collection === collections.roleBindings ? "RoleBinding" : "ClusterRoleBinding",
        metadata: metadata(path),
        ...(subjects.length === 0 ? {} : { subjects: subjects.map(subject) }),
        roleRef: { apiGroup: group, kind: ref.slice(0, colon), name: ref.slice(colon + 1) }
      })
    }
  })

const controller = "system:controller:"

/** The bindings of the controllers' roles to their accounts. */
const controllerBindings = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.flatMap(({ object: { metadata: { name } } }) =>
    bindings(
      `${name} ClusterRole:${name} account:kube-system/${name.slice(controller.length)}`,
      collections.clusterRoleBindings
    )
  )

/** Adds the rules to aggregated roles. A role that is aggregated from an aggregated one must come after it. */
const aggregated = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  let current = entries
  for (let depth = 0; depth < 3; depth++) {
    const all = current.map(({ object }) => object)
    current = current.map((entry) => {
      const rules = Aggregation.rulesFor(entry.object, all)
      return rules === undefined ? entry : { ...entry, object: asObject({ ...entry.object, rules }) }
    })
  }
  return current
}

const make = (): ReadonlyArray<Entry> => {
  const ofControllers = roles(Accounts.controllerRoles, collections.clusterRoles)
  return freeze([
    ...aggregated(roles(People.clusterRoles, collections.clusterRoles)),
    ...ofControllers,
    ...bindings(People.clusterRoleBindings, collections.clusterRoleBindings),
    ...controllerBindings(ofControllers),
    ...roles(People.namespaceRoles, collections.roles),
    ...bindings(People.namespaceRoleBindings, collections.roleBindings)
  ])
}

let entries: ReadonlyArray<Entry> | undefined

/** All objects, in the order in which a real server creates them. */
export const objects = (): ReadonlyArray<Entry> => entries ??= make()
