import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

type Query = Readonly<Record<string, string>>

const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } })

/** The metadata of a list. */
interface ListMeta {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

const meta = ({ object }: Answer): ListMeta => object.metadata as never

const items = ({ object }: Answer): ReadonlyArray<Answer["object"]> => object["items"]

const names = (answer: Answer): ReadonlyArray<string> => items(answer).map(({ metadata }) => metadata.name)

/** ConfigMaps with these names in a namespace of their own; the path of their collection. */
const configMaps = Effect.fnUntraced(function*(...wanted: ReadonlyArray<string>) {
  const { namespace, request } = yield* Target
  const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
  // Newer clusters give every namespace one of their own, if they have controllers.
  const own = "metadata.name!=kube-root-ca.crt"
  const list = (query: Query = {}) => request("GET", path, { query })
  for (const name of wanted) yield* request("POST", path, { body: configMap(name) })
  return { list, own }
})

/** Objects with these names of a kind of their own. */
const widgets = Effect.fnUntraced(function*(...wanted: ReadonlyArray<string>) {
  const { kind, namespace, request } = yield* Target
  const ns = yield* namespace
  const widgets = yield* kind()
  const path = widgets.path(ns)
  const add = (name: string, metadata: object = {}) =>
    request("POST", path, { body: widgets.object(name, { metadata: { name, ...metadata } }) })
  for (const name of wanted) yield* add(name)
  const list = (query: Query = {}) => request("GET", path, { query })
  return { widgets, ns, path, add, list }
})

const merge = Effect.fnUntraced(function*(path: string, body: unknown) {
  const { request } = yield* Target
  return yield* request("PATCH", path, { body, contentType: "application/merge-patch+json" })
})

const optionsRefused = (answer: Answer, causes: ReadonlyArray<readonly [reason: string, message: string]>) => {
  const field = "resourceVersionMatch"
  const { error, status } = answer
  assert.deepStrictEqual([status, error.reason], [422, "Invalid"])
  const texts = causes.map(([, message]) => `${field}: ${message}`)
  const why = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`
  assert.strictEqual(error.message, `ListOptions.meta.k8s.io "" is invalid: ${why}`)
  assert.deepStrictEqual(error.details, {
    group: "meta.k8s.io",
    kind: "ListOptions",
    causes: causes.map(([reason, message]) => ({ reason, message, field }))
  })
}

const tooOld = (answer: Answer, message: string) =>
  assert.deepStrictEqual(
    [answer.status, answer.error.reason, answer.error.message, answer.error.code],
    [410, "Expired", message, 410]
  )

const inconsistent =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list."

const exactTooOld = "The resourceVersion for the provided list is too old."

export const lists = [
  statement("47", "a list is sorted by namespace and name, and not older than what it holds", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const own = yield* kind()
    const [one, two] = [yield* namespace, yield* namespace].sort() as [string, string]
    const created = yield* Effect.forEach(
      [[two, "a"], [one, "b"], [one, "a-b"], [one, "c"], [one, "a"], [one, "a.b"], [two, "0"]] as const,
      ([ns, name]) => request("POST", own.path(ns), { body: own.object(name) })
    )
    const here = yield* request("GET", own.path(one))
    assert.strictEqual(here.status, 200)
    assert.deepInclude(here.object, { apiVersion: `${own.group}/v1`, kind: "WidgetList" })
    assert.deepStrictEqual(names(here), ["a", "a-b", "a.b", "b", "c"])
    const all = yield* request("GET", `/apis/${own.group}/v1/widgets`)
    const places = items(all).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    assert.deepStrictEqual(
      places,
      [...["a", "a-b", "a.b", "b", "c"].map((name) => `${one}/${name}`), `${two}/0`, `${two}/a`]
    )
    const newest = created.at(-1)!.object.metadata.resourceVersion
    for (const answer of [here, all]) {
      assert.isAtLeast(Number(meta(answer).resourceVersion), Number(newest))
      for (const item of items(answer)) assert.isAtLeast(Number(newest), Number(item.metadata.resourceVersion))
    }
    assert.deepStrictEqual(items(all)[6], created[0]!.object, "items are the objects themselves")
  }),

  statement("48", "limit gives pages, each but the last with a token for the next and what remains", {
    note: "the last page of a custom kind has an empty token, of a built-in kind none"
  }, function*() {
    const { list } = yield* widgets("a", "b", "c", "d", "e")
    const first = yield* list({ limit: "2" })
    assert.deepStrictEqual(names(first), ["a", "b"])
    assert.strictEqual(meta(first).remainingItemCount, 3)
    const token = meta(first).continue!
    assert.isNotEmpty(token)
    const second = yield* list({ limit: "2", continue: token })
    assert.deepStrictEqual(names(second), ["c", "d"])
    assert.strictEqual(meta(second).remainingItemCount, 1)
    assert.deepStrictEqual(names(yield* list({ continue: token })), ["c", "d", "e"], "no limit: all that is left")
    const third = yield* list({ limit: "2", continue: meta(second).continue! })
    assert.deepStrictEqual(names(third), ["e"])
    assert.strictEqual(meta(third).continue, "")
    assert.isFalse(Object.hasOwn(meta(third), "remainingItemCount"))
    const whole = yield* list({ limit: "5" })
    assert.strictEqual(meta(whole).continue, "", "just enough")
    const built = yield* configMaps("a", "b")
    const page = yield* built.list({ limit: "1", fieldSelector: built.own })
    const last = yield* built.list({ limit: "9", continue: meta(page).continue!, fieldSelector: built.own })
    assert.deepStrictEqual(names(page), ["a"])
    assert.deepStrictEqual(names(last), ["b"])
    assert.isFalse(Object.hasOwn(meta(last), "continue"))
  }),

  statement("48a", "with a selector a page holds as many as match, and does not say how many remain", {}, function*() {
    const { add, list } = yield* widgets()
    for (const name of ["a", "b", "c", "d", "e", "f"]) {
      yield* add(name, { labels: { half: "ace".includes(name) ? "one" : "two" } })
    }
    const first = yield* list({ limit: "2", labelSelector: "half=two" })
    assert.deepStrictEqual(names(first), ["b", "d"])
    assert.isNotEmpty(meta(first).continue)
    assert.isFalse(Object.hasOwn(meta(first), "remainingItemCount"))
    const second = yield* list({ limit: "2", labelSelector: "half=two", continue: meta(first).continue! })
    assert.deepStrictEqual(names(second), ["f"])
    assert.strictEqual(meta(second).continue, "")
    assert.deepStrictEqual(names(yield* list({ labelSelector: "half=two" })), ["b", "d", "f"])
  }),

  statement("48b", "a list that a selector leaves one name of shows the latest state, on one page", {}, function*() {
    const { request } = yield* Target
    const { add, list, path } = yield* widgets("a", "b")
    const { object: old } = yield* request("GET", `${path}/a`)
    const patched = yield* request("PATCH", `${path}/a`, {
      contentType: "application/merge-patch+json",
      body: { spec: { x: 2 } }
    })
    yield* add("c")
    const one = yield* list({ fieldSelector: "metadata.name=a", limit: "1" })
    assert.deepStrictEqual(names(one), ["a"])
    assert.strictEqual(meta(one).continue ?? "", "")
    assert.isUndefined(meta(one).remainingItemCount)
    const latest = yield* list({
      fieldSelector: "metadata.name=a",
      limit: "1",
      resourceVersion: old.metadata.resourceVersion
    })
    assert.strictEqual(items(latest)[0]?.metadata.resourceVersion, patched.object.metadata.resourceVersion)
    const all = yield* list({ limit: "1", resourceVersion: old.metadata.resourceVersion })
    assert.strictEqual(
      items(all)[0]?.metadata.resourceVersion,
      old.metadata.resourceVersion,
      "of more, exactly that one"
    )
  }),

  statement("49", "all pages show the state and the resourceVersion of the first", {}, function*() {
    const { request } = yield* Target
    const { add, list, path } = yield* widgets("a", "c", "e")
    const first = yield* list({ limit: "1" })
    const { resourceVersion } = meta(first)
    const before = yield* request("GET", `${path}/c`)
    yield* add("b")
    yield* add("d")
    yield* merge(`${path}/c`, { spec: { x: 2 } })
    yield* request("DELETE", `${path}/e`)
    const second = yield* list({ limit: "1", continue: meta(first).continue! })
    assert.deepStrictEqual(items(second), [before.object], "as it was, and nothing that is newer")
    assert.strictEqual(meta(second).resourceVersion, resourceVersion)
    assert.strictEqual(meta(second).remainingItemCount, 1)
    const third = yield* list({ limit: "1", continue: meta(second).continue! })
    assert.deepStrictEqual(names(third), ["e"], "though it is deleted")
    assert.strictEqual(meta(third).resourceVersion, resourceVersion)
    const now = yield* list()
    assert.deepStrictEqual(names(now), ["a", "b", "c", "d"])
    assert.isAbove(Number(meta(now).resourceVersion), Number(resourceVersion))
  }),

  statement("50", "a continue token whose state is compacted is 410 with a token for the rest as it is now", {
    note: "seen with etcd compacted by hand"
  }, function*() {
    const { compact, request } = yield* Target
    const { add, list, path } = yield* widgets("a", "c", "e")
    const first = yield* list({ limit: "1" })
    yield* request("DELETE", `${path}/c`)
    yield* add("b")
    const { object: last } = yield* add("d")
    yield* compact(last.metadata.resourceVersion)
    const refused = yield* list({ limit: "1", continue: meta(first).continue! })
    tooOld(refused, inconsistent)
    const token = meta(refused).continue!
    assert.isNotEmpty(token)
    assert.notStrictEqual(token, meta(first).continue)
    const page = yield* list({ limit: "1", continue: token })
    assert.strictEqual(page.status, 200)
    assert.deepStrictEqual(names(page), ["b"])
    assert.isAtLeast(Number(meta(page).resourceVersion), Number(last.metadata.resourceVersion))
    assert.deepStrictEqual(names(yield* list({ continue: meta(page).continue! })), ["d", "e"])
    assert.deepStrictEqual(names(yield* list({ continue: token })), ["b", "d", "e"])
  }),

  statement("50a", "a continue token that is none is 400", {}, function*() {
    const { list } = yield* widgets("a", "b")
    for (const token of ["garbage!", btoa("{}"), btoa(JSON.stringify({ v: "v9", rv: 1, start: "a" }))]) {
      const { error, status } = yield* list({ limit: "1", continue: token })
      assert.deepStrictEqual([status, error.reason, error.code], [400, "BadRequest", 400], token)
      assert.match(error.message!, /^(?:invalid continue token: )?continue key is not valid: /, token)
    }
  }),

  statement("50b", "what is wrong with a continue token is told in the words of its decoders", {
    note: "newer servers do not quote the version, and call the type storage.continueToken"
  }, function*() {
    const { minor } = yield* Target
    const { list } = yield* widgets("a", "b")
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const type = minor > 24 ? "storage.continueToken" : "etcd3.continueToken"
    const token = { v: "meta.k8s.io/v1", rv: 1, start: "a" }
    const base64 = (at: number) => `illegal base64 data at input byte ${at}`
    const noValue = (character: string) => `invalid character '${character}' looking for beginning of value`
    const cannot = (what: string, field: string, wanted: string) =>
      `json: cannot unmarshal ${what} into Go struct field continueToken.${field} of type ${wanted}`
    const said: Readonly<Record<string, string>> = {
      abc: noValue("i"),
      invalid: noValue("\\u008a"),
      YQ: noValue("a"),
      IngI: "invalid character '\\b' in string literal",
      e30gMQ: "invalid character '1' after top-level value",
      x: base64(0),
      "!!": base64(0),
      "a+b": base64(1),
      "foo==": base64(3),
      bogus: base64(4),
      "abcd=": base64(4),
      [encoded([])]: `json: cannot unmarshal array into Go value of type ${type}`,
      [encoded({ v: 1 })]: cannot("number", "v", "string"),
      [encoded({ ...token, rv: "1" })]: cannot("string", "rv", "int64"),
      [encoded({ ...token, rv: 1.5 })]: cannot("number 1.5", "rv", "int64"),
      [encoded({ ...token, start: ["a"] })]: cannot("array", "start", "string"),
      [encoded({ ...token, v: "v9" })]: `server does not recognize this encoded version ${
        minor > 24 ? "v9" : "\"v9\""
      }`,
      [encoded(null)]: `server does not recognize this encoded version ${minor > 24 ? "" : "\"\""}`,
      [encoded({ ...token, rv: null })]: "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
      [encoded({ ...token, start: "" })]: "encoded start key empty (version meta.k8s.io/v1)",
      [encoded({ ...token, start: "../a" })]: "../a",
      [encoded({ ...token, start: "a//b" })]: "a//b",
      [encoded({ ...token, start: "/a/./b" })]: "/a/./b",
      [encoded({ ...token, start: "a/" })]: "a/"
    }
    for (const [token, why] of Object.entries(said)) {
      const { error, status } = yield* list({ limit: "1", continue: token })
      const message = `invalid continue token: continue key is not valid: ${why}`
      assert.deepStrictEqual([status, error.message], [400, message], token)
    }
  }),

  statement("50c", "a continue token has the next key below what is listed", {
    note: "until 1.34, which lists from its cache, the key had no slash before it"
  }, function*() {
    const { minor, request } = yield* Target
    const slash = minor < 34 ? "" : "/"
    const { list, ns, widgets: { path } } = yield* widgets("a", "b", "c")
    const read = (token: string | undefined) => JSON.parse(Buffer.from(token!, "base64url").toString("utf8"))
    const first = yield* list({ limit: "1" })
    const { resourceVersion } = meta(first)
    const token = { v: "meta.k8s.io/v1", rv: Number(resourceVersion), start: `${slash}a\u0000` }
    assert.deepStrictEqual(read(meta(first).continue), token)
    const everywhere = yield* request("GET", path(ns).replace(`/namespaces/${ns}`, ""), { query: { limit: "1" } })
    assert.deepStrictEqual(read(meta(everywhere).continue), { ...token, start: `${slash}${ns}/a\u0000` })
    const next = yield* list({ limit: "1", continue: meta(first).continue!, resourceVersion: "0" })
    // The cache, which is asked for what goes on, too, since 1.34, knows no limits from version 0.
    assert.deepStrictEqual(names(next), minor < 34 ? ["b"] : ["b", "c"])
    // The key itself is on the page.
    const from = Buffer.from(JSON.stringify({ ...token, start: "/b" })).toString("base64url")
    assert.deepStrictEqual(names(yield* list({ continue: from })), ["b", "c"])
  }),

  statement("51", "a resourceVersion or resourceVersionMatch does not go with continue", {
    note: "but resourceVersion 0 does; match alone lacks a resourceVersion, too: two causes"
  }, function*() {
    const { list } = yield* widgets("a", "b")
    const first = yield* list({ limit: "1" })
    const next = { limit: "1", continue: meta(first).continue! }
    const version = yield* list({ ...next, resourceVersion: meta(first).resourceVersion })
    assert.deepStrictEqual(
      [version.status, version.error.reason, version.error.message],
      [400, "BadRequest", "specifying resource version is not allowed when using continue"]
    )
    assert.deepStrictEqual(names(yield* list({ ...next, resourceVersion: "0" })), ["b"])
    const withContinue = [
      "FieldValueForbidden",
      "Forbidden: resourceVersionMatch is forbidden when continue is provided"
    ] as const
    optionsRefused(yield* list({ ...next, resourceVersionMatch: "Exact" }), [
      ["FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"],
      withContinue
    ])
    optionsRefused(
      yield* list({
        ...next,
        resourceVersionMatch: "NotOlderThan",
        resourceVersion: meta(first).resourceVersion
      }),
      [withContinue]
    )
  }),

  statement("52", "a resourceVersionMatch needs a resourceVersion it makes sense with", {}, function*() {
    const { minor } = yield* Target
    const { list } = yield* widgets("a")
    const alone = [
      "FieldValueForbidden",
      "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    ] as const
    const odd = [
      "FieldValueNotSupported",
      `Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""`
    ] as const
    optionsRefused(yield* list({ resourceVersionMatch: "NotOlderThan" }), [alone])
    optionsRefused(yield* list({ resourceVersionMatch: "Exact", resourceVersion: "0" }), [
      ["FieldValueForbidden", `Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`]
    ])
    optionsRefused(yield* list({ resourceVersionMatch: "Newest", resourceVersion: "5" }), [odd])
    optionsRefused(yield* list({ resourceVersionMatch: "Newest" }), [alone, odd])
    const number = yield* list({ resourceVersion: "abc" })
    const syntax = `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`
    assert.deepStrictEqual(
      [number.status, number.error.reason, number.error.message],
      minor < 30 ? [500, undefined, syntax] : [400, "BadRequest", `invalid resource version: ${syntax}`]
    )
  }),

  statement(
    "53",
    "a list without resourceVersion is consistent; from 0 it may be older and ignores limit",
    {},
    function*() {
      const { until } = yield* Target
      const { add, list } = yield* widgets()
      for (const name of ["a", "b", "c"]) {
        yield* add(name)
        assert.include(names(yield* list()), name, "at once")
        assert.include(names(yield* list({ limit: "9" })), name, "at once")
      }
      const cached = yield* until(list({ resourceVersion: "0", limit: "1" }), (answer) => items(answer).length !== 0)
      const all = yield* until(list({ resourceVersion: "0", limit: "1" }), (answer) => items(answer).length === 3)
      assert.isEmpty(meta(all).continue ?? "", "there is no next page")
      assert.isFalse(Object.hasOwn(meta(all), "remainingItemCount"))
      assert.match(meta(cached).resourceVersion, /^[1-9]\d*$/, "not the 0 that was asked for")
    }
  ),

  statement("53a", "NotOlderThan waits for a resourceVersion, Exact shows the state at one", {
    note: "limit with a resourceVersion and no match means Exact, too"
  }, function*() {
    const { request } = yield* Target
    const { add, list, path } = yield* widgets("a", "c")
    const { resourceVersion } = meta(yield* list())
    const { object: b } = yield* add("b")
    yield* request("DELETE", `${path}/c`)
    const newer = { resourceVersion: b.metadata.resourceVersion, resourceVersionMatch: "NotOlderThan" }
    const fresh = yield* list(newer)
    assert.includeMembers([...names(fresh)], ["a", "b"])
    assert.isAtLeast(Number(meta(fresh).resourceVersion), Number(b.metadata.resourceVersion))
    const exact = yield* list({ resourceVersion, resourceVersionMatch: "Exact" })
    assert.deepStrictEqual(names(exact), ["a", "c"])
    assert.strictEqual(meta(exact).resourceVersion, resourceVersion)
    const legacy = yield* list({ resourceVersion, limit: "9" })
    assert.deepStrictEqual(names(legacy), ["a", "c"])
    assert.strictEqual(meta(legacy).resourceVersion, resourceVersion)
    const page = yield* list({ resourceVersion, resourceVersionMatch: "Exact", limit: "1" })
    assert.deepStrictEqual([names(page), meta(page).remainingItemCount], [["a"], 1])
    const next = yield* list({ continue: meta(page).continue! })
    assert.deepStrictEqual([names(next), meta(next).resourceVersion], [["c"], resourceVersion])
  }),

  statement("54", "a list of exactly a resourceVersion that is compacted is 410", {
    note: "seen with etcd compacted by hand"
  }, function*() {
    const { compact, request, until } = yield* Target
    const { add, list, path } = yield* widgets("a")
    const { resourceVersion } = meta(yield* list())
    yield* add("b")
    const { object: last } = yield* merge(`${path}/a`, { spec: { x: 2 } })
    assert.deepStrictEqual(names(yield* list({ resourceVersion, resourceVersionMatch: "Exact" })), ["a"])
    yield* compact(last.metadata.resourceVersion)
    const refused = yield* list({ resourceVersion, resourceVersionMatch: "Exact" })
    tooOld(refused, exactTooOld)
    assert.isUndefined(meta(refused).continue)
    tooOld(yield* list({ resourceVersion, limit: "1" }), exactTooOld)
    const exactly = yield* list({ resourceVersion: last.metadata.resourceVersion, resourceVersionMatch: "Exact" })
    assert.deepStrictEqual(names(exactly), ["a", "b"], "the compacted version itself is still there")
    const notOlder = list({ resourceVersion, resourceVersionMatch: "NotOlderThan" })
    const cached = yield* until(notOlder, (answer) => answer.status !== 200 || items(answer).length === 2)
    // An old server's cache knows no order.
    assert.deepStrictEqual(names(cached).toSorted(), ["a", "b"])
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 200)
  }),

  statement("55", "sendInitialEvents is for watches", { since: 27 }, function*() {
    const { list } = yield* widgets("a")
    const why = "Forbidden: sendInitialEvents is forbidden for list"
    const cause = { reason: "FieldValueForbidden", message: why, field: "sendInitialEvents" }
    for (const sendInitialEvents of ["true", "false"]) {
      const { error, status } = yield* list({ sendInitialEvents })
      assert.deepStrictEqual([status, error.reason], [422, "Invalid"])
      assert.strictEqual(error.message, `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: ${why}`)
      assert.deepStrictEqual(error.details, { group: "meta.k8s.io", kind: "ListOptions", causes: [cause] })
    }
    const both = yield* list({ sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" })
    assert.deepStrictEqual(
      both.error.details?.causes?.map(({ field }) => field),
      ["resourceVersionMatch", "sendInitialEvents"]
    )
  }),

  statement("56", "an empty list is 200, has no items and a resourceVersion to watch from", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const { add, list, path } = yield* widgets()
    const empty = yield* list()
    assert.strictEqual(empty.status, 200)
    assert.deepStrictEqual(empty.object["items"], [])
    assert.match(meta(empty).resourceVersion, /^[1-9]\d*$/)
    assert.isFalse(Object.hasOwn(meta(empty), "remainingItemCount"))
    const watching = yield* watch(path, { resourceVersion: meta(empty).resourceVersion })
    const { object } = yield* add("a")
    assert.deepStrictEqual(yield* watching.take(1), [{ type: "ADDED", object }])
    const leases = yield* request("GET", `/apis/coordination.k8s.io/v1/namespaces/${yield* namespace}/leases`)
    assert.deepStrictEqual([leases.status, leases.object.kind, leases.object["items"]], [200, "LeaseList", []])
  }),

  statement("57", "a list without namespace covers all; in a namespace that is not there it is empty", {}, function*() {
    const { namespace, request, unique } = yield* Target
    const { ns, widgets: own } = yield* widgets("a")
    const other = yield* namespace
    yield* request("POST", own.path(other), { body: own.object("a") })
    const all = yield* request("GET", `/apis/${own.group}/v1/widgets`)
    assert.deepStrictEqual(items(all).map(({ metadata }) => metadata.namespace), [ns, other].sort())
    const missing = yield* request("GET", own.path(unique("nowhere")))
    assert.strictEqual(missing.status, 200)
    assert.deepStrictEqual(missing.object["items"], [])
    assert.match(meta(missing).resourceVersion, /^[1-9]\d*$/)
    const pods = yield* request("GET", `/api/v1/namespaces/${unique("nowhere")}/pods`)
    assert.deepStrictEqual([pods.status, pods.object.kind, pods.object["items"]], [200, "PodList", []])
    const object = yield* request("GET", own.path(unique("nowhere"), "a"))
    assert.deepStrictEqual([object.status, object.error.message], [404, `widgets.${own.group} "a" not found`])
  })
]
