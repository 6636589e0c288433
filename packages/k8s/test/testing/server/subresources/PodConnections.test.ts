import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, get, layer, pod, pods, post } from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body?.message ?? ""}`

const containers = { containers: [{ name: "one", image: "a:1" }, { name: "two", image: "a:1" }] }

describe("PodConnections", () => {
  it.effect("a Pod without a node has nothing to log, and nowhere to run a command", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const log = yield* get(`${pods}/a/log`)
      assert.deepStrictEqual([log.status, log.body], [204, undefined])
      for (const part of ["exec", "attach", "portforward?ports=80"]) {
        assert.strictEqual(message(yield* get(`${pods}/a/${part}`)), "400 pod a does not have a host assigned")
      }
      assert.strictEqual((yield* post(`${pods}/a/log`, {})).status, 405)
      assert.strictEqual(
        (yield* get(`${pods}/a/nope`)).body.message,
        "the server could not find the requested resource"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("the kubelet of a node is asked at the address that the server prefers, and nobody listens there", () =>
    Effect.gen(function*() {
      const nodes = "/api/v1/nodes"
      const addresses = [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "Hostname", address: "host" }
      ]
      yield* post(nodes, { metadata: { name: "bare" }, status: { addresses: [{ type: "Rack", address: "x" }] } })
      const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: 1 } } }
      yield* post(nodes, { metadata: { name: "full" }, status })
      for (const node of ["none", "bare", "full"]) {
        yield* post(pods, { ...pod(node), spec: { containers: [{ name: "c", image: "a:1" }], nodeName: node } })
      }
      const told = (path: string) => Effect.map(get(`${pods}/${path}`), message)
      const bare = "500 no preferred addresses found; known addresses: [{Rack x}]"
      for (const part of ["log", "exec", "attach", "portforward"]) {
        assert.strictEqual(yield* told(`none/${part}`), "404 pods \"none\" not found")
        assert.strictEqual(yield* told(`bare/${part}`), bare)
        if (part !== "log") assert.strictEqual(yield* told(`full/${part}`), "400 Upgrade request required")
      }
      assert.strictEqual(
        yield* told("full/log?follow=true&stdin=true&tailLines=2"),
        "500 Get \"https://host:1/containerLogs/default/full/c?follow=true&tailLines=2\": " +
          "dial tcp host:1: connect: connection refused"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("who may only get a connection is refused it before it is asked whether there is a Pod", () =>
    Effect.gen(function*() {
      const group = "rbac.authorization.k8s.io"
      const grant = (name: string, verbs: ReadonlyArray<string>) => {
        const resources = ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/log"]
        const bindings = `/apis/${group}/v1/clusterrolebindings`
        const roleRef = { apiGroup: group, kind: "ClusterRole", name }
        return Effect.andThen(
          post(`/apis/${group}/v1/clusterroles`, {
            metadata: { name },
            rules: [{ apiGroups: [""], resources, verbs }]
          }),
          post(bindings, { metadata: { name }, roleRef, subjects: [{ apiGroup: group, kind: "User", name }] })
        )
      }
      yield* grant("reads", ["get"])
      yield* grant("both", ["get", "create"])
      const told = (user: string, part: string) => get(`${pods}/none/${part}`, { "impersonate-user": user })
      for (const part of ["exec?command=ls", "attach?stdout=true", "portforward?ports=80"]) {
        assert.strictEqual(message(yield* told("reads", part)), "403 pods \"none\" is forbidden: ")
        assert.strictEqual(message(yield* told("both", part)), "404 pods \"none\" not found")
      }
      assert.strictEqual((yield* told("reads", "portforward?ports=x")).status, 400)
      for (const part of ["proxy/", "log"]) assert.strictEqual((yield* told("reads", part)).status, 404, part)
    }).pipe(Effect.provide(layer)))

  it.effect("a container must be said where there are several, and be there", () =>
    Effect.gen(function*() {
      yield* post(pods, { ...pod("a"), spec: { ...containers, initContainers: [{ name: "zero", image: "a:1" }] } })
      const which = "400 a container name must be specified for pod a, choose one of: [zero one two]"
      assert.strictEqual(message(yield* get(`${pods}/a/log`)), which)
      assert.strictEqual(message(yield* get(`${pods}/a/exec`)), which)
      assert.strictEqual((yield* get(`${pods}/a/log?container=zero`)).status, 204)
      assert.strictEqual(
        message(yield* get(`${pods}/a/attach?container=x`)),
        "400 container x is not valid for pod a"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("options are judged before it is asked whether there is a Pod", () =>
    Effect.gen(function*() {
      const log = (query: string) => Effect.map(get(`${pods}/none/log?${query}`), message)
      const invalid = "422 PodLogOptions \"none\" is invalid: "
      assert.strictEqual(yield* log("tailLines=x"), "400 strconv.ParseInt: parsing \"x\": invalid syntax")
      assert.match(yield* log("sinceTime=x"), /^400 parsing time "x" as /)
      assert.strictEqual(
        yield* log("tailLines=-1&limitBytes=0"),
        `${invalid}[tailLines: Invalid value: -1: must be greater than or equal to 0, ` +
          "limitBytes: Invalid value: 0: must be greater than 0]"
      )
      assert.strictEqual(
        yield* log("sinceSeconds=0"),
        `${invalid}sinceSeconds: Invalid value: 0: must be greater than 0`
      )
      assert.match(yield* log("sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z"), /at most one of `sinceTime` or/)
      assert.strictEqual(yield* log("tailLines=1"), "404 pods \"none\" not found")
      assert.strictEqual(
        message(yield* get(`${pods}/none/portforward?ports=1,x`)),
        "400 cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax"
      )
    }).pipe(Effect.provide(layer)))
})
