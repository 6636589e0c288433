/**
 * `BootstrapPolicy`: the roles and bindings a server has from its start, as objects.
 *
 * Read from their notation when the first server is made, then shared by all: what an object has of its own (uid,
 * resourceVersion, creationTimestamp) is added when it is stored. `admin`, `edit` and `view` are there with the rules of
 * the roles they are made of.
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

/** Blocks of a line at the margin and indented ones below it. */
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

/** The binding of every controller's role to its account. */
const controllerBindings = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.flatMap(({ object: { metadata: { name } } }) =>
    bindings(
      `${name} ClusterRole:${name} account:kube-system/${name.slice(controller.length)}`,
      collections.clusterRoleBindings
    )
  )

/** With the rules of whatever they are made of; a role that is made of such a role comes after it. */
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

/** Everything, in the order a real server makes it. */
export const objects = (): ReadonlyArray<Entry> => entries ??= make()
