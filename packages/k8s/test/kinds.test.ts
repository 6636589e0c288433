import * as Resource from "@effect-operator/core/Resource"
import { assert, describe, it } from "@effect/vitest"
import * as EventsV1 from "../src/kinds/events.v1.ts"
import * as Kinds from "../src/kinds/index.ts"
import * as Schema from "../src/kinds/Schema.ts"

const served = (name: string): Schema.ServedResource => {
  const found = Schema.resources.find((resource) =>
    Schema.isStable(resource.version) && Resource.qualifiedName(resource) === name
  )
  if (found === undefined) throw new Error(`${name} is not served`)
  return found
}

const definition = (group: string, version: string, kind: string): Schema.Schema => {
  const found = Schema.definitionFor({ group, version, kind })
  if (found === undefined) throw new Error(`${kind} has no definition`)
  return found
}

const at = (schema: Schema.Schema, ...path: ReadonlyArray<string>): Schema.Schema =>
  path.reduce((current, name) => {
    const next = name === "[]" ? Schema.element(current) : Schema.field(current, name)
    if (next === undefined) throw new Error(`no ${name} in ${path.join(".")}`)
    return next
  }, schema)

const podSpec = at(definition("", "v1", "Pod"), "spec")

describe("the kinds of the index", () => {
  const kinds: ReadonlyArray<Resource.Any> = Object.values(Kinds)

  it("are every kind in the preferred stable version of its group, but one Event", () => {
    const expected = Schema.groups.flatMap(({ name, versions: [preferred = ""] }) =>
      Schema.resources.filter(({ group, version }) =>
        group === name && version === preferred && Schema.isStable(version)
      )
    )
    assert.strictEqual(kinds.length, 66)
    assert.deepStrictEqual(
      kinds.map(({ id }) => id).concat(EventsV1.Event.id).toSorted(),
      expected.map(({ group, kind, version }) => group === "" ? `${kind}.${version}` : `${kind}.${version}.${group}`)
        .toSorted()
    )
  })

  it("say of themselves what the server says of them", () => {
    for (const [name, kind] of Object.entries<Resource.Any>(Kinds)) {
      const resource = Schema.resourceForKind(kind)
      assert.isDefined(resource, name)
      assert.strictEqual(name, kind.kind)
      assert.deepInclude(resource, {
        plural: kind.plural,
        singular: kind.singular,
        listKind: kind.listKind,
        scope: kind.scope,
        shortNames: kind.shortNames,
        categories: kind.categories
      })
      assert.deepStrictEqual(resource.subresources.map((subresource) => subresource.name), kind.subresources)
    }
  })

  it("have the paths of the API", () => {
    assert.strictEqual(Resource.path(Kinds.Pod, { namespace: "a", name: "b" }), "/api/v1/namespaces/a/pods/b")
    assert.strictEqual(
      Resource.path(Kinds.Deployment, { namespace: "a", name: "b", subresource: "scale" }),
      "/apis/apps/v1/namespaces/a/deployments/b/scale"
    )
    assert.strictEqual(Resource.path(Kinds.Node, { name: "n" }), "/api/v1/nodes/n")
    assert.strictEqual(Resource.path(Kinds.HorizontalPodAutoscaler), "/apis/autoscaling/v2/horizontalpodautoscalers")
  })

  it("know their scope", () => {
    for (const kind of [Kinds.ClusterRole, Kinds.Namespace, Kinds.CustomResourceDefinition, Kinds.PersistentVolume]) {
      assert.strictEqual(kind.scope, "Cluster", kind.id)
    }
    for (const kind of [Kinds.Role, Kinds.Pod, Kinds.Lease, Kinds.Event, Kinds.PersistentVolumeClaim, Kinds.Binding]) {
      assert.strictEqual(kind.scope, "Namespaced", kind.id)
    }
  })

  it("have irregular plurals as the server has them", () => {
    const plurals = [Kinds.Endpoints, Kinds.Ingress, Kinds.NetworkPolicy, Kinds.StorageClass, Kinds.ComponentStatus]
    assert.deepStrictEqual(plurals.map(({ plural, singular }) => [plural, singular]), [
      ["endpoints", "endpoints"],
      ["ingresses", "ingress"],
      ["networkpolicies", "networkpolicy"],
      ["storageclasses", "storageclass"],
      ["componentstatuses", "componentstatus"]
    ])
    assert.strictEqual(Kinds.Endpoints.listKind, "EndpointsList")
  })
})

describe("what is served", () => {
  it("is Kubernetes 1.35: 23 groups, 36 group versions, 95 resources, 67 in a preferred stable version", () => {
    assert.strictEqual(Schema.groups.length, 23)
    assert.strictEqual(Schema.groups.flatMap(({ versions }) => versions).length, 36)
    assert.strictEqual(Schema.resources.length, 95)
    assert.strictEqual(Object.keys(Schema.definitions).length, 764)
    const preferred = Schema.resources.filter(({ group, version }) =>
      Schema.isStable(version) && Schema.groups.find(({ name }) => name === group)?.versions[0] === version
    )
    assert.strictEqual(preferred.length, 67)
  })

  it("lists the preferred version of a group first", () => {
    const versions = (group: string) => Schema.groups.find(({ name }) => name === group)?.versions
    assert.deepStrictEqual(versions("autoscaling"), ["v2", "v1"])
    assert.deepStrictEqual(versions("resource.k8s.io"), ["v1", "v1beta2", "v1beta1", "v1alpha3"])
    assert.deepStrictEqual(Schema.groups.slice(0, 3).map(({ name }) => name), ["apiregistration.k8s.io", "", "apps"])
  })

  it("has the verbs of discovery", () => {
    const all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    assert.deepStrictEqual(served("pods").verbs, all)
    assert.deepStrictEqual(served("services").verbs, all)
    assert.deepStrictEqual(served("namespaces").verbs, all.filter((verb) => verb !== "deletecollection"))
    assert.deepStrictEqual(served("componentstatuses").verbs, ["get", "list"])
    assert.deepStrictEqual(served("bindings").verbs, ["create"])
    assert.deepStrictEqual(served("subjectaccessreviews.authorization.k8s.io").verbs, ["create"])
  })

  it("has subresources with their own kinds and verbs", () => {
    const subresource = (resource: string, name: string) =>
      served(resource).subresources.find((candidate) => candidate.name === name)
    const own = ["get", "patch", "update"]
    assert.deepStrictEqual(subresource("pods", "status"), {
      name: "status",
      group: "",
      version: "v1",
      kind: "Pod",
      verbs: own
    })
    assert.deepInclude(subresource("pods", "eviction"), {
      group: "policy",
      version: "v1",
      kind: "Eviction",
      verbs: ["create"]
    })
    assert.deepInclude(subresource("deployments.apps", "scale"), {
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: own
    })
    assert.deepInclude(subresource("pods", "log"), { kind: "Pod", verbs: ["get"] })
    assert.deepInclude(subresource("pods", "exec"), { kind: "PodExecOptions", verbs: ["create", "get"] })
    assert.deepInclude(subresource("serviceaccounts", "token"), {
      group: "authentication.k8s.io",
      kind: "TokenRequest",
      verbs: ["create"]
    })
    assert.deepInclude(subresource("namespaces", "finalize"), { kind: "Namespace", verbs: ["update"] })
    assert.isUndefined(subresource("configmaps", "status"))
  })

  it("answers to short names and categories", () => {
    const short = (name: string) => served(name).shortNames
    assert.deepStrictEqual(short("pods"), ["po"])
    assert.deepStrictEqual(short("customresourcedefinitions.apiextensions.k8s.io"), ["crd", "crds"])
    assert.deepStrictEqual(short("jobs.batch"), [])
    const all = Schema.resources.filter(({ categories }) => categories.includes("all")).map(({ kind }) => kind)
    assert.sameMembers([...new Set(all)], [
      "CronJob",
      "DaemonSet",
      "Deployment",
      "HorizontalPodAutoscaler",
      "Job",
      "Pod",
      "ReplicaSet",
      "ReplicationController",
      "Service",
      "StatefulSet"
    ])
  })

  it("gives no short name to two resources of different kinds", () => {
    const owners = new Map<string, Set<string>>()
    for (const { kind, shortNames } of Schema.resources) {
      for (const name of shortNames) owners.set(name, (owners.get(name) ?? new Set()).add(kind))
    }
    assert.deepStrictEqual([...owners].filter(([, kinds]) => kinds.size > 1), [])
  })

  it("is found by plural and by kind", () => {
    assert.strictEqual(
      Schema.resourceFor({ group: "apps", version: "v1", plural: "deployments" })?.kind,
      "Deployment"
    )
    assert.isUndefined(Schema.resourceFor({ group: "apps", version: "v1beta1", plural: "deployments" }))
    assert.isUndefined(Schema.resourceForKind({ group: "autoscaling", version: "v1", kind: "Scale" }))
  })

  it("has a definition for every kind, list and subresource kind that has a body", () => {
    for (const { group, kind, listKind, subresources, verbs, version } of Schema.resources) {
      assert.isDefined(Schema.definitionFor({ group, version, kind }), `${group}/${version} ${kind}`)
      if (verbs.includes("list")) {
        assert.isDefined(Schema.definitionFor({ group, version, kind: listKind }), `${group}/${version} ${listKind}`)
      }
      for (const subresource of subresources) {
        // The options of exec, proxy and the like are query parameters: they have no schema.
        if (!subresource.kind.endsWith("Options")) assert.isDefined(Schema.definitionFor(subresource), subresource.kind)
      }
    }
  })
})

describe("the definitions", () => {
  it("refer to nothing that is missing", () => {
    const missing: Array<string> = []
    const walk = (schema: Schema.Schema): void => {
      if (schema.ref !== undefined && Schema.definitions[schema.ref] === undefined) missing.push(schema.ref)
      for (const child of [schema.items, schema.values, ...Object.values(schema.properties ?? {})]) {
        if (child !== undefined) walk(child)
      }
    }
    Object.values(Schema.definitions).forEach(walk)
    assert.deepStrictEqual(missing, [])
  })

  it("know the keys of map lists, and the defaults that tell their elements apart", () => {
    const ports = at(podSpec, "containers", "[]", "ports")
    assert.deepInclude(ports, {
      listType: "map",
      listMapKeys: ["containerPort", "protocol"],
      patchMergeKey: "containerPort"
    })
    assert.strictEqual(at(ports, "[]", "protocol").default, "TCP")
    assert.deepStrictEqual(at(ports, "[]").required, ["containerPort"])
    assert.deepStrictEqual(at(definition("", "v1", "Service"), "spec", "ports").listMapKeys, ["port", "protocol"])
  })

  it("know set lists, atomic lists and atomic maps", () => {
    const meta = at(definition("", "v1", "Pod"), "metadata")
    assert.strictEqual(at(meta, "finalizers").listType, "set")
    assert.strictEqual(at(podSpec, "containers", "[]", "args").listType, "atomic")
    assert.strictEqual(at(podSpec, "nodeSelector").mapType, "atomic")
    assert.strictEqual(at(definition("apps", "v1", "Deployment"), "spec", "selector").mapType, "atomic")
  })

  it("know what a strategic merge patch does with a field", () => {
    assert.deepInclude(at(podSpec, "containers"), { patchStrategy: ["merge"], patchMergeKey: "name" })
    assert.deepInclude(at(podSpec, "volumes"), { patchStrategy: ["merge", "retainKeys"], patchMergeKey: "name" })
    assert.deepInclude(at(podSpec, "containers", "[]", "volumeMounts"), { patchMergeKey: "mountPath" })
    assert.deepStrictEqual(at(definition("", "v1", "Pod"), "metadata", "finalizers").patchStrategy, ["merge"])
    assert.isUndefined(at(definition("", "v1", "Pod"), "metadata", "finalizers").patchMergeKey)
    assert.isUndefined(at(podSpec, "tolerations").patchStrategy)
  })

  it("let what stands beside a reference overrule the definition", () => {
    const strategy = at(definition("apps", "v1", "Deployment"), "spec", "strategy")
    assert.deepStrictEqual(strategy.patchStrategy, ["retainKeys"])
    assert.isDefined(strategy.properties?.["rollingUpdate"])
    assert.strictEqual(Schema.definitions["io.k8s.api.core.v1.ObjectReference"]?.mapType, "atomic")
    assert.strictEqual(at(definition("", "v1", "PersistentVolume"), "spec", "claimRef").mapType, "granular")
  })

  it("know the primitive type and format of a field", () => {
    assert.deepStrictEqual(at(definition("apps", "v1", "Deployment"), "spec", "replicas"), {
      type: "integer",
      format: "int32"
    })
    assert.deepInclude(at(podSpec, "containers", "[]", "resources", "limits", "cpu"), { type: "string" })
    assert.deepInclude(at(definition("", "v1", "Secret"), "data", "any-key"), { type: "string", format: "byte" })
    const targetPort = at(definition("", "v1", "Service"), "spec", "ports", "[]", "targetPort")
    assert.strictEqual(targetPort.format, "int-or-string")
    assert.isTrue(Schema.isOpaque(targetPort))
  })

  it("are opaque exactly where any JSON is allowed", () => {
    assert.isTrue(Schema.isOpaque(at(definition("apps", "v1", "ControllerRevision"), "data")))
    const crd = definition("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    const schema = at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema")
    assert.isTrue(Schema.isOpaque(at(schema, "default")))
    assert.isFalse(Schema.isOpaque(schema))
    assert.isFalse(Schema.isOpaque(at(crd, "spec", "versions", "[]", "subresources", "status")))
    assert.isFalse(Schema.isOpaque(at(podSpec, "nodeSelector")))
    assert.isFalse(Schema.isOpaque(at(podSpec, "containers")))
    assert.isFalse(Schema.isOpaque(at(podSpec, "hostname")))
  })

  it("have no field that an object merely inherits", () => {
    assert.isUndefined(Schema.field(podSpec, "constructor"))
    assert.isUndefined(Schema.field(podSpec, "nosuchfield"))
    assert.strictEqual(Schema.field(at(podSpec, "nodeSelector"), "constructor")?.type, "string")
  })
})
