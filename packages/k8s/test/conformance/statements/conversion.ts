/** Conversion webhooks: statement 110. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  asked,
  converted,
  converting,
  definitions,
  failed,
  failing,
  type Json,
  mergePatch,
  version
} from "../Converting.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

export const conversion = [
  statement("110a", "a webhook converts on the way to and from the store", {
    note: "every review holds one object: lists are converted object by object"
  }, function*() {
    const { request } = yield* Target
    const { group, path, webhook, widget } = yield* converting()
    assert.strictEqual((yield* request("POST", path("v1"), { body: widget("v1", "a") })).status, 201)
    const before = webhook.received.length
    const { object: shown } = yield* request("GET", path("v2", "a"))
    assert.strictEqual(shown.apiVersion, `${group}/v2`)
    // The default is that of the version it was stored in, and v2 does not know that field.
    assert.deepStrictEqual(shown["spec"], { x: 1 })
    const review = webhook.received.slice(before).at(-1)!
    assert.deepInclude(review, { method: "POST", path: "/convert", query: [["timeout", "30s"]] })
    assert.strictEqual(review.headers["user-agent"], "kube-apiserver-admission")
    const body = review.body as Json
    assert.deepStrictEqual([body["apiVersion"], body["kind"]], ["apiextensions.k8s.io/v1", "ConversionReview"])
    assert.match(body["request"].uid, /^[0-9a-f-]{36}$/)
    assert.strictEqual(body["request"].desiredAPIVersion, `${group}/v2`)
    assert.strictEqual(body["request"].objects.length, 1)
    assert.strictEqual(body["request"].objects[0].apiVersion, `${group}/v1`)
    assert.deepStrictEqual(body["request"].objects[0].spec, { x: 1, defaultv1: "v1" })
    assert.notProperty(body["request"].objects[0].metadata, "resourceVersion")
    assert.deepStrictEqual(body["response"], { uid: "", convertedObjects: null, result: { metadata: {} } })

    const written = yield* request("POST", path("v2"), {
      body: widget("v2", "b", { spec: { x: 2, onlyv2: "lost" } })
    })
    assert.strictEqual(written.status, 201)
    // It was stored as v1, which has neither the field nor the default.
    assert.deepStrictEqual(written.object["spec"], { x: 2 })
    const { object: list } = yield* request("GET", path("v2"))
    assert.deepStrictEqual(
      list["items"].map((item: Json) => [item["apiVersion"], item["metadata"].name]),
      [[`${group}/v2`, "a"], [`${group}/v2`, "b"]]
    )
    assert.deepStrictEqual([...new Set(asked(webhook).map(({ objects }) => objects.length))], [1])
    const { object: stored } = yield* request("GET", path("v1", "b"))
    assert.deepStrictEqual(stored["spec"], { x: 2, defaultv1: "v1" })
  }),

  statement("110b", "of what the webhook says about metadata only labels and annotations count", {}, function*() {
    const { request } = yield* Target
    const { answers, path, widget } = yield* converting()
    yield* request("POST", path("v1"), {
      body: widget("v1", "a", { metadata: { name: "a", labels: { l: "1" }, annotations: { a: "1" } } })
    })
    const { object: own } = yield* request("GET", path("v1", "a"))
    answers((review) =>
      converted(review, (object) => ({
        ...object,
        metadata: {
          ...object["metadata"],
          labels: { m: "2" },
          annotations: { b: "2" },
          resourceVersion: "1",
          creationTimestamp: null,
          generation: 7,
          finalizers: ["example.com/f"],
          ownerReferences: []
        }
      }))
    )
    const { object: shown } = yield* request("GET", path("v2", "a"))
    assert.deepStrictEqual(shown.metadata, { ...own.metadata, labels: { m: "2" }, annotations: { b: "2" } })
    answers((review) =>
      converted(review, (object) => {
        const { name, namespace, uid } = object["metadata"]
        return { ...object, metadata: { name, namespace, uid } }
      })
    )
    const { object: bare } = yield* request("GET", path("v2", "a"))
    const { annotations: _, labels: __, ...rest } = own.metadata
    assert.deepStrictEqual(bare.metadata, rest)
    // A selector sees the converted labels, too.
    answers((review) =>
      converted(review, (object) => ({ ...object, metadata: { ...object["metadata"], labels: { only: "v2" } } }))
    )
    const { object: selected } = yield* request("GET", path("v2"), { query: { labelSelector: "only=v2" } })
    assert.strictEqual(selected["items"].length, 1)
    const { object: none } = yield* request("GET", path("v2"), { query: { labelSelector: "l=1" } })
    assert.strictEqual(none["items"].length, 0)
  }),

  statement("110c", "a conversion that fails is a 500 that says so, for reads and writes", {}, function*() {
    const { request } = yield* Target
    const { answers, group, path, widget } = yield* converting()
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    yield* request("POST", path("v1"), { body: widget("v1", "b") })
    answers(failing)
    const from = (of: string) => `conversion webhook for ${group}/${of}, Kind=Widget failed: no way`
    const patch = { contentType: mergePatch, body: { spec: { x: 7 } } }
    const table = { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } }
    assert.strictEqual(failed(yield* request("GET", path("v2", "a"))), from("v1"))
    assert.strictEqual(failed(yield* request("GET", path("v2"))), from("v1"))
    assert.strictEqual(failed(yield* request("GET", path("v2", "a"), table)), from("v1"))
    assert.strictEqual(failed(yield* request("GET", `${path("v2", "a")}/scale`)), from("v1"))
    assert.strictEqual(failed(yield* request("POST", path("v2"), { body: widget("v2", "c") })), from("v2"))
    assert.strictEqual(
      failed(yield* request("POST", path("v2"), { body: widget("v2", "c"), query: { dryRun: "All" } })),
      from("v2")
    )
    assert.match(failed(yield* request("PATCH", path("v2", "a"), patch)), /Kind=Widget failed: no way$/)
    assert.strictEqual(failed(yield* request("DELETE", path("v2", "a"))), from("v1"))
    assert.strictEqual(failed(yield* request("DELETE", path("v2"))), from("v1"))
    // In the stored version nothing is converted, and nothing happened.
    const { object } = yield* request("GET", path("v1"))
    assert.deepStrictEqual(
      object["items"].map((item: Json) => [item["metadata"].name, item["spec"].x]),
      [["a", 1], ["b", 1]]
    )
    assert.strictEqual((yield* request("PATCH", path("v1", "a"), patch)).object["spec"].x, 7)
  }),

  statement("110d", "an answer that is no conversion is refused by name", {}, function*() {
    const { request } = yield* Target
    const { answers, answersRaw, group, ns, path, widget } = yield* converting()
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    const { uid } = (yield* request("GET", path("v1", "a"))).object.metadata
    const says = Effect.fnUntraced(function*(message: string | RegExp) {
      const found = failed(yield* request("GET", path("v2", "a")))
      const prefix = `conversion webhook for ${group}/v1, Kind=Widget`
      assert.strictEqual(found.slice(0, prefix.length), prefix, found)
      if (typeof message === "string") assert.strictEqual(found.slice(prefix.length), message)
      else assert.match(found.slice(prefix.length), message)
    })
    const changed = (f: (review: any) => unknown) => answers((review) => f(structuredClone(converted(review))))
    const metadata = (fields: Json) =>
      answers((review) =>
        converted(review, (object) => ({ ...object, metadata: { ...object["metadata"], ...fields } }))
      )

    changed(({ response, ...review }) => ({ ...review, response: { ...response, uid: "x" } }))
    yield* says(/^ failed: expected response\.uid="[0-9a-f-]{36}", got "x"$/)
    changed((review) => ({ ...review, response: undefined }))
    yield* says(" failed: no response provided")
    changed(({ response, ...review }) => ({ ...review, response: { uid: response.uid } }))
    yield* says(" failed: response.result.status was '', not 'Success'")
    changed((review) => ({ ...review, apiVersion: "apiextensions.k8s.io/v1beta1" }))
    yield* says(" failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion")
    changed((review) => ({ ...review, kind: undefined }))
    yield* says(
      " failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, " +
        "got apiextensions.k8s.io/v1, Kind="
    )
    changed((review) => ({ ...review, kind: "Other" }))
    yield* says(/^ failed: no kind "Other" is registered for version "apiextensions\.k8s\.io\/v1" in scheme/)
    changed(({ response, ...review }) => ({ ...review, response: { ...response, convertedObjects: [] } }))
    yield* says(" returned 0 objects, expected 1")
    answers((review) => converted(review, (object) => ({ ...object, apiVersion: `${group}/v1` })))
    yield* says(
      ` returned invalid object at index 0: invalid groupVersion (expected ${group}/v2, received ${group}/v1)`
    )
    answers((review) => converted(review, (object) => ({ ...object, kind: "Other" })))
    yield* says(" returned invalid object at index 0: invalid kind (expected Widget, received Other)")
    metadata({ name: "other" })
    yield* says(" returned invalid object: must have the same name: a != other")
    metadata({ namespace: "other" })
    yield* says(` returned invalid object: must have the same namespace: ${ns} != other`)
    metadata({ uid: "other" })
    yield* says(` returned invalid object: must have the same UID: ${uid} != other`)
    metadata({ labels: { a: 1 } })
    yield* says(
      " returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"
    )
    metadata({ labels: "a" })
    yield* says(" returned invalid metadata: invalid metadata.labels of type string in converted object")
    metadata({ labels: { a: "-x" } })
    yield* says(/^ returned invalid metadata: metadata\.labels: Invalid value: "-x": a valid label must be/)
    metadata({ annotations: { "-x": "a" } })
    yield* says(/^ returned invalid metadata: metadata\.annotation: Invalid value: "-x": name part must consist/)

    const replies = (status: number, type: string, body: string) =>
      answersRaw(() => Effect.succeed({ status, headers: { "content-type": type }, body }))
    replies(500, "text/plain", "boom\n")
    yield* says(" failed: an error on the server (\"boom\") has prevented the request from succeeding")
    replies(
      500,
      "application/json",
      JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message: "m" })
    )
    yield* says(" failed: m")
    replies(404, "text/plain", "404 page not found\n")
    yield* says(" failed: the server could not find the requested resource")
    replies(200, "application/json", "")
    yield* says(" failed: 0-length response with status code: 200 and content type: application/json")
    replies(200, "application/json", "[]")
    yield* says(/^ failed: couldn't get version\/kind; json parse error: json: cannot unmarshal array into Go value/)
  }),

  statement("110e", "a webhook that nobody serves fails every conversion until somebody does", {}, function*() {
    const { request } = yield* Target
    const { group, path, redefine, webhook, widget } = yield* converting()
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    yield* redefine({ conversion: { webhook: { clientConfig: { url: "https://127.0.0.1:1/convert" } } } })
    assert.strictEqual(
      failed(yield* request("GET", path("v2", "a"))),
      `conversion webhook for ${group}/v1, Kind=Widget failed: Post "https://127.0.0.1:1/convert?timeout=30s": ` +
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )
    assert.strictEqual((yield* request("GET", path("v1", "a"))).status, 200)
    yield* redefine({ conversion: { webhook: { clientConfig: { url: `${webhook.url}/convert` } } } })
    assert.strictEqual((yield* request("GET", path("v2", "a"))).object.apiVersion, `${group}/v2`)
  }),

  statement("110f", "a review is written in the first version that both know", {}, function*() {
    const { request } = yield* Target
    const { answers, group, path, redefine, webhook, widget } = yield* converting()
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    yield* redefine({ conversion: { webhook: { conversionReviewVersions: ["v9", "v1beta1", "v1"] } } })
    // In that version nobody looks at the uid, nor at what the answer calls itself.
    answers((review) => ({ ...converted(review), response: { ...converted(review)["response"], uid: "x" } }))
    const { object, status } = yield* request("GET", path("v2", "a"))
    assert.strictEqual(status, 200)
    assert.strictEqual(object.apiVersion, `${group}/v2`)
    assert.strictEqual((webhook.received.at(-1)!.body as Json)["apiVersion"], "apiextensions.k8s.io/v1beta1")
  }),

  statement("110g", "spec.conversion is completed and judged", {}, function*() {
    const { request, unique } = yield* Target
    const define = Effect.fnUntraced(function*(conversion: Json | undefined) {
      const group = `${unique("g")}.example.com`
      return yield* request("POST", definitions, {
        body: {
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "CustomResourceDefinition",
          metadata: { name: `widgets.${group}` },
          spec: {
            group,
            scope: "Namespaced",
            names: { plural: "widgets", kind: "Widget" },
            versions: [{ ...version("v1", true) }],
            ...(conversion === undefined ? {} : { conversion })
          }
        }
      })
    })
    const config = (clientConfig: Json, conversionReviewVersions: ReadonlyArray<string> = ["v1"]) => ({
      strategy: "Webhook",
      webhook: { conversionReviewVersions, clientConfig }
    })
    const causes = (answer: Answer) => {
      assert.strictEqual(answer.status, 422, JSON.stringify(answer.body))
      return answer.error.details?.causes?.map(({ field, message }) => `${field}: ${message}`)
    }
    assert.deepStrictEqual((yield* define(undefined)).object["spec"].conversion, { strategy: "None" })
    const service = { name: "a", namespace: "b" }
    assert.deepStrictEqual(
      (yield* define(config({ service }))).object["spec"].conversion,
      config({ service: { ...service, port: 443 } })
    )
    assert.deepStrictEqual(causes(yield* define({})), ["spec.conversion.strategy: Required value"])
    assert.deepStrictEqual(causes(yield* define({ strategy: "Other" })), [
      "spec.conversion.strategy: Unsupported value: \"Other\": supported values: \"None\", \"Webhook\""
    ])
    assert.deepStrictEqual(causes(yield* define({ strategy: "Webhook" })), [
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
      "spec.conversion.conversionReviewVersions: Required value"
    ])
    assert.deepStrictEqual(causes(yield* define({ ...config({ url: "https://h/" }), strategy: "None" })), [
      "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
      "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook"
    ])
    const at = "spec.conversion.webhookClientConfig"
    assert.deepStrictEqual(causes(yield* define(config({ url: "https://h/", service }))), [
      `${at}: Required value: exactly one of url or service is required`
    ])
    assert.deepStrictEqual(causes(yield* define(config({ url: "http://u:p@h/x?q=1#f" }))), [
      `${at}.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
      `${at}.url: Invalid value: "u:p": user information is not permitted in the URL`,
      `${at}.url: Invalid value: "f": fragments are not permitted in the URL`,
      `${at}.url: Invalid value: "q=1": query parameters are not permitted in the URL`
    ])
    assert.deepStrictEqual(causes(yield* define(config({ service: { ...service, port: 70000, path: "x" } }))), [
      `${at}.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive`,
      `${at}.service.path: Invalid value: "x": must start with a '/'`,
      `${at}.service.path: Invalid value: "x": segment[0] may not be empty`
    ])
    assert.deepStrictEqual(causes(yield* define(config({ url: "https://h/" }, ["v1", "v1"]))), [
      "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v1\": duplicate version"
    ])
    assert.match(
      causes(yield* define(config({ url: "https://h/" }, ["v7"])))![0]!,
      /^spec\.conversion\.conversionReviewVersions: Invalid value: .*"v7".*: must include at least one of v1, v1beta1$/
    )
    const bytes = yield* define(config({ url: "https://h/", caBundle: "!" }))
    assert.strictEqual(bytes.status, 400)
    assert.include(bytes.error.message, "illegal base64 data at input byte 0")
  }),

  statement("110i", "what cannot be converted for an admission webhook or a policy fails as each of them does", {
    note:
      "a mutating webhook's error is wrapped twice, whatever the failurePolicy; a policy that ignores failures lets pass",
    since: 30
  }, function*() {
    const { request, until, unique } = yield* Target
    const { answers, group, ns, path, widget } = yield* converting()
    answers(failing)
    const why = `conversion webhook for ${group}/v1, Kind=Widget failed: no way`
    const post = request("POST", path("v1"), { body: widget("v1", "a"), query: { dryRun: "All" } })
    const name = unique("unconverted")
    const registration = "admissionregistration.k8s.io"
    const rules = [{ apiGroups: [group], apiVersions: ["v2"], resources: ["widgets"], operations: ["CREATE"] }]
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns } }
    const install = Effect.fnUntraced(function*(kind: string, content: object) {
      const url = `/apis/${registration}/v1/${kind.toLowerCase().replace(/y$/, "ie")}s`
      const body = { apiVersion: `${registration}/v1`, kind, metadata: { name }, ...content }
      const { status } = yield* request("POST", url, { body })
      assert.strictEqual(status, 201, kind)
      return `${url}/${name}`
    })
    const webhook = {
      name: "a.example.com",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Ignore",
      clientConfig: { url: "https://127.0.0.1:1/nobody" },
      namespaceSelector,
      rules
    }
    for (const [kind, message] of [["Validating", why], ["Mutating", `Internal error occurred: ${why}`]] as const) {
      const path = yield* install(`${kind}WebhookConfiguration`, { webhooks: [webhook] })
      const { error, status } = yield* until(post, ({ status }) => status !== 201)
      assert.deepStrictEqual(
        [status, error.reason, error.message, error.details],
        [500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] }],
        kind
      )
      yield* request("DELETE", path)
      yield* until(post, ({ status }) => status === 201)
    }
    const policy = yield* install("ValidatingAdmissionPolicy", {
      spec: {
        matchConstraints: { namespaceSelector, resourceRules: rules },
        validations: [{ expression: "true" }]
      }
    })
    yield* install("ValidatingAdmissionPolicyBinding", { spec: { policyName: name, validationActions: ["Deny"] } })
    const { error, status } = yield* until(post, ({ status }) => status !== 201)
    assert.deepStrictEqual([status, error.reason], [422, "Invalid"])
    assert.include(
      error.message,
      `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: failed to configure binding: ` +
        `failed to convert object version: ${why}`
    )
    const lenient = { body: { spec: { failurePolicy: "Ignore" } }, contentType: mergePatch }
    yield* request("PATCH", policy, lenient)
    yield* until(post, ({ status }) => status === 201)
  }),

  statement("110h", "a definition whose bundle of certificates is none is not established", { since: 32 }, function*() {
    const { request, unique, until } = yield* Target
    const group = `${unique("g")}.example.com`
    const path = `${definitions}/widgets.${group}`
    const conversion = (caBundle: string) => ({
      strategy: "Webhook",
      webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://h/", caBundle } }
    })
    const created = yield* request("POST", definitions, {
      body: {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `widgets.${group}` },
        spec: {
          group,
          scope: "Namespaced",
          names: { plural: "widgets", kind: "Widget" },
          versions: [version("v1", true)],
          conversion: conversion("Zm9v")
        }
      }
    })
    assert.strictEqual(created.status, 201)
    const established = ({ object }: Answer) =>
      object["status"].conditions?.find((condition: Json) => condition["type"] === "Established")
    const refused = yield* until(request("GET", path), (answer) => established(answer)?.reason === "InvalidCABundle")
    assert.deepInclude(established(refused), {
      status: "False",
      message: "The conversion webhook CABundle is invalid"
    })
    const unready = yield* request("GET", `/apis/${group}/v1/widgets`)
    assert.deepStrictEqual([unready.status, unready.error.message], [
      500,
      "Internal error occurred: error resolving resource"
    ])
    assert.strictEqual((yield* request("GET", `/apis/${group}/v1`)).status, 404)
    assert.strictEqual((yield* request("GET", `/apis/${group}/v2/widgets`)).status, 404)
    yield* request("PATCH", path, {
      contentType: mergePatch,
      body: { spec: { conversion: { strategy: "None", webhook: null } } }
    })
    yield* until(request("GET", path), (answer) => established(answer)?.status === "True")
  })
]
