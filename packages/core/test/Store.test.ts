import { type Delta, type KubeClient, KubeObject, Resource } from "@effect-operator/core"
import { defaults, Store } from "@effect-operator/core/Store"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { History, type Obj, selected, undecodable } from "./support/History.ts"
import { Prng } from "./support/Prng.ts"

const Thing = Resource.make<Obj>()({
  group: "test.io",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced",
  decode: (json) => undecodable(json as Obj) ? Result.fail({ issues: ["spec.size: too small"] }) : Result.succeed(json)
})

const keys = ["a/1", "a/2", "b/1"]

/** An answer under way, and the incarnation it is about. */
interface Answer {
  readonly text: string
  readonly write: KubeClient.Write
  readonly rv: number
  readonly uid: string | undefined
}

const unseen = { subresource: "scale", answer: undefined }

/** One random run: a server, a store, and after every step what must hold. Throws with the steps that led there. */
class Run {
  readonly random: Prng
  /** Half of the runs watch everything, where nothing leaves the selection. */
  readonly filtered: boolean
  readonly history: History
  readonly store: Store<Obj>
  readonly trace: Array<string> = []
  /** Answers the server gave and the program has not seen yet. */
  readonly answers: Array<Answer> = []
  /** By key, the revision of the newest own write whose answer the program has. */
  readonly acknowledged = new Map<string, number>()
  /** The same of writes that say nothing of an object that is not there. */
  readonly present = new Map<string, number>()
  readonly buried = new Set<string>()
  /** Incarnations that were terminating or gone when the program had the answer. */
  readonly doomed = new Set<string>()
  /** Those of them that the answer did not name, and bookmarks since: two of them end the promise. */
  readonly guessed = new Map<string, number>()
  /** What the deltas make of an empty map. */
  readonly replayed = new Map<string, Obj>()
  readonly reported = new Map<string, string>()
  synced = false

  constructor(seed: number) {
    this.random = new Prng(seed)
    this.filtered = this.random.chance(0.5)
    const matches = this.filtered ? selected : () => true
    this.history = new History(matches)
    this.store = new Store<Obj>({ resource: Thing, matches, filtered: this.filtered, indexedLabels: ["tier"] })
  }

  get watchRv(): number {
    return Number(this.store.resourceVersion)
  }

  run(): void {
    const steps = this.random.int(5, 30)
    if (this.random.chance(0.5)) this.relist()
    for (let i = 0; i < steps; i++) {
      this.step()
      this.check()
    }
    this.answerAll()
    this.check()
    if (!this.synced) this.relist()
    for (let bookmarks = 0; bookmarks < 3; bookmarks++) this.deliver(this.history.rv)
    this.check()
    for (const key of keys) {
      const object = this.history.get(key)
      const expected = object !== undefined && this.shown(object) ? rvOf(object) : undefined
      this.expect(rvOf(this.store.get(key)) === expected, `caught up, ${key} is not what the server has`)
    }
    this.expect(this.store.unconfirmed === 0, `caught up, ${this.store.unconfirmed} unconfirmed`)
  }

  step(): void {
    const dice = this.random.next()
    if (dice < 0.3) this.change(false)
    else if (dice < 0.6) this.change(true)
    else if (dice < 0.75) this.answer()
    else if (dice < 0.95) {
      if (this.synced) this.deliver(this.random.int(this.watchRv, this.history.rv))
    } else this.relist()
  }

  /** Somebody changes something on the server; if it is this program, an answer is on its way. */
  change(own: boolean): void {
    const { history, random } = this
    const key = random.pick(keys)
    const who = own ? "own" : "foreign"
    const object = history.get(key)
    const resource = Thing
    const say = (what: string) => this.trace.push(`${who} ${what} ${key} -> ${history.rv}`)
    const answer = (text: string, write: KubeClient.Write, rv = history.rv) => {
      say(text)
      if (own) this.answers.push({ text: `${text} ${key}@${rv}`, write, rv, uid: object?.metadata.uid })
    }
    if (object === undefined) {
      answer("create", { _tag: "Written", resource, object: history.create(key, random) })
    } else if (random.chance(0.1)) {
      answer("no-op", { _tag: "Written", resource, object }, Number(object.metadata.resourceVersion))
    } else if (own && random.chance(0.15)) {
      const { uid } = history.scale(key, random).metadata
      answer("scale", {
        ...unseen,
        _tag: "Changed",
        resource,
        key: KubeObject.key(object),
        uid,
        resourceVersion: String(history.rv)
      })
    } else if (own && random.chance(0.2)) {
      // A collection says which incarnation it was, an eviction does not.
      history.delete(key)
      const uid = random.chance(0.7) ? object.metadata.uid : undefined
      answer("doom", { _tag: "Deleting", resource, key: KubeObject.key(object), uid }, Number(rvOf(object)))
    } else if (object.metadata.finalizers !== undefined && random.chance(0.3)) {
      answer("release", { _tag: "Written", resource, object: history.release(key) })
    } else if (random.chance(0.4)) {
      const left = history.delete(key)
      if (left !== undefined) answer("terminate", { _tag: "Written", resource, object: left }, Number(rvOf(left)))
      else {
        const target = KubeObject.key(object)
        answer("delete", { _tag: "Deleted", resource, key: target, uid: object.metadata.uid })
      }
    } else answer("update", { _tag: "Written", resource, object: history.update(key, random) })
    if (own && random.chance(0.5)) this.answer(this.answers.length - 1)
  }

  answer(index = this.random.int(0, this.answers.length - 1)): void {
    const [answer] = this.answers.splice(index, 1)
    if (answer === undefined) return
    const { rv, text, write } = answer
    this.trace.push(`answer: ${text}`)
    const before = write._tag === "Written" ? undefined : this.store.get(KubeObject.keyString(write.key))
    this.store.overlay(write)
    switch (write._tag) {
      case "Deleted":
        this.buried.add(write.uid!)
        return
      case "Deleting":
        // Without a name it is that of what was visible: nothing is promised if that was another.
        if (write.uid !== undefined) {
          this.doomed.add(write.uid)
          this.guessed.delete(write.uid)
        } else if (before !== undefined && before.metadata.uid === answer.uid && !this.doomed.has(answer.uid)) {
          this.doomed.add(answer.uid)
          this.guessed.set(answer.uid, 0)
        }
        return
      case "Changed": {
        // Under a filter, what is not here may have to stay away: nobody waits for it.
        const known = this.filtered && this.synced ? this.present : this.acknowledged
        const key = KubeObject.keyString(write.key)
        known.set(key, Math.max(rv, known.get(key) ?? 0))
        return
      }
    }
    const { deletionTimestamp, finalizers, uid } = write.object.metadata
    if (deletionTimestamp !== undefined && finalizers === undefined) this.buried.add(uid)
    else {
      const key = KubeObject.keyString(write.object)
      this.acknowledged.set(key, Math.max(rv, this.acknowledged.get(key) ?? 0))
    }
  }

  answerAll(): void {
    while (this.answers.length > 0) this.answer()
  }

  deliver(upTo: number): void {
    const events = [...this.history.events(this.watchRv, upTo)]
    this.trace.push(`watch up to ${upTo}: ${events.map((event) => `${event.type} ${rvOf(event.object)}`).join(", ")}`)
    events.push({
      type: "BOOKMARK",
      object: { kind: "Thing", apiVersion: "test.io/v1", metadata: { resourceVersion: String(upTo) } }
    })
    for (const [uid, bookmarks] of this.guessed) {
      this.guessed.set(uid, bookmarks + 1)
      if (bookmarks < 1) continue
      this.guessed.delete(uid)
      this.doomed.delete(uid)
    }
    // In chunks of any size, as a socket gives them.
    while (events.length > 0) {
      this.told(() => this.store.apply(events.splice(0, this.random.int(1, 3))))
    }
    this.checkReplay()
  }

  /** A list is a snapshot of a moment between what the store knows and now: it may be answered late. */
  relist(): void {
    const rv = this.random.int(this.synced ? this.watchRv : this.history.rv, this.history.rv)
    this.trace.push(`list at ${rv}`)
    this.synced = true
    this.told(() => this.store.replace(this.history.list(keys, rv), String(rv)))
    this.checkReplay()
  }

  /** Whoever read a state that is another one now is told of both: also where the state was an own write's. */
  told(change: () => ReadonlyArray<Delta.Delta<Obj>>): void {
    const before = keys.map((key) => rvOf(this.store.get(key)))
    const deltas = change()
    const mentioned = new Set(
      deltas.flatMap((delta) =>
        delta._tag === "Updated" ? [rvOf(delta.old), rvOf(delta.object)] : rvOf(deltaObject(delta))
      )
    )
    keys.forEach((key, i) => {
      const now = rvOf(this.store.get(key))
      if (now === before[i]) return
      for (const rv of [before[i], now]) {
        this.expect(rv === undefined || mentioned.has(rv), `${key}: from ${before[i]} to ${now}, and nobody was told`)
      }
    })
    this.replay(deltas)
  }

  replay(deltas: ReadonlyArray<Delta.Delta<Obj>>): void {
    for (const delta of deltas) {
      const key = KubeObject.keyString(delta._tag === "Invalid" ? delta.raw : delta.object)
      const had = this.replayed.get(key)
      switch (delta._tag) {
        case "Added":
          this.expect(had === undefined, `${key} was added twice`)
          this.replayed.set(key, delta.object)
          break
        case "Updated":
          this.expect(had === delta.old, `${key} was not what the update says it was`)
          this.expect(rvOf(delta.old) !== rvOf(delta.object), `${key}: an update that changes nothing`)
          this.expect(uidOf(delta.old) === uidOf(delta.object), `${key}: an update to another incarnation`)
          this.replayed.set(key, delta.object)
          break
        case "Deleted":
          this.expect(had === delta.object, `${key} was not there, or other than the deletion says`)
          this.replayed.delete(key)
          break
        case "Invalid":
          this.expect(this.reported.get(key) !== rvOf(delta.raw), `${key}: invalid, and reported twice`)
          this.reported.set(key, rvOf(delta.raw)!)
          this.replayed.delete(key)
      }
    }
  }

  /** The deltas give exactly the selection at the revision the watch has reached. */
  checkReplay(): void {
    for (const key of keys) {
      const then = this.history.at(key, this.watchRv)
      const expected = then !== undefined && this.history.selects(then) ? then : undefined
      const valid = expected !== undefined && !undecodable(expected)
      this.expect(rvOf(this.replayed.get(key)) === (valid ? rvOf(expected) : undefined), `${key}: the deltas are wrong`)
      this.expect(
        rvOf(this.store.invalid.get(key)) === (valid ? undefined : rvOf(expected)),
        `${key}: the invalid objects are wrong`
      )
    }
    const snapshot = this.store.snapshot().map(deltaObject)
    this.expect(sameSet(snapshot, this.replayed.values()), "the snapshot is not what the deltas give")
  }

  check(): void {
    const { store } = this
    for (const key of keys) {
      const seen = store.get(key)
      // Whoever reads it waits.
      if (store.isStale(key)) continue
      const ended = seen === undefined || seen.metadata.deletionTimestamp !== undefined
      this.expect(ended || !this.doomed.has(uidOf(seen)!), `${key}: an own deletion is not to be seen`)
      if (seen !== undefined) this.expect(!this.buried.has(uidOf(seen)!), `${key}: an own deletion came back`)
      // What is read was there at some moment no older than the watch, nor than the newest own write.
      const from = Math.max(
        this.synced ? this.watchRv : 0,
        this.acknowledged.get(key) ?? 0,
        seen === undefined ? 0 : this.present.get(key) ?? 0
      )
      const possible = this.history.states(key, from).some((state) =>
        rvOf(state !== undefined && this.shown(state) ? state : undefined) === rvOf(seen)
      )
      // An own deletion may also hide what the watch still has to report on.
      const hidden = seen === undefined &&
        this.history.states(key, from).some((state) => state !== undefined && this.buried.has(state.metadata.uid))
      this.expect(possible || hidden, `${key}: read ${rvOf(seen)}, older than ${from}`)
    }
    const all = keys.flatMap((key) => store.get(key) ?? [])
    this.expect(store.size === all.length, `size is ${store.size}, not ${all.length}`)
    this.expect(sameSet(store.values(), all), "values is not what get gives")
    const bucket = (index: string, value: string, belongs: (object: Obj) => boolean) =>
      this.expect(sameSet(store.lookup(index, value)!, all.filter(belongs)), `index ${index}=${value} is not a scan`)
    for (const namespace of ["a", "b"]) {
      bucket("namespace", namespace, ({ metadata }) => metadata.namespace === namespace)
    }
    for (const tier of ["x", "y"]) bucket("label:tier", tier, ({ metadata }) => metadata.labels?.["tier"] === tier)
    for (const owner of ["o1", "o2"]) {
      bucket("owner", owner, ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner) === true)
    }
  }

  shown(object: Obj): boolean {
    return this.history.selects(object) && !undecodable(object)
  }

  expect(holds: boolean, what: string): void {
    if (!holds) throw new Error(`${what}\n  ${this.trace.join("\n  ")}`)
  }
}

const rvOf = (
  object: { readonly metadata: { readonly resourceVersion: string } } | undefined
): string | undefined => object?.metadata.resourceVersion
const uidOf = (object: Obj | undefined): string | undefined => object?.metadata.uid
const deltaObject = (delta: Delta.Delta<Obj> | undefined): Obj | undefined =>
  delta === undefined || delta._tag === "Invalid" ? undefined : delta.object
const sameSet = (a: Iterable<unknown>, b: Iterable<unknown>): boolean => {
  const [left, right] = [new Set(a), new Set(b)]
  return left.size === right.size && [...left].every((value) => right.has(value))
}

describe("Store", () => {
  it("never shows a state older than an own write, and follows the server exactly (20,000 random histories)", () => {
    const first = Number(process.env["SEED"] ?? 1)
    const count = process.env["SEED"] === undefined ? 20_000 : 1
    for (let seed = first; seed < first + count; seed++) {
      try {
        new Run(seed).run()
      } catch (error) {
        throw new Error(`SEED=${seed}: ${(error as Error).message}`, { cause: error })
      }
    }
  }, 180_000)

  const thing = (name: string, rv: number, more: Partial<KubeObject.ObjectMeta> = {}): Obj => ({
    apiVersion: "test.io/v1",
    kind: "Thing",
    metadata: {
      name,
      namespace: "a",
      uid: `u-${name}`,
      resourceVersion: String(rv),
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { in: "yes" },
      ...more
    },
    spec: { size: 1 }
  })
  const make = (items: ReadonlyArray<Obj> = [], rv = 10) => {
    const store = new Store<Obj>({ resource: Thing, matches: selected })
    store.replace(items, String(rv))
    return store
  }
  const written = (object: Obj): KubeClient.Write => ({ _tag: "Written", resource: Thing, object })
  const deleted = (name: string, uid: string | undefined = `u-${name}`): KubeClient.Write => ({
    _tag: "Deleted",
    resource: Thing,
    key: { namespace: "a", name },
    uid
  })
  const bookmark = (rv: number) => ({
    type: "BOOKMARK" as const,
    object: { kind: "Thing", apiVersion: "test.io/v1", metadata: { resourceVersion: String(rv) } }
  })

  it("an own write makes no delta, but its event does", () => {
    const store = make([thing("x", 5)])
    store.overlay(written(thing("x", 11)))
    assert.strictEqual(rvOf(store.get("a/x")), "11")
    assert.strictEqual(rvOf(deltaObject(store.snapshot()[0])), "5")
    const deltas = store.apply([{ type: "MODIFIED", object: thing("x", 11) }])
    assert.deepStrictEqual(deltas.map(({ _tag }) => _tag), ["Updated"])
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("a response that comes after its event, or after that of a later change, changes nothing", () => {
    const store = make([thing("x", 5)])
    store.apply([{ type: "MODIFIED", object: thing("x", 11) }, { type: "DELETED", object: thing("x", 12) }])
    store.overlay(written(thing("x", 11)))
    store.overlay(deleted("x"))
    assert.strictEqual(store.size, 0)
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("an update that is answered after a later deletion does not restore the object", () => {
    const store = make([thing("x", 5)])
    store.overlay(deleted("x"))
    store.overlay(written(thing("x", 11)))
    assert.isUndefined(store.get("a/x"))
    store.apply([{ type: "MODIFIED", object: thing("x", 11) }])
    assert.isUndefined(store.get("a/x"))
    assert.strictEqual(store.unconfirmed, 1)
    store.apply([{ type: "DELETED", object: thing("x", 12) }])
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("hides an object it deleted until the watch shows the deletion", () => {
    const store = make()
    store.overlay(deleted("x"))
    store.apply([{ type: "ADDED", object: thing("x", 11) }])
    assert.isUndefined(store.get("a/x"))
    store.apply([{ type: "DELETED", object: thing("x", 12) }, {
      type: "ADDED",
      object: thing("x", 13, { uid: "another" })
    }])
    assert.strictEqual(rvOf(store.get("a/x")), "13")
  })

  it("an object that leaves the selection, returns, and leaves by an own write stays away", () => {
    const store = make([thing("x", 5)])
    store.overlay(written(thing("x", 13, { labels: {} })))
    assert.isUndefined(store.get("a/x"))
    store.apply([{ type: "DELETED", object: thing("x", 11) }, { type: "ADDED", object: thing("x", 12) }])
    assert.isUndefined(store.get("a/x"))
    store.apply([{ type: "DELETED", object: thing("x", 13) }])
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("the removal of the last finalizer is a deletion, though the response has the old resourceVersion", () => {
    const terminating = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 }
    const store = make([thing("x", 10, { ...terminating, finalizers: ["test.io/hold"] })])
    store.overlay(written(thing("x", 10, terminating)))
    assert.isUndefined(store.get("a/x"))
    assert.strictEqual(store.unconfirmed, 1)
    const deltas = store.apply([{
      type: "DELETED",
      object: thing("x", 11, { ...terminating, finalizers: ["test.io/hold"] })
    }])
    assert.deepStrictEqual(deltas.map(({ _tag }) => _tag), ["Deleted"])
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("a terminating object that waits for its grace period, or a Namespace for its content, is not gone", () => {
    const store = make()
    store.overlay(written(thing("pod", 11, { deletionTimestamp: "now", deletionGracePeriodSeconds: 30 })))
    const namespace = thing("namespace", 12, { deletionTimestamp: "now" })
    store.overlay(written({ ...namespace, spec: { size: 1, finalizers: ["kubernetes"] } } as Obj))
    assert.deepStrictEqual([...store.values()].map(({ metadata }) => metadata.name), ["pod", "namespace"])
  })

  it("a deletion that does not name the incarnation hides none", () => {
    const store = make([thing("x", 5)])
    store.overlay({ ...deleted("x"), uid: undefined } as KubeClient.Write)
    assert.strictEqual(rvOf(store.get("a/x")), "5")
    assert.isFalse(store.isStale("a/x"))
  })

  it("an own write that does not decode hides the older state", () => {
    const store = make([thing("x", 5)])
    store.overlay(written({ ...thing("x", 11), spec: { size: -1 } }))
    assert.isUndefined(store.get("a/x"))
    const bad = { ...thing("x", 11), spec: { size: -1 } }
    assert.deepStrictEqual(store.apply([{ type: "MODIFIED", object: bad }]), [
      { _tag: "Deleted", object: thing("x", 5) },
      { _tag: "Invalid", raw: bad, issues: ["spec.size: too small"] }
    ])
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("a list that supersedes an own write reports the write, and what became of it", () => {
    const store = make()
    store.overlay(written(thing("gone", 11)))
    store.overlay(written(thing("changed", 12)))
    store.overlay(written(thing("kept", 13)))
    store.overlay(written(thing("later", 21)))
    const deltas = store.replace([thing("changed", 15), thing("kept", 13)], "20")
    assert.deepStrictEqual(deltas.map((delta) => `${delta._tag} ${rvOf(deltaObject(delta))}`), [
      "Added 11",
      "Added 12",
      "Deleted 11",
      "Updated 15",
      "Added 13"
    ])
    assert.deepStrictEqual([...store.values()].map(rvOf).sort(), ["13", "15", "21"])
  })

  it("the list of a restored server, whose resourceVersions restart, ends the overlay of own writes", () => {
    const store = make([thing("x", 500), thing("y", 501), thing("w", 502)], 600)
    store.overlay(written(thing("x", 601)))
    store.overlay(deleted("y"))
    store.overlay(written(thing("z", 602)))
    store.overlay(written(thing("w", 603, { labels: {} })))
    const deltas = store.replace([thing("x", 50), thing("y", 51), thing("w", 52)], "60")
    assert.deepStrictEqual([...store.values()].map(rvOf), ["50", "51", "52"])
    const ofZ = deltas.filter((delta) => deltaObject(delta)?.metadata.name === "z")
    assert.deepStrictEqual(ofZ.map(({ _tag }) => _tag), ["Added", "Deleted"], "who has read it learns that it is gone")
    assert.strictEqual(store.unconfirmed, 0)
  })

  /** A write that was answered with something else than the object. */
  const unshown = (name: string, rv: number, uid: string | undefined = `u-${name}`): KubeClient.Write => ({
    _tag: "Changed",
    resource: Thing,
    key: { namespace: "a", name },
    uid,
    resourceVersion: String(rv),
    subresource: "scale",
    answer: undefined
  })
  const deleting = (name: string, uid: string | undefined): KubeClient.Write => ({
    _tag: "Deleting",
    resource: Thing,
    key: { namespace: "a", name },
    uid
  })
  const whole = (namespace = "a") => {
    const store = new Store<Obj>({
      resource: Thing,
      matches: () => true,
      covers: (key) => key.namespace === namespace,
      filtered: false
    })
    store.replace([], "10")
    return store
  }

  it("what a write did not show is stale until the watch or a later own write shows it, whichever response came first", () => {
    const store = make([thing("x", 5), thing("y", 6)])
    store.overlay(unshown("x", 11))
    assert.deepStrictEqual(store.staleKeys(), ["a/x"])
    store.apply([{ type: "MODIFIED", object: thing("y", 10) }])
    assert.isTrue(store.isStale("a/x"))
    store.apply([{ type: "MODIFIED", object: thing("x", 11) }])
    assert.isFalse(store.isStale("a/x"))
    for (const answers of [[unshown("x", 12), written(thing("x", 13))], [written(thing("x", 15)), unshown("x", 14)]]) {
      for (const answer of answers) store.overlay(answer)
      assert.isFalse(store.isStale("a/x"), "a later write shows it")
    }
    // The same version, shown by another answer.
    store.overlay(written(thing("y", 16)))
    store.overlay(unshown("y", 16))
    assert.deepStrictEqual(store.staleKeys(), [])
    store.overlay(unshown("y", 17))
    store.overlay(written(thing("y", 16)))
    assert.deepStrictEqual(store.staleKeys(), ["a/y"], "an older write does not")
    store.apply([bookmark(20)])
    store.overlay(unshown("x", 20))
    assert.deepStrictEqual(store.staleKeys(), [], "the watch has been there before the answer")
  })

  it("a write to an incarnation that this program deleted is not waited for; one to the next incarnation is", () => {
    const store = make([thing("x", 5)])
    store.overlay(deleted("x"))
    store.overlay(unshown("x", 11))
    assert.isFalse(store.isStale("a/x"))
    const next = whole()
    next.overlay(deleted("x"))
    next.overlay(unshown("x", 11))
    assert.isFalse(next.isStale("a/x"))
    next.overlay(unshown("x", 12, "u-next"))
    assert.isTrue(next.isStale("a/x"), "it is known to be there")
    next.apply([{ type: "ADDED", object: thing("x", 12, { uid: "u-next" }) }])
    assert.isFalse(next.isStale("a/x"))
  })

  it("an absent object is waited for only if it cannot stay absent", () => {
    const filtered = make()
    filtered.overlay(unshown("x", 11))
    assert.deepStrictEqual(filtered.staleKeys(), [])
    const store = whole()
    store.overlay(unshown("x", 11))
    assert.deepStrictEqual(store.staleKeys(), ["a/x"])
    store.apply([bookmark(11)])
    assert.deepStrictEqual(store.staleKeys(), [])
    const elsewhere = whole("b")
    for (const write of [unshown("x", 11), deleting("x", "u-x"), deleting("x", undefined)]) elsewhere.overlay(write)
    assert.strictEqual(elsewhere.unconfirmed, 0)
  })

  it("an accepted deletion is waited for until the object shows it, unless it already does", () => {
    const terminating = (rv: number) => thing("x", rv, { deletionTimestamp: "now", finalizers: ["test.io/hold"] })
    const store = make([thing("x", 5)])
    for (const write of [deleting("x", "u-x"), deleting("x", undefined)]) {
      store.overlay(write)
      assert.isTrue(store.isStale("a/x"))
    }
    store.apply([{ type: "MODIFIED", object: terminating(11) }])
    assert.isFalse(store.isStale("a/x"))
    for (const write of [deleting("x", "u-x"), deleting("x", undefined)]) store.overlay(write)
    assert.deepStrictEqual([store.isStale("a/x"), store.unconfirmed], [false, 0])
    store.overlay(deleted("x"))
    store.overlay(deleting("x", "u-x"))
    assert.isFalse(store.isStale("a/x"))
  })

  it("a guess ends with its incarnation, unless that may only have left the selection", () => {
    for (const [store, isOver] of [[whole(), true], [make(), false]] as const) {
      // An eviction of what is not shown yet.
      store.overlay(deleting("x", undefined))
      store.apply([{ type: "ADDED", object: thing("x", 11) }])
      assert.isTrue(store.isStale("a/x"))
      store.apply([{ type: "DELETED", object: thing("x", 12) }])
      store.apply([{ type: "ADDED", object: thing("x", 13, isOver ? { uid: "u-next" } : {}) }])
      assert.strictEqual(store.isStale("a/x"), !isOver)
    }
  })

  it("waiting readers are notified of own writes, of lists, and of abandoned guesses", () => {
    const store = make([thing("x", 5)])
    let told = 0
    const off = store.onChange(() => told++)
    const tells = (what: () => unknown) => {
      const before = told
      what()
      assert.isAbove(told, before, String(what))
    }
    tells(() => store.overlay(written(thing("x", 11))))
    tells(() => store.replace([thing("x", 11)], "12"))
    tells(() => store.apply([bookmark(13)]))
    store.overlay(deleting("x", undefined))
    assert.isTrue(store.isStale("a/x"))
    tells(() => store.giveUpGuesses("a/x"))
    assert.isFalse(store.isStale("a/x"))
    off()
    store.apply([bookmark(14)])
    assert.strictEqual(store.listeners, 0)
  })

  it("a list settles writes outside the selection, and that of a restored server ends every wait", () => {
    const store = make([thing("x", 5)], 100)
    store.overlay(written(thing("gone", 101, { labels: {} })))
    store.replace([thing("x", 5)], "102")
    assert.strictEqual(store.unconfirmed, 0)
    for (const write of [unshown("x", 200), deleting("x", "u-x"), deleting("x", undefined)]) store.overlay(write)
    assert.isTrue(store.isStale("a/x"))
    store.replace([thing("x", 3)], "50")
    assert.deepStrictEqual([store.isStale("a/x"), store.unconfirmed], [false, 0])
  })

  it("a watch bookmark settles writes outside the selection", () => {
    const store = make()
    for (let i = 0; i < 10; i++) store.overlay(written(thing(`x${i}`, 20 - i, { labels: {} })))
    assert.strictEqual(store.unconfirmed, 10)
    store.apply([bookmark(30)])
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("remembers any number of own deletions for as long as they hide something", () => {
    const count = defaults.graves + 500
    const items = Array.from({ length: count }, (_, i) => thing(`x${i}`, 5))
    const store = make(items)
    for (const { metadata } of items) store.overlay(deleted(metadata.name))
    assert.deepStrictEqual([...store.values()], [])
    assert.strictEqual(store.size, 0)
    assert.strictEqual(store.unconfirmed, count)
    store.replace([], "20000")
    assert.strictEqual(store.unconfirmed, 0)
  })

  it("an event touches only its own object, however many own writes wait for theirs", () => {
    const touched = new Set<string>()
    const watched = <A extends { readonly metadata: { readonly name: string } }>(object: A): A => {
      const { metadata } = object
      const get = () => {
        touched.add(metadata.name)
        return metadata
      }
      return Object.defineProperty({ ...object }, "metadata", { get, enumerable: true })
    }
    const items = Array.from({ length: 1000 }, (_, i) => thing(`x${i}`, 5))
    const store = make(items.map(watched))
    // As a store in use has them.
    for (const index of ["namespace", "owner"]) store.lookup(index, "a")
    for (let i = 0; i < 1000; i++) store.overlay(written(watched(thing(`x${i}`, 100 + i))))
    assert.strictEqual(touched.size, 1000)
    for (const i of [0, 1, 2]) {
      touched.clear()
      store.apply([{ type: "MODIFIED", object: watched(thing(`x${i}`, 100 + i)) }])
      assert.deepStrictEqual([...touched], [`x${i}`])
    }
    assert.strictEqual(store.unconfirmed, 997)
  })

  it("an update with the same resourceVersion, and a list without changes, make no delta", () => {
    const store = make([thing("x", 5)])
    assert.deepStrictEqual(store.apply([{ type: "MODIFIED", object: thing("x", 5) }]), [])
    assert.deepStrictEqual(store.replace([thing("x", 5)], "12"), [])
  })

  it("drops managedFields", () => {
    const store = make([thing("x", 5, { managedFields: [{ manager: "m" }] })])
    store.overlay(written(thing("y", 11, { managedFields: [{ manager: "m" }] })))
    for (const object of store.values()) assert.notProperty(object.metadata, "managedFields")
  })
})
