/**
 * `AdmissionTypes`: the variables of admission expressions, and the types of `request` and `namespaceObject`.
 *
 * `object`, `oldObject` and `params` have the type dyn. `uid`, `object` and `oldObject` are not fields of `request`. A
 * namespace has its status, its finalizers, and only part of its metadata.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go.
 */
import type { TypeProvider } from "./Checker.ts"
import * as Authorizer from "./library/Authorizer.ts"
import * as Types from "./Types.ts"

type Fields = Readonly<Record<string, Types.Type>>

/** Types by name, each with its fields. */
export const provider = (types: Readonly<Record<string, Fields>>): TypeProvider => ({
  isStruct: (name) => Object.hasOwn(types, name),
  field: (type, name) => {
    const fields = Object.hasOwn(types, type) ? types[type]! : {}
    return Object.hasOwn(fields, name) ? fields[name] : undefined
  }
})

const strings = Types.list(Types.string)
const texts = Types.map(Types.string, Types.string)

const types: Readonly<Record<string, Fields>> = {
  "kubernetes.GroupVersionKind": { group: Types.string, version: Types.string, kind: Types.string },
  "kubernetes.GroupVersionResource": { group: Types.string, version: Types.string, resource: Types.string },
  "kubernetes.UserInfo": {
    username: Types.string,
    uid: Types.string,
    groups: strings,
    extra: Types.map(Types.string, strings)
  },
  "kubernetes.AdmissionRequest": {
    kind: Types.struct("kubernetes.GroupVersionKind"),
    resource: Types.struct("kubernetes.GroupVersionResource"),
    subResource: Types.string,
    requestKind: Types.struct("kubernetes.GroupVersionKind"),
    requestResource: Types.struct("kubernetes.GroupVersionResource"),
    requestSubResource: Types.string,
    name: Types.string,
    namespace: Types.string,
    operation: Types.string,
    userInfo: Types.struct("kubernetes.UserInfo"),
    dryRun: Types.bool,
    options: Types.dyn
  },
  "kubernetes.Namespace": {
    metadata: Types.struct("kubernetes.NamespaceMetadata"),
    spec: Types.struct("kubernetes.NamespaceSpec"),
    status: Types.struct("kubernetes.NamespaceStatus")
  },
  "kubernetes.NamespaceSpec": { finalizers: strings },
  "kubernetes.NamespaceStatus": {
    conditions: Types.list(Types.struct("kubernetes.NamespaceCondition")),
    phase: Types.string
  },
  "kubernetes.NamespaceCondition": {
    status: Types.string,
    type: Types.string,
    lastTransitionTime: Types.timestamp,
    message: Types.string,
    reason: Types.string
  },
  "kubernetes.NamespaceMetadata": {
    name: Types.string,
    generateName: Types.string,
    namespace: Types.string,
    labels: texts,
    annotations: texts,
    UID: Types.string,
    creationTimestamp: Types.timestamp,
    deletionGracePeriodSeconds: Types.int,
    deletionTimestamp: Types.timestamp,
    generation: Types.int,
    resourceVersion: Types.string,
    finalizers: strings
  }
}

/** The types of `request` and `namespaceObject`. */
export const admissionTypes: TypeProvider = provider(types)

/** The optional variables that an expression has. */
export interface Use {
  readonly params: boolean
  readonly authorizer: boolean
}

/** The variables, by name. */
export const variables = ({ authorizer, params }: Use): Readonly<Record<string, Types.Type>> => ({
  object: Types.dyn,
  oldObject: Types.dyn,
  namespaceObject: Types.struct("kubernetes.Namespace"),
  request: Types.struct("kubernetes.AdmissionRequest"),
  ...(params ? { params: Types.dyn } : {}),
  ...(authorizer
    ? { authorizer: Authorizer.type, "authorizer.requestResource": Authorizer.resourceCheckType }
    : {})
})
