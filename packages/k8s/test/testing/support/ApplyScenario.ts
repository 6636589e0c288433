/**
 * Random sequences of applies, updates and patches, and what of the answers two servers must agree on.
 *
 * A sequence is drawn from its seed alone, and runs in a namespace of its own against any transport. Writes that start
 * from the stored object (PUT) read it first, so that each server edits its own.
 */
import type { Method } from "@effect-operator/core/Transport"
import { RandomJson } from "./RandomJson.ts"

export type Json = Record<string, any>

export interface Step {
  readonly method: Method
  /** Below the kind's collection: `/a`, `/a/status`. */
  readonly path: string
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly contentType: string
  readonly userAgent: string
  /** The body, or an edit of the object as the server has it. */
  readonly body: Json | ReadonlyArray<Json> | ((stored: Json) => Json)
}

export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly collection: (namespace: string) => string
  /** A configuration to apply: some of the fields of the kind. */
  readonly config: (random: RandomJson) => Json
  /** A whole object. */
  readonly whole: (random: RandomJson) => Json
  /** A change of an object. */
  readonly edit: (random: RandomJson) => (object: Json) => Json
  readonly status?: (random: RandomJson) => Json
  readonly scale?: boolean
}

const maybe = (random: RandomJson, probability: number, fields: () => Json): Json =>
  random.chance(probability) ? fields() : {}

/** At least one of the items: older servers do not own what is empty. */
const some = <A>(random: RandomJson, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const kept = items.filter(() => random.chance(0.5))
  return kept.length > 0 ? kept : [random.pick(items)]
}

const texts = (random: RandomJson): Json =>
  Object.fromEntries(some(random, ["a", "b", "c", "d"]).map((key) => [key, random.pick(["1", "2", "3"])]))

const labels = (random: RandomJson): Json => ({
  ...maybe(random, 0.5, () => ({ labels: texts(random) })),
  ...maybe(random, 0.3, () => ({ annotations: texts(random) })),
  ...maybe(random, 0.15, () => ({ finalizers: some(random, ["x.io/a", "x.io/b", "x.io/c"]) }))
})

const configMap: Kind = {
  apiVersion: "v1",
  kind: "ConfigMap",
  collection: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
  config: (random) => ({ metadata: labels(random), ...maybe(random, 0.8, () => ({ data: texts(random) })) }),
  whole: (random) => ({ metadata: labels(random), data: texts(random) }),
  edit: (random) => {
    const [data, meta] = [texts(random), labels(random)]
    return (object) => ({ ...object, data, metadata: { ...object["metadata"], ...meta } })
  }
}

const ports = (random: RandomJson): ReadonlyArray<Json> =>
  some(random, [80, 81, 82]).map((port) => ({
    port,
    name: `p${port}`,
    // Kubernetes 1.20 has no default for a key that is not applied.
    protocol: random.pick(["TCP", "TCP", "UDP"]),
    ...maybe(random, 0.3, () => ({ targetPort: random.pick([80, "http"]) }))
  }))

const service: Kind = {
  apiVersion: "v1",
  kind: "Service",
  collection: (namespace) => `/api/v1/namespaces/${namespace}/services`,
  config: (random) => ({
    metadata: labels(random),
    spec: {
      ports: ports(random),
      ...maybe(random, 0.3, () => ({ sessionAffinity: random.pick(["None", "ClientIP"]) }))
    }
  }),
  whole: (random) => ({ metadata: labels(random), spec: { ports: [{ port: 80, name: "p80" }] } }),
  edit: (random) => {
    const list = ports(random)
    return (object) => ({ ...object, spec: { ...object["spec"], ports: list } })
  }
}

const container = (random: RandomJson, name: string): Json => ({
  name,
  image: random.pick(["i:1", "i:2"]),
  ...maybe(random, 0.3, () => ({
    env: some(random, ["A", "B", "C"]).map((key) => ({
      name: key,
      ...maybe(random, 0.7, () => ({ value: random.pick(["1", "2"]) }))
    }))
  })),
  ...maybe(random, 0.3, () => ({
    ports: some(random, [80, 81]).map((containerPort) => ({ containerPort, protocol: random.pick(["TCP", "UDP"]) }))
  })),
  ...maybe(random, 0.2, () => ({ resources: { limits: { cpu: random.pick(["1", "2"]) } } })),
  ...maybe(random, 0.2, () => ({ args: some(random, ["x", "y"]) })),
  ...maybe(random, 0.1, () => ({ securityContext: { privileged: false } }))
})

const template = (random: RandomJson): Json => ({
  metadata: { labels: { app: "a", ...maybe(random, 0.3, () => ({ x: random.pick(["1", "2"]) })) } },
  spec: { containers: ["a", ...some(random, ["b", "c"])].map((name) => container(random, name)) }
})

const deployment: Kind = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  collection: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
  config: (random) => ({
    metadata: labels(random),
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: template(random),
      ...maybe(random, 0.4, () => ({ replicas: random.pick([1, 2, 3]) })),
      ...maybe(
        random,
        0.2,
        () => ({ strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: random.pick([1, "50%"]) } } })
      )
    }
  }),
  whole: (random) => ({
    metadata: labels(random),
    spec: { selector: { matchLabels: { app: "a" } }, template: template(random) }
  }),
  edit: (random) => {
    const [next, replicas] = [template(random), random.pick([1, 2, 5])]
    return (object) => ({ ...object, spec: { ...object["spec"], replicas, template: next } })
  },
  status: (random) => ({
    observedGeneration: random.pick([1, 2]),
    ...maybe(random, 0.5, () => ({ replicas: random.pick([1, 2]) }))
  }),
  scale: true
}

const pod: Kind = {
  apiVersion: "v1",
  kind: "Pod",
  collection: (namespace) => `/api/v1/namespaces/${namespace}/pods`,
  config: (random) => ({
    metadata: labels(random),
    spec: { containers: [{ name: "a", image: random.pick(["i:1", "i:2"]) }] }
  }),
  whole: (random) => ({ metadata: labels(random), spec: { containers: [container(random, "a")] } }),
  edit: (random) => {
    const meta = labels(random)
    return (object) => ({ ...object, metadata: { ...object["metadata"], ...meta } })
  },
  status: (random) => ({
    conditions: some(random, ["A", "B", "C"]).map((type) => ({
      type,
      status: random.pick(["True", "False"]),
      lastProbeTime: null,
      lastTransitionTime: null
    }))
  })
}

const items = (random: RandomJson): ReadonlyArray<Json> =>
  some(random, ["a", "b", "c"]).map((name) => ({
    name,
    port: random.pick([1, 2]),
    ...maybe(random, 0.5, () => ({ value: random.pick(["x", "y"]) })),
    ...maybe(random, 0.2, () => ({ tags: some(random, ["t", "u"]) }))
  }))

const spec = (random: RandomJson): Json => ({
  // Kubernetes 1.20 leaves a null where a whole object is applied no more.
  replicas: random.pick([1, 2]),
  ...maybe(random, 0.4, () => ({ text: random.pick(["a", "b", "c"]) })),
  ...maybe(random, 0.4, () => ({ set: some(random, ["a", "b", "c", "d"]) })),
  ...maybe(random, 0.4, () => ({ numbers: some(random, [1, 2, 10]) })),
  ...maybe(random, 0.5, () => ({ items: items(random) })),
  ...maybe(random, 0.3, () => ({ list: some(random, [1, 2, 3]) })),
  ...maybe(random, 0.3, () => ({ granular: texts(random) })),
  ...maybe(random, 0.3, () => ({ atomic: texts(random) })),
  ...maybe(random, 0.3, () => ({ mixed: random.pick([1, "x", "50%"]) })),
  ...maybe(
    random,
    0.3,
    () => ({ open: random.pick([{ b: true }, { a: 1 }, { a: 2, c: [1] }, { c: [1, 2], d: "y" }]) })
  ),
  ...maybe(random, 0.3, () => ({ deep: { x: 1, ...maybe(random, 0.6, () => ({ y: { z: random.pick([1, 2]) } })) } })),
  ...maybe(random, 0.2, () => ({ nested: { key: { rows: items(random) } } }))
})

/** A kind of the group with every type of list and map; Kubernetes 1.20 merges nothing in kinds with an int-or-string. */
export const widgetDefinition = (group: string, mixed: Json = { "x-kubernetes-int-or-string": true }): Json => {
  const list = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    items: {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string" },
        port: { type: "integer", default: 1 },
        value: { type: "string" },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } }
      }
    }
  }
  const map = { type: "object", additionalProperties: { type: "string" } }
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: ["v1", "v2"].map((name) => ({
        name,
        served: true,
        storage: name === "v1",
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  replicas: { type: "integer" },
                  text: { type: "string" },
                  set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
                  numbers: { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer" } },
                  items: list,
                  list: { type: "array", items: { type: "integer" } },
                  granular: map,
                  atomic: { ...map, "x-kubernetes-map-type": "atomic" },
                  mixed,
                  open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                  deep: {
                    type: "object",
                    properties: {
                      x: { type: "integer" },
                      y: { type: "object", properties: { z: { type: "integer" } } }
                    }
                  },
                  nested: { type: "object", additionalProperties: { type: "object", properties: { rows: list } } }
                }
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
            }
          }
        }
      }))
    }
  }
}

const widget = (group: string): Kind => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  collection: (namespace) => `/apis/${group}/v1/namespaces/${namespace}/widgets`,
  config: (random) => ({ metadata: labels(random), spec: spec(random) }),
  whole: (random) => ({ metadata: labels(random), spec: spec(random) }),
  edit: (random) => {
    const [next, meta] = [spec(random), labels(random)]
    return (object) => ({ ...object, spec: next, metadata: { ...object["metadata"], ...meta } })
  },
  status: (random) => ({
    ...maybe(random, 0.7, () => ({ replicas: random.pick([1, 2]) })),
    ...maybe(random, 0.5, () => ({ phase: random.pick(["A", "B"]) }))
  }),
  scale: true
})

const applyType = "application/apply-patch+yaml"
const mergeType = "application/merge-patch+json"
const jsonType = "application/json"

/** Draws the kind and the steps of a sequence. */
export const draw = (
  random: RandomJson,
  group: string
): { readonly kind: Kind; readonly steps: ReadonlyArray<Step> } => {
  const kind = random.pick([configMap, service, deployment, pod, widget(group), widget(group)])
  const object = (fields: Json): Json => ({
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    ...fields,
    metadata: { name: "a", ...fields["metadata"] }
  })
  const userAgent = () => random.pick(["u1/1.0", "u2/1.0"])
  const apply = (path: string, body: Json): Step => ({
    method: "PATCH",
    path,
    // Managers of their own for the status: old servers do not tell subresources apart.
    query: [
      ["fieldManager", random.pick(path === "/a" ? ["m1", "m2", "m3"] : ["s1", "s2"])],
      ...(random.chance(0.4) ? [["force", "true"] as const] : [])
    ],
    contentType: applyType,
    userAgent: userAgent(),
    body
  })
  const write = (method: Method, path: string, contentType: string, body: Step["body"]): Step => ({
    method,
    path,
    query: random.chance(0.1) ? [["dryRun", "All"]] : [],
    contentType,
    userAgent: userAgent(),
    body
  })
  const next = (): Step => {
    switch (
      random.pick(["apply", "apply", "apply", "put", "merge", "json", "status", "applyStatus", "scale", "entries"])
    ) {
      case "put":
        return write("PUT", "/a", jsonType, kind.edit(random))
      case "merge":
        return write("PATCH", "/a", mergeType, {
          metadata: labels(random),
          ...(random.chance(0.5) ? kind.config(random) : {})
        })
      case "json":
        return write("PATCH", "/a", "application/json-patch+json", [
          { op: "add", path: "/metadata/annotations", value: texts(random) }
        ])
      case "status": {
        if (kind.status === undefined) return apply("/a", object(kind.config(random)))
        const status = kind.status(random)
        return write(
          "PUT",
          "/a/status",
          jsonType,
          (stored) => ({ ...stored, status: { ...stored["status"], ...status } })
        )
      }
      case "applyStatus":
        return kind.status === undefined
          ? apply("/a", object(kind.config(random)))
          : apply("/a/status", object({ status: kind.status(random) }))
      case "scale":
        return kind.scale === true
          ? write("PATCH", "/a/scale", mergeType, { spec: { replicas: random.pick([1, 2, 4]) } })
          : apply("/a", object(kind.config(random)))
      case "entries": {
        return write("PATCH", "/a", mergeType, { metadata: { managedFields: random.pick([[{}], [], null]) } })
      }
      default:
        return apply("/a", object(kind.config(random)))
    }
  }
  const first = random.chance(0.5)
    ? write("POST", "", jsonType, object(kind.whole(random)))
    : apply("/a", object(kind.config(random)))
  return { kind, steps: [first, ...Array.from({ length: 8 }, next)] }
}
