/** Admission webhooks: what they are sent, and what their answers do: statements 131 and 132. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Received } from "../Backend.ts"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import { allow, calls, dryRun, failed, type Json, mergePatch, messageOf, patching, scene } from "../WebhookScene.ts"

export const webhooks = [
  statement("131w-a", "mutating webhooks come before validation, validating ones after it, all before the store", {
    note: "what mutation leaves out is defaulted again; unknown fields it adds are not stored"
  }, function*() {
    const { kind } = yield* Target
    const { answer, asked, hook, install, ns, request } = yield* scene
    const widgets = yield* kind({
      spec: {
        type: "object",
        required: ["x"],
        properties: {
          x: { type: "integer", maximum: 10 },
          d: { type: "string", default: "dd" },
          s: { type: "string" }
        }
      }
    })
    const rules = [{ apiGroups: [widgets.group], apiVersions: ["v1"], operations: ["*"], resources: ["widgets"] }]
    yield* install("Mutating", [hook("m", { rules })])
    yield* install("Validating", [hook("v", { rules })])
    const create = (name: string, spec: Json) =>
      request("POST", widgets.path(ns), { body: widgets.object(name, { spec }) })
    answer(({ path }) => path === "/m" ? patching({ op: "replace", path: "/spec/x", value: 5 }) : allow)
    const mended = yield* create("mended", { x: 100 })
    assert.strictEqual(mended.status, 201)
    assert.deepStrictEqual(mended.object.spec, { x: 5, d: "dd" })
    assert.deepStrictEqual(calls(asked), ["CREATE /m", "CREATE /v"])
    const [first, second] = asked
    assert.deepStrictEqual(first?.["object"].spec, { x: 100, d: "dd" }, "defaults are there")
    assert.isUndefined(first?.["object"].metadata.uid, "what the server fills in is not")
    assert.deepStrictEqual(second?.["object"].spec, { x: 5, d: "dd" })
    assert.match(second?.["object"].metadata.uid, /^[0-9a-f-]{36}$/)
    assert.strictEqual(second?.["object"].metadata.generation, 1)
    answer(() => patching({ op: "replace", path: "/spec/x", value: 11 }))
    const broken = yield* create("broken", { x: 1 })
    assert.strictEqual(broken.status, 422)
    assert.strictEqual(broken.error.reason, "Invalid")
    assert.include(messageOf(broken), "spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10")
    assert.deepStrictEqual(calls(asked), ["CREATE /m"], "what is invalid is not put to validating webhooks")
    answer(({ path }) =>
      path === "/m"
        ? patching(
          { op: "remove", path: "/spec/d" },
          { op: "add", path: "/spec/unknown", value: 1 },
          { op: "add", path: "/spec/s", value: "by m" }
        )
        : allow
    )
    yield* create("again", { x: 1, d: "own" })
    const stored = yield* request("GET", widgets.path(ns, "again"))
    assert.deepStrictEqual(stored.object.spec, { x: 1, d: "dd", s: "by m" })
    answer(({ path }) => path === "/v" ? { allowed: false } : allow)
    assert.strictEqual((yield* create("refused", { x: 1 })).status, 400)
    assert.strictEqual((yield* request("GET", widgets.path(ns, "refused"))).status, 404)
  }),

  statement("131w-b", "mutating webhooks are called by name of configuration and order in it; IfNeeded once more", {
    note: "only what was called before the last change, by somebody else, is called again"
  }, function*() {
    const { unique } = yield* Target
    const { answer, asked, hook, install, post } = yield* scene
    const [late, early] = [unique("z"), unique("a")]
    const again = { reinvocationPolicy: "IfNeeded" }
    yield* install("Mutating", [hook("c", again), hook("d", again)], late)
    yield* install("Mutating", [hook("a"), hook("b", again)], early)
    answer(() => allow)
    yield* post("plain")
    assert.deepStrictEqual(asked.map(({ path }) => path), ["/a", "/b", "/c", "/d"])
    answer(({ object, path }) =>
      path === "/c" && object.data.c === undefined ? patching({ op: "add", path: "/data/c", value: "1" }) : allow
    )
    const changed = yield* post("changed")
    assert.deepStrictEqual(changed.object.data, { a: "1", c: "1" })
    assert.deepStrictEqual(asked.map(({ path }) => path), ["/a", "/b", "/c", "/d", "/b"])
    assert.deepStrictEqual(
      asked.map(({ object }) => Object.keys(object.data).join()),
      ["a", "a", "a", "a,c", "a,c"],
      "each sees what the one before it left"
    )
    answer(({ object, path }) =>
      path === "/b"
        ? patching({ op: "add", path: `/data/b${Object.keys(object.data).length}`, value: "1" })
        : path === "/d"
        ? patching({ op: "add", path: "/data/d", value: "1" })
        : allow
    )
    const twice = yield* post("twice")
    assert.deepStrictEqual(Object.keys(twice.object.data).sort(), ["a", "b1", "b3", "d"])
    assert.deepStrictEqual(
      asked.map(({ path }) => path),
      ["/a", "/b", "/c", "/d", "/b", "/c", "/d"],
      "never a third time"
    )
  }),

  statement("132a", "a webhook is sent an AdmissionReview that says everything about the request", {}, function*() {
    const { asked, configMaps, hook, install, ns, post, received, request } = yield* scene
    yield* install("Validating", [hook("v")])
    const created = yield* post("a", {}, { fieldManager: "fm", ...dryRun })
    assert.strictEqual(created.status, 201)
    const { dryRun: dry, object, oldObject, options, uid, userInfo, ...rest } = asked[0]!
    assert.match(uid, /^[0-9a-f-]{36}$/)
    assert.deepStrictEqual(rest as Json, {
      path: "/v",
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      requestKind: { group: "", version: "v1", kind: "ConfigMap" },
      requestResource: { group: "", version: "v1", resource: "configmaps" },
      name: "a",
      namespace: ns,
      operation: "CREATE"
    })
    assert.strictEqual(dry, true)
    assert.strictEqual(oldObject, null)
    assert.strictEqual(object.metadata.name, "a")
    assert.deepStrictEqual(options, {
      kind: "CreateOptions",
      apiVersion: "meta.k8s.io/v1",
      dryRun: ["All"],
      fieldManager: "fm"
    })
    assert.include(userInfo.groups, "system:masters")
    const sent = received.at(-1) as Received
    assert.strictEqual(sent.method, "POST")
    assert.deepStrictEqual(sent.query, [["timeout", "10s"]])
    assert.deepInclude(sent.body as Json, { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" })
    yield* post("a")
    asked.length = 0
    yield* request("PATCH", `${configMaps}/a`, { contentType: mergePatch, body: { data: { b: "2" } } })
    assert.deepStrictEqual(calls(asked), ["UPDATE /v"])
    assert.deepStrictEqual(asked[0]?.["object"].data, { a: "1", b: "2" })
    assert.deepStrictEqual(asked[0]?.["oldObject"].data, { a: "1" })
    assert.deepStrictEqual(asked[0]?.["options"], { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1" })
  }),

  statement("132b", "a denial names the webhook and passes on its status", {
    note: "the code is 400 unless the webhook says otherwise, and never below"
  }, function*() {
    const { answer, hook, install, post } = yield* scene
    yield* install("Validating", [hook("v")])
    const denied = "admission webhook \"v.example.com\" denied the request"
    const cases: ReadonlyArray<readonly [status: Json | undefined, code: number, message: string, reason?: string]> = [
      [undefined, 400, `${denied} without explanation`],
      [{ message: "no" }, 400, `${denied}: no`],
      [{ reason: "Because" }, 400, `${denied}: Because`, "Because"],
      [{ message: "low", code: 200 }, 400, `${denied}: low`],
      [{ message: "mine", code: 403, reason: "Forbidden" }, 403, `${denied}: mine`, "Forbidden"],
      [{ message: "down", code: 503, status: "Success" }, 503, `${denied}: down`]
    ]
    for (const [status, code, message, reason] of cases) {
      answer(() => ({ allowed: false, ...(status === undefined ? {} : { status }) }))
      const refused = yield* post("x")
      assert.strictEqual(refused.status, code, message)
      assert.deepStrictEqual(refused.error as Json, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message,
        ...(reason === undefined ? {} : { reason }),
        code
      })
    }
    const details = { name: "n", kind: "k", retryAfterSeconds: 3, causes: [{ reason: "R", message: "m", field: "f" }] }
    answer(() => ({ allowed: false, status: { message: "wait", code: 429, details } }))
    const waiting = yield* post("x")
    assert.deepStrictEqual(waiting.error.details as Json, details)
    assert.strictEqual(waiting.headers["retry-after"], "3")
    answer(() => ({ allowed: true, status: { message: "ignored", code: 500 } }))
    assert.strictEqual((yield* post("x")).status, 201)
  }),

  statement("132c", "a webhook that cannot be reached fails the request, or is ignored, as its failurePolicy says", {
    note: "new servers say at which step the call failed"
  }, function*() {
    const { minor } = yield* Target
    const { caBundle, hook, install, ns, post, url } = yield* scene
    const unreachable: ReadonlyArray<readonly [Json, string]> = [
      [
        { url: "https://127.0.0.1:1/x" },
        "Post \"https://127.0.0.1:1/x?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused"
      ],
      [
        { service: { namespace: ns, name: "none", path: "/p", port: 8443 } },
        `Post "https://none.${ns}.svc:8443/p?timeout=10s": service "none" not found`
      ],
      [
        { service: { namespace: ns, name: "none" } },
        `Post "https://none.${ns}.svc:443/?timeout=10s": service "none" not found`
      ],
      [
        { url: url.replace("127.0.0.1", "127.0.0.2"), caBundle },
        `Post "${url.replace("127.0.0.1", "127.0.0.2")}/?timeout=10s": dial tcp ${
          url.slice(8).replace("127.0.0.1", "127.0.0.2")
        }: connect: connection refused`
      ]
    ]
    for (const [clientConfig, why] of unreachable) {
      const refused = yield* Effect.scoped(Effect.gen(function*() {
        yield* install("Validating", [hook("v", { clientConfig })])
        return yield* post("x", {}, dryRun)
      }))
      const message = failed(minor, "v", why)
      assert.strictEqual(refused.status, 500)
      assert.deepInclude(refused.error, { reason: "InternalError", message, code: 500 })
      assert.deepStrictEqual(refused.error.details as Json, {
        causes: [{ message: message.slice("Internal error occurred: ".length) }]
      })
    }
    const ignored = { failurePolicy: "Ignore", clientConfig: { url: "https://127.0.0.1:1/x" } }
    yield* install("Validating", [hook("v", ignored)])
    yield* install("Mutating", [hook("m", ignored)])
    assert.strictEqual((yield* post("y")).status, 201)
  }),

  statement("132d", "an answer that is none fails the call", {}, function*() {
    const { minor } = yield* Target
    const { answer, asked, hook, install, post } = yield* scene
    const step = "received invalid webhook response"
    yield* install("Mutating", [
      hook("m", { objectSelector: { matchExpressions: [{ key: "probe", operator: "DoesNotExist" }] } })
    ])
    const review = (response: unknown, fields: Json = {}) => ({
      raw: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response, ...fields }
    })
    const patch = Buffer.from("[]").toString("base64")
    const cases: ReadonlyArray<readonly [(uid: string) => unknown, string]> = [
      [() => review(undefined), "webhook response was absent"],
      [() => review({ uid: "other", allowed: true }), "expected response.uid=\"UID\", got \"other\""],
      [() => review({ allowed: true }), "expected response.uid=\"UID\", got \"\""],
      [
        (uid) => ({ raw: { response: { uid, allowed: true } } }),
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
      ],
      [
        (uid) => review({ uid, allowed: true, patch }),
        "webhook returned response.patch but not response.patchType"
      ],
      [
        (uid) => review({ uid, allowed: true, patchType: "JSONPatch" }),
        "webhook returned response.patchType but not response.patch"
      ],
      [
        (uid) => review({ uid, allowed: true, patch, patchType: "" }),
        "webhook returned invalid response.patchType of \"\""
      ]
    ]
    for (const [raw, why] of cases) {
      answer(({ uid }) => raw(uid))
      const refused = yield* post("x")
      assert.strictEqual(refused.status, 500, why)
      assert.strictEqual(refused.error.reason, "InternalError")
      const message = failed(minor, "m", why.replace("UID", asked[0]?.["uid"]), step)
      assert.strictEqual(messageOf(refused), message)
    }
    answer(({ uid }) => review({ uid, allowed: true }, { kind: "Other" }))
    assert.match(
      messageOf(yield* post("x")),
      /no kind "Other" is registered for version "admission\.k8s\.io\/v1" in scheme/
    )
    answer(({ uid }) => review({ uid, allowed: true }, { apiVersion: "admission.k8s.io/v1beta1" }))
    assert.include(
      messageOf(yield* post("x")),
      "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"
    )
    answer(() => ({ raw: [] }))
    assert.include(
      messageOf(yield* post("x")),
      "couldn't get version/kind; json parse error: json: cannot unmarshal array"
    )
    yield* Effect.scoped(Effect.gen(function*() {
      yield* install("Validating", [hook("v")])
      answer(({ path }) => path === "/v" ? patching({ op: "add", path: "/data/x", value: "y" }) : allow)
      const message = failed(minor, "v", "validating webhook may not return response.patch", step)
      assert.strictEqual(messageOf(yield* post("x")), message)
    }))
  }),

  statement(
    "132e",
    "a JSON patch is applied whole; one that fails is an error whatever the failure policy",
    {},
    function*() {
      const { answer, asked, hook, install, post } = yield* scene
      yield* install("Mutating", [hook("m", { failurePolicy: "Ignore" })])
      answer(() =>
        patching(
          { op: "test", path: "/data/a", value: "1" },
          { op: "add", path: "/metadata/labels", value: { mutated: "yes" } },
          { op: "move", from: "/data/a", path: "/data/b" },
          { op: "add", path: "/unknown", value: 1 }
        )
      )
      const patched = yield* post("patched")
      assert.strictEqual(patched.status, 201)
      assert.deepStrictEqual(patched.object.metadata.labels, { mutated: "yes" })
      assert.deepStrictEqual(patched.object.data, { b: "1" })
      assert.notProperty(patched.object, "unknown")
      const faults: ReadonlyArray<readonly [Json, string]> = [
        [
          { op: "remove", path: "/data/z" },
          "error in remove for path: '/data/z': Unable to remove nonexistent key: z: missing value"
        ],
        [
          { op: "add", path: "/spec/a/b", value: 1 },
          "add operation does not apply: doc is missing path: \"/spec/a/b\": missing value"
        ],
        [{ op: "test", path: "/data/a", value: "2" }, "testing value /data/a failed: test failed"],
        [{ op: "frob", path: "/data/a" }, "Unexpected kind: frob"],
        [{ op: "add", value: "1" }, "add operation failed to decode path: missing value"],
        [
          { op: "replace", path: "/spec/a", value: 1 },
          "replace operation does not apply: doc is missing path: /spec/a: missing value"
        ]
      ]
      for (const [operation, why] of faults) {
        answer(() => patching(operation))
        const refused = yield* post("x")
        assert.deepInclude(refused.error, {
          code: 500,
          reason: "InternalError",
          message: `Internal error occurred: ${why}`
        })
      }
      answer(() => patching({ op: "replace", path: "/metadata/name", value: "renamed" }))
      assert.strictEqual((yield* post("x")).object.metadata.name, "renamed")
      answer(() => patching({ op: "add", path: "/metadata/namespace", value: "other" }))
      assert.deepInclude((yield* post("x")).error, {
        code: 400,
        message: "the namespace of the provided object does not match the namespace sent on the request"
      })
      assert.lengthOf(asked, 1)
    }
  ),

  statement("132f", "warnings are headers, once each; many long ones are cut", {
    note: "4096 characters in all before they are cut to 256 each; control characters silence a warning"
  }, function*() {
    const { answer, hook, install, post } = yield* scene
    yield* install("Validating", [hook("v")])
    answer(() => ({ allowed: true, warnings: ["one", "a \"quote\"", "one", "", "two\nlines"] }))
    const { headers } = yield* post("x", {}, dryRun)
    assert.strictEqual(headers["warning"], "299 - \"one\", 299 - \"a \\\"quote\\\"\"")
    answer(() => ({ allowed: false, warnings: ["w"], status: { message: "no" } }))
    const refused = yield* post("x", {}, dryRun)
    assert.strictEqual(refused.status, 400)
    assert.strictEqual(refused.headers["warning"], "299 - \"w\"", "also with a refusal")
    answer(() => ({ allowed: true, warnings: ["a".repeat(2000), "b".repeat(2096)] }))
    assert.lengthOf((yield* post("x", {}, dryRun)).headers["warning"]!, 4096 + 2 * "299 - \"\"".length + 2, "just fits")
    answer(() => ({ allowed: true, warnings: ["a".repeat(2000), "b".repeat(2097), "c"] }))
    assert.strictEqual(
      (yield* post("x", {}, dryRun)).headers["warning"],
      `299 - "${"a".repeat(256)}", 299 - "${"b".repeat(256)}", 299 - "c"`
    )
    answer(() => ({ allowed: true, warnings: Array.from({ length: 40 }, (_, n) => `${String(n)} `.padEnd(300, ".")) }))
    assert.lengthOf((yield* post("x", {}, dryRun)).headers["warning"]!.split(", "), 16)
  }),

  statement("132n", "the older AdmissionReview is sent to who asks for it, and hardly checked", {}, function*() {
    const { answer, hook, install, post, received } = yield* scene
    yield* install("Mutating", [hook("m", { admissionReviewVersions: ["v9", "v1beta1", "v1"] })])
    answer(() => ({
      uid: "other",
      patch: patching({ op: "add", path: "/data/b", value: "2" })["patch"],
      allowed: true
    }))
    const patched = yield* post("x")
    assert.strictEqual(patched.status, 201)
    assert.deepStrictEqual(patched.object.data, { a: "1", b: "2" })
    const body = received.at(-1)?.body as Json
    assert.strictEqual(body["apiVersion"], "admission.k8s.io/v1beta1")
    assert.deepStrictEqual(body["request"].requestKind, { group: "", version: "v1", kind: "ConfigMap" })
  })
]
