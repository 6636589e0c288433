/** Garbage collection and namespaces: statements 118 to 124. */
import { assert } from "@effect/vitest"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const mergePatch = "application/merge-patch+json"

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string }
}

/** ConfigMaps of a namespace: the garbage collector of a real cluster learns of new kinds only now and then. */
const configMaps = Effect.fnUntraced(function*(namespace: string) {
  const { request, unique, until } = yield* Target
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  return {
    path,
    owner: (name: string, metadata: object = {}) =>
      request("POST", path, { body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata } } }),
    get: (name: string) => request("GET", `${path}/${name}`),
    delete: (name: string, propagationPolicy: string) =>
      request("DELETE", `${path}/${name}`, { query: { propagationPolicy } }),
    release: (name: string) =>
      request("PATCH", `${path}/${name}`, { contentType: mergePatch, body: { metadata: { finalizers: null } } }),
    gone: (name: string) => until(request("GET", `${path}/${name}`), ({ status }) => status === 404),
    /**
     * Waits until the collector knows what was written before: it takes away what nobody owns. Of dependents that it
     * has not heard of yet it takes no notice when their owner is deleted.
     */
    known: Effect.gen(function*() {
      const name = unique("canary")
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...owned([lost]) } }
      yield* request("POST", path, { body })
      yield* until(request("GET", `${path}/${name}`), ({ status }) => status === 404)
    })
  }
})

const owned = (owners: ReadonlyArray<Named>, fields: object = {}) => ({
  ownerReferences: owners.map(({ metadata: { name, uid } }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name,
    uid,
    ...fields
  }))
})

/** Uids of an object's owners. */
const ownersOf = ({ metadata: { ownerReferences } }: KubeObject): ReadonlyArray<string> =>
  (ownerReferences ?? []).map(({ uid }) => uid)

const nobody = "00000000-0000-4000-8000-000000000000"
const lost: Named = { metadata: { name: "lost", uid: nobody.replace("8", "a") } }
const held = { finalizers: ["example.com/f"] }

export const controllers = [
  statement("118a", "an object goes when all of its owners are gone", {
    controllers: true,
    note: "before that, references to owners that are gone are dropped"
  }, function*() {
    const { namespace, until } = yield* Target
    const maps = yield* configMaps(yield* namespace)
    const { object: a } = yield* maps.owner("a")
    const { object: b } = yield* maps.owner("b")
    const { object: dependent } = yield* maps.owner("dependent", owned([a, b]))
    assert.lengthOf(dependent.metadata.ownerReferences ?? [], 2)
    yield* maps.owner("only-b", owned([b]))
    yield* maps.delete("a", "Background")
    assert.strictEqual((yield* maps.get("a")).status, 404, "the owner goes at once")
    const { object: dropped } = yield* until(
      maps.get("dependent"),
      ({ object, status }) => status !== 200 || ownersOf(object).length < 2
    )
    assert.deepStrictEqual(ownersOf(dropped), [b.metadata.uid])
    assert.strictEqual((yield* maps.get("only-b")).status, 200)
    yield* maps.delete("b", "Background")
    yield* maps.gone("dependent")
    yield* maps.gone("only-b")
  }),

  statement("118b", "an owner of a kind that nobody serves keeps its dependents", { controllers: true }, function*() {
    const { namespace } = yield* Target
    const maps = yield* configMaps(yield* namespace)
    const unknown = { metadata: { name: "x", uid: nobody } }
    const kept = yield* maps.owner("kept", owned([unknown], { apiVersion: "nowhere.example.com/v1", kind: "Thing" }))
    assert.strictEqual(kept.status, 201)
    const lost = yield* maps.owner("lost", owned([{ metadata: { name: "x", uid: nobody.replace("4", "5") } }]))
    assert.strictEqual(lost.status, 201, "an owner need not exist")
    yield* maps.gone("lost")
    const { object } = yield* maps.get("kept")
    assert.deepStrictEqual(object.metadata, kept.object.metadata)
  }),

  statement("119", "an owner is its uid: a namesake is none", { controllers: true }, function*() {
    const { namespace } = yield* Target
    const maps = yield* configMaps(yield* namespace)
    const { object: first } = yield* maps.owner("owner")
    yield* maps.delete("owner", "Orphan")
    yield* maps.gone("owner")
    const { object: second } = yield* maps.owner("owner")
    assert.notStrictEqual(second.metadata.uid, first.metadata.uid)
    yield* maps.owner("of-second", owned([second]))
    const stale = yield* maps.owner("of-first", owned([first]))
    assert.strictEqual(stale.status, 201)
    yield* maps.gone("of-first")
    assert.strictEqual((yield* maps.get("of-second")).status, 200)
    assert.strictEqual((yield* maps.get("owner")).object.metadata.uid, second.metadata.uid)
  }),

  statement(
    "120",
    "an owner in another namespace counts as gone; a namespaced owner of a cluster's object as unknown",
    {
      controllers: true
    },
    function*() {
      const { namespace, request, unique } = yield* Target
      const here = yield* configMaps(yield* namespace)
      const there = yield* configMaps(yield* namespace)
      const { object: owner } = yield* here.owner("owner")
      const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
      const name = unique("role")
      const role = yield* request("POST", roles, {
        body: {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRole",
          metadata: { name, ...owned([{ metadata: { name: "x", uid: nobody.replace("8", "9") } }]) }
        }
      })
      assert.strictEqual(role.status, 201)
      const near = yield* here.owner("near", owned([owner]))
      const far = yield* there.owner("far", owned([owner]))
      assert.strictEqual(far.status, 201, "nobody looks at it when it is written")
      yield* there.gone("far")
      assert.deepStrictEqual((yield* here.get("near")).object.metadata, near.object.metadata)
      assert.strictEqual((yield* request("GET", `${roles}/${name}`)).status, 200)
      yield* request("DELETE", `${roles}/${name}`)
    }
  ),

  statement("121", "under foreground deletion an owner waits for the dependents that block it, and only for them", {
    controllers: true
  }, function*() {
    const { namespace, request, until, watch } = yield* Target
    const maps = yield* configMaps(yield* namespace)
    const { object: owner } = yield* maps.owner("owner")
    yield* maps.owner("blocks", { ...held, ...owned([owner], { blockOwnerDeletion: true }) })
    yield* maps.owner("stays", { ...held, ...owned([owner]) })
    yield* maps.owner("plain", owned([owner], { blockOwnerDeletion: true }))
    yield* maps.known
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", maps.path)
    const watching = yield* watch(maps.path, { resourceVersion, fieldSelector: "metadata.name=owner" })
    const { object: marked } = yield* maps.delete("owner", "Foreground")
    assert.deepStrictEqual(marked.metadata.finalizers, ["foregroundDeletion"])
    const deleting = (name: string) =>
      until(maps.get(name), ({ object }) => object.metadata.deletionTimestamp !== undefined)
    yield* deleting("blocks")
    yield* deleting("stays")
    yield* maps.gone("plain")
    const waiting = yield* maps.get("owner")
    assert.strictEqual(waiting.status, 200)
    assert.deepStrictEqual(waiting.object.metadata.finalizers, ["foregroundDeletion"])
    yield* maps.release("blocks")
    yield* maps.gone("owner")
    const events = yield* watching.take(2)
    assert.deepStrictEqual(events.map(({ type }) => type), ["MODIFIED", "DELETED"])
    assert.strictEqual((yield* maps.get("stays")).status, 200, "it does not block")
    yield* maps.release("stays")
  }),

  statement("122a", "orphaned dependents lose the reference and stay", { controllers: true }, function*() {
    const { namespace } = yield* Target
    const maps = yield* configMaps(yield* namespace)
    const { object: owner } = yield* maps.owner("owner")
    const { object: other } = yield* maps.owner("other")
    const { object: single } = yield* maps.owner("single", owned([owner]))
    yield* maps.owner("shared", owned([owner, other]))
    yield* maps.known
    const { object: marked } = yield* maps.delete("owner", "Orphan")
    assert.deepStrictEqual(marked.metadata.finalizers, ["orphan"])
    yield* maps.gone("owner")
    const { object } = yield* maps.get("single")
    assert.strictEqual(object.metadata.uid, single.metadata.uid)
    assert.isUndefined(object.metadata.ownerReferences, "gone before the owner is")
    const shared = yield* maps.get("shared")
    assert.deepStrictEqual(ownersOf(shared.object), [other.metadata.uid])
  }),

  statement("122b", "an object has at most one controller", {}, function*() {
    const { namespace } = yield* Target
    const maps = yield* configMaps(yield* namespace)
    const { object: a } = yield* maps.owner("a")
    const { object: b } = yield* maps.owner("b")
    const { error, status } = yield* maps.owner("c", owned([a, b], { controller: true }))
    assert.strictEqual(status, 422)
    assert.strictEqual(error.reason, "Invalid")
    assert.match(
      error.message!,
      /metadata\.ownerReferences: Invalid value: .*: Only one reference can have Controller set to true/
    )
    assert.strictEqual(error.details?.causes?.[0]?.field, "metadata.ownerReferences")
    assert.strictEqual((yield* maps.owner("c", owned([a], { controller: true }))).status, 201)
  }),

  statement("123a", "a namespace is emptied, then it goes; what holds it, its conditions say", {
    controllers: true,
    note: "a real controller begins 5 seconds after the request"
  }, function*() {
    const { namespace, request, until } = yield* Target
    const names = [yield* namespace, yield* namespace] as const
    const [empty, full] = [yield* configMaps(names[0]), yield* configMaps(names[1])]
    const [first, second] = names.map((name) => `/api/v1/namespaces/${name}`) as [string, string]
    yield* empty.owner("a")
    yield* full.owner("a")
    yield* full.owner("b", held)
    const { object, status } = yield* request("DELETE", first)
    assert.strictEqual(status, 200)
    assert.strictEqual(object.kind, "Namespace")
    assert.strictEqual(object.status.phase, "Terminating")
    assert.deepStrictEqual(object.spec.finalizers, ["kubernetes"])
    assert.match(object.metadata.deletionTimestamp!, /Z$/)
    yield* request("DELETE", second)
    const late = yield* full.owner("late")
    assert.deepInclude(late.error, { code: 403, reason: "Forbidden" })
    yield* until(request("GET", first), ({ status }) => status === 404)
    assert.deepStrictEqual((yield* request("GET", empty.path)).object.items, [])
    const conditions = (object: { readonly [key: string]: any }): ReadonlyArray<{ readonly [key: string]: any }> =>
      object["status"].conditions ?? []
    const { object: waiting } = yield* until(
      request("GET", second),
      ({ object }) =>
        conditions(object).some(({ status, type }) => type === "NamespaceFinalizersRemaining" && status === "True")
    )
    assert.deepStrictEqual(
      conditions(waiting).map(({ message, reason, status, type }) => [type, status, reason, message]),
      [
        ["NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"],
        [
          "NamespaceDeletionGroupVersionParsingFailure",
          "False",
          "ParsedGroupVersions",
          "All legacy kube types successfully parsed"
        ],
        [
          "NamespaceDeletionContentFailure",
          "False",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization"
        ],
        [
          "NamespaceContentRemaining",
          "True",
          "SomeResourcesRemain",
          "Some resources are remaining: configmaps. has 1 resource instances"
        ],
        [
          "NamespaceFinalizersRemaining",
          "True",
          "SomeFinalizersRemain",
          "Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances"
        ]
      ]
    )
    assert.strictEqual((yield* full.get("a")).status, 404)
    assert.isString((yield* full.get("b")).object.metadata.deletionTimestamp)
    yield* full.release("b")
  }),

  statement("123b", "a namespace ends when the last finalizer of its spec is taken out by /finalize", {
    controllers: true,
    note: "kubernetes is added to the finalizers given; the spec's finalizers cannot be changed otherwise"
  }, function*() {
    const { request, unique, until } = yield* Target
    const name = unique("ns")
    const path = `/api/v1/namespaces/${name}`
    const { object } = yield* request("POST", "/api/v1/namespaces", {
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: ["example.com/f"] } }
    })
    assert.deepStrictEqual(object.spec.finalizers, ["example.com/f", "kubernetes"])
    assert.strictEqual(object.status.phase, "Active")
    const patched = yield* request("PATCH", path, { contentType: mergePatch, body: { spec: { finalizers: null } } })
    assert.strictEqual(patched.status, 200)
    assert.deepStrictEqual(patched.object.spec.finalizers, ["example.com/f", "kubernetes"])
    yield* request("DELETE", path)
    const { object: left } = yield* until(
      request("GET", path),
      ({ object }) => !object.spec.finalizers.includes("kubernetes")
    )
    assert.deepStrictEqual(left.spec.finalizers, ["example.com/f"])
    assert.strictEqual(left.status.phase, "Terminating")
    const finalized = yield* request("PUT", `${path}/finalize`, { body: { ...left, spec: {} } })
    assert.strictEqual(finalized.status, 200)
    assert.strictEqual((yield* request("GET", path)).status, 404)
  }),

  statement("124a", "the system's namespaces cannot be deleted", {}, function*() {
    const { request } = yield* Target
    for (const name of ["default", "kube-system", "kube-public"]) {
      const path = `/api/v1/namespaces/${name}`
      const { error, status } = yield* request("DELETE", path)
      assert.strictEqual(status, 403)
      assert.strictEqual(error.reason, "Forbidden")
      assert.strictEqual(error.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`)
      assert.deepStrictEqual(error.details, { name, kind: "namespaces" })
      const { object } = yield* request("GET", path)
      assert.strictEqual(object.status.phase, "Active")
    }
  }),

  statement("124b", "a namespace has its name as a label", { since: 21 }, function*() {
    const { namespace, request } = yield* Target
    const name = yield* namespace
    const label = "kubernetes.io/metadata.name"
    const { object } = yield* request("GET", `/api/v1/namespaces/${name}`)
    assert.deepStrictEqual(object.metadata.labels, { [label]: name })
    const { object: found } = yield* request("GET", "/api/v1/namespaces", {
      query: { labelSelector: `${label}=${name}` }
    })
    assert.lengthOf(found.items, 1)
    const patched = yield* request("PATCH", `/api/v1/namespaces/${name}`, {
      contentType: mergePatch,
      body: { metadata: { labels: { [label]: null } } }
    })
    assert.deepStrictEqual(patched.object.metadata.labels, { [label]: name }, "it cannot be taken away")
  })
]
