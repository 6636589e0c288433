/** What things are called, and who gets which of them: hashes, what is drawn, what is given out. */
import { Action, Cache, OwnerLabel, ServerSideApply, Watch } from "@effect-operator/core"
import { ConfigMap, Deployment, Namespace, Pod, Service } from "@effect-operator/k8s/kinds"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { Effect, Random, Stream } from "effect"
import * as B from "./Box.ts"

const owner = OwnerLabel.make("planted.example.com/box")

/** A Deployment whose Pods are labelled with the Box's uid, and a Service for them. */
const labelled = (always: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const { labels } = OwnerLabel.metadata(owner, box)
      const metadata = { ...B.key, ownerReferences: [controllerReference(box)] }
      const there = yield* Cache.get(Deployment, B.key)
      yield* ServerSideApply.apply(Deployment, {
        metadata,
        spec: {
          replicas: box.spec.size,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "busybox" }] } }
        }
      })
      if (there !== undefined && !always) return Action.done
      const ports = [{ name: "http", port: 80, protocol: "TCP" as const }]
      yield* ServerSideApply.apply(Service, { metadata, spec: { selector: labels, ports } })
      return Action.done
    }), { owns: [Deployment, Service] })

/** A namespace that is called after the Box's uid, and settings in it; `always`: also where the namespace is there. */
const rooms = (always: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const name = `box-${box.metadata.uid.slice(0, 8)}`
      const found = yield* Cache.get(Namespace, { name })
      const of = OwnerLabel.metadata(owner, box)
      if (found === undefined) yield* B.unlessThere(it.create(Namespace, { metadata: { name, ...of } }))
      if (found !== undefined && !always) return Action.done
      return yield* B.done(
        ServerSideApply.apply(ConfigMap, { metadata: { namespace: name, name: "settings", ...of }, data: {} })
      )
    }), {
    watches: [Watch.labelled(Namespace, owner), Watch.labelled(ConfigMap, owner)],
    finalize: (box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const [room] = yield* Cache.list(Namespace, { labels: OwnerLabel.selector(owner, box) })
        if (room === undefined) return Action.done
        if (!isTerminating(room)) yield* B.unlessGone(it.delete(Namespace, room))
        return Action.awaitChange
      })
  })

/** A password of each size, in a ConfigMap whose name is drawn; `live`: known by a list of the server's. */
const passwords = (
  live: boolean,
  nameOf: (password: string) => { readonly name?: string; readonly generateName?: string }
) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const labels = { box: box.metadata.name }
      const all = live
        ? [...yield* Stream.runCollect(it.list(ConfigMap, { namespace: "default", labels }))]
        : yield* Cache.list(ConfigMap, { namespace: "default", labels })
      const size = String(box.spec.size)
      if (!all.some(({ data }) => data?.["size"] === size)) {
        const password = (yield* Random.nextIntBetween(2 ** 30, 2 ** 31)).toString(36)
        const { metadata: { name: _, ...metadata }, data } = B.map("", { password, size }, box)
        yield* it.create(ConfigMap, { metadata: { ...metadata, ...nameOf(password), labels }, data })
      }
      for (const old of all) if (old.data?.["size"] !== size) yield* B.unlessGone(it.delete(ConfigMap, old))
      return Action.done
    })
  )

/** A Deployment, first as a stub; `trusting`: told by its generation whether it is as it should be. */
const deployed = (trusting: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const { count, deploymentGeneration = 0 } = box.status ?? {}
      const of = (replicas: number) => ({
        metadata: { ...B.key, ownerReferences: [controllerReference(box)] },
        spec: {
          replicas,
          selector: { matchLabels: { app: "box" } },
          template: { metadata: { labels: { app: "box" } }, spec: { containers: [{ name: "c", image: "busybox" }] } }
        }
      })
      const found = yield* Cache.get(Deployment, B.key)
      if (found === undefined) return yield* B.done(B.unlessThere(it.create(Deployment, of(0))))
      const { generation = 0 } = found.metadata
      const good = trusting
        ? count === box.spec.size && generation <= deploymentGeneration
        : found.spec?.replicas === box.spec.size
      const { metadata } = good
        ? found
        : yield* it.patch(Deployment, found, B.merge({ spec: { replicas: box.spec.size } }))
      yield* B.status(box, { count: box.spec.size, deploymentGeneration: metadata.generation ?? 0 })
      return Action.done
    }), { owns: [Deployment] })

/** Numbers from one ConfigMap, the lowest that is free; `guarded`: written only if it is as it was read. */
const numbers = (guarded: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      yield* B.unlessThere(it.create(ConfigMap, B.map("numbers", {})))
      const book = yield* it.get(ConfigMap, B.named("numbers"))
      const { name } = box.metadata
      const taken = Object.values(book.data ?? {})
      const free = [30, 31, 32].find((number) => !taken.includes(String(number)))
      const data = { [name]: String(free), ...book.data }
      if (book.data?.[name] === undefined) {
        yield* guarded
          ? it.replace(ConfigMap, { ...book, data })
          : it.patch(ConfigMap, B.named("numbers"), B.merge({ data }))
      }
      return yield* B.done(B.status(box, { count: Number(data[name]) }))
    }), {
    concurrency: 2,
    finalize: ({ metadata }) =>
      B.client.use((it) =>
        B.done(it.patch(ConfigMap, B.named("numbers"), B.merge({ data: { [metadata.name]: null } })))
      )
  })

const boxNamed = (name: string) =>
  B.client.use((it) => it.create(B.Box, { metadata: B.named(name), spec: { size: 1 } }))

const two: B.Steps = [
  {
    name: "two at once",
    act: Effect.andThen(boxNamed("ann"), boxNamed("bob")),
    desired: (objects) =>
      new Set(objects.flatMap((object) => object.kind === "Box" ? (object as B.Box).status?.count ?? [] : [])).size ===
        2
  },
  { name: "one goes", act: B.client.use((it) => it.delete(B.Box, B.named("ann"))) }
]

const generated = () => ({ generateName: "box-" })
const hashed = (password: string) => ({ name: `box-${password}` })

const again: B.Steps = [...B.sized(1), ...B.deleted, { name: "again", act: B.write(1) }]

/** As many Pods as the size says, under generated names, found by a label: of this Box, or of all that are `shared`. */
const drawn = (shared: boolean) =>
  B.boxes((box) =>
    B.done(B.client.use((it) =>
      Effect.gen(function*() {
        const labels = { app: "box", ...(shared ? {} : { box: box.metadata.uid }) }
        const found = yield* Cache.list(Pod, { labels })
        for (const pod of found.filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, pod))
        const pods = found.filter((pod) => !isTerminating(pod) && !B.isFailed(pod))
        const { metadata, spec } = B.podOf(box, { generateName: "box-" })
        for (let i = pods.length; i < box.spec.size; i++) {
          yield* it.create(Pod, { metadata: { ...metadata, labels: { app: "box", box: box.metadata.uid } }, spec })
        }
        for (const extra of pods.slice(box.spec.size)) yield* B.unlessGone(it.delete(Pod, extra))
      })
    ))
  )

/**
 * As many Pods as the size says, named after the uid of the Box, found by a label: of this Box, or of all that are
 * `shared`. A Box goes when it finds none any more.
 */
const numbered = (shared: boolean) => {
  const labelsOf = (box: B.Box) => ({ app: "box", box: box.metadata.uid })
  const found = (box: B.Box) => Cache.list(Pod, { labels: shared ? { app: "box" } : labelsOf(box) })
  const remove = (pods: ReadonlyArray<Pod>) =>
    Effect.forEach(pods, (pod) => B.unlessGone(B.client.use((it) => it.delete(Pod, pod))), { discard: true })
  return B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const pods = yield* found(box)
      yield* remove(pods.filter(B.isFailed))
      const taken = new Set(pods.map(({ metadata }) => metadata.name))
      for (let i = 0; taken.size < box.spec.size; i++) {
        const name = `${box.metadata.uid}-${i}`
        if (taken.has(name)) continue
        const { metadata, spec } = B.podOf(box, { name })
        yield* B.unlessThere(it.create(Pod, { metadata: { ...metadata, labels: labelsOf(box) }, spec }))
        taken.add(name)
      }
      yield* remove(pods.slice(box.spec.size))
      return Action.done
    }), {
    finalize: (box) =>
      Effect.gen(function*() {
        const pods = yield* found(box)
        yield* remove(pods.filter((pod) => !isTerminating(pod)))
        return pods.length === 0 ? Action.done : Action.awaitChange
      })
  })
}

/** As many Pods as the size says, and a list of them, which is written anew where it is not as it `is` to be. */
const listed = (is: (listed: ReadonlyArray<string>, there: ReadonlyArray<string>) => boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    yield* B.asMany(box, yield* B.living(box))
    const there = (yield* B.living(box)).filter((pod) => !B.isFailed(pod)).map(({ metadata }) => metadata.name)
    const members = (yield* B.cached("members"))?.data?.["members"]
    if (members !== undefined && is(members.split(" "), there)) return Action.done
    return yield* B.done(B.keep(box, "members", { members: there.join(" ") }))
  })

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "names: Pods are found by a label that all Boxes share",
    "equal custom resources share nothing",
    B.sized(2),
    drawn(true),
    drawn(false)
  ),
  B.bug(
    "names: Pods are found by a label that all Boxes share, and in the end there are none",
    "equal custom resources share nothing",
    B.sized(2, 0),
    drawn(true),
    drawn(false)
  ),
  B.bug(
    "names: Pods are called after the uid of their Box, but found by a label that all Boxes share",
    "equal custom resources share nothing",
    B.sized(2),
    numbered(true),
    numbered(false)
  ),
  B.bug(
    "names: a Service is made only with the Deployment that it is for",
    "same end state",
    again,
    labelled(false),
    labelled(true)
  ),
  B.bug(
    "names: what is in a namespace of its own is made only with that",
    "same end state",
    again,
    rooms(false),
    rooms(true)
  ),
  B.bug(
    "names: what has a generated name is looked for in a cache that may be old",
    "same end state",
    B.sized(1, 2),
    passwords(false, generated),
    passwords(true, generated),
    { faults: ["watchStale", "oldRestart"] }
  ),
  B.bug(
    "names: what is called after a password is made before it is known",
    "same end state",
    B.sized(1, 2),
    passwords(false, hashed),
    passwords(true, hashed),
    { faults: ["watchStale", "oldRestart", "crashAfter"] }
  ),
  B.bug(
    "names: a number is given out twice",
    "desired state",
    two,
    numbers(false),
    numbers(true)
  ),
  B.bug(
    "names: a Deployment that is made anew has a generation that is known",
    "same end state",
    B.sized(1),
    deployed(true),
    deployed(false),
    { faults: ["removed", "annotated", "crashAfter"] }
  ),
  B.bug(
    "names: who has come in another's place is not written down",
    "no dangling references",
    B.sized(2, 1),
    B.boxes(listed((listed, there) => listed.length === there.length)),
    B.boxes(listed((listed, there) => listed.join() === there.join()))
  )
]
