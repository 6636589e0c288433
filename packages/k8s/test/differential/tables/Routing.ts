/** Paths and verbs: what is served where, and what is said where nothing is. */
import { ask, get, of, send } from "./Table.ts"
import type { Method } from "../Step.ts"

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "main", image: "app:1" }] }
})

const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } }

const widget = { apiVersion: "fuzz.example.com/v1", kind: "Widget", metadata: { name: "a" } }

const everyMethod: ReadonlyArray<Method> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

const core = "/api/v1/namespaces/{{ns}}"
const fuzz = "/apis/fuzz.example.com/v1/namespaces/{{ns}}"

const discovery = [
  "/api",
  "/api/",
  "/apis",
  "/apis/",
  "/api/v1",
  "/api/v1/",
  "/api/v2",
  "/api/v2/",
  "/api/v1beta1",
  "/apis/apps",
  "/apis/apps/",
  "/apis/apps/v1",
  "/apis/apps/v1/",
  "/apis/apps/v1beta1",
  "/apis/apps/v9/",
  "/apis/nope",
  "/apis/nope/v1",
  "/apis/nope.example.com/v1/things",
  "/apis/fuzz.example.com",
  "/apis/fuzz.example.com/",
  "/apis/fuzz.example.com/v1",
  "/apis/fuzz.example.com/v1/",
  "/apis/fuzz.example.com/v9",
  "/apis/apiextensions.k8s.io",
  "/apis/apiextensions.k8s.io/v1",
  "/apis/apiregistration.k8s.io",
  "/apis/apiregistration.k8s.io/v1",
  "/apis/authentication.k8s.io/v1",
  "/apis/authorization.k8s.io/v1",
  "/apis/autoscaling/v1",
  "/apis/coordination.k8s.io/v1",
  "/apis/rbac.authorization.k8s.io/v1",
  "/apis/certificates.k8s.io/v1",
  "/apis/storage.k8s.io/v1",
  "/apis/networking.k8s.io/v1",
  "/apis/admissionregistration.k8s.io/v1",
  "/apis/scheduling.k8s.io/v1",
  "/apis/node.k8s.io/v1",
  "/apis/events.k8s.io/v1",
  "/apis/batch/v1"
]

const elsewhere = [
  "/",
  "/version",
  "/version/",
  "/version/nope",
  "/healthz",
  "/healthz/",
  "/healthz/ping",
  "/healthz/log",
  "/healthz/etcd",
  "/healthz/nope",
  "/healthz/poststarthook/start-apiextensions-controllers",
  "/livez",
  "/livez/ping",
  "/livez/nope",
  "/livez/etcd",
  "/readyz",
  "/readyz/ping",
  "/readyz/shutdown",
  "/readyz/informer-sync",
  "/readyz/nope",
  "/healthz?verbose",
  "/livez?verbose=true",
  "/readyz?verbose&exclude=etcd",
  "/readyz?exclude=etcd",
  "/readyz?exclude=nope",
  "/readyz?exclude=nope&exclude=etcd&verbose",
  "/livez?exclude=ping&exclude=log",
  "/healthz?exclude=nope",
  "/nope",
  "/nope/nope",
  "/api/nope",
  "/apis/apps/nope/nope",
  "/apiss",
  "/API/v1",
  "/.well-known/nope",
  "/.well-known/openid-configuration",
  "/openid/v1/nope",
  "/openapi",
  "/openapi/nope",
  "/openapi/v2/nope",
  "/swagger.json",
  "/swaggerapi",
  "/ui",
  "/static",
  "/metrics/nope",
  "/debug/nope",
  "/favicon.ico"
]

const slashes = [
  `${core}/configmaps/`,
  `${core}/configmaps/a/`,
  `${core}//configmaps`,
  `//api/v1/namespaces/{{ns}}/configmaps`,
  `/api//v1/namespaces/{{ns}}/configmaps/a`,
  `/api/v1//namespaces/{{ns}}/configmaps/a`,
  `${core}/configmaps//a`,
  `${core}/configmaps/a//`,
  `${core}/pods/a/status/`,
  `${core}/pods/a//status`,
  `${core}/pods/a/status/more`,
  `${core}/configmaps/a/more/and/more`,
  `${core}/configmaps/../configmaps/a`,
  `${core}/configmaps/./a`,
  `${core}/configmaps/a%2Fb`,
  `${core}/configmaps/%61`,
  `${core}/configmaps/a b`.replace(" ", "+"),
  `${core}/configmaps/a?`,
  `${core}/configmaps/a?pretty`,
  `${core}/configmaps/a?pretty=false`,
  `${core}/configmaps?watch&timeoutSeconds=1`,
  `${core}/`,
  `${core}`,
  "/api/v1/namespaces/{{ns}}/namespaces",
  "/api/v1/namespaces/{{ns}}/nodes",
  "/api/v1/namespaces/{{ns}}/nodes/x",
  "/api/v1/namespaces/{{ns}}/persistentvolumes",
  "/api/v1/configmaps/a",
  "/api/v1/pods/a",
  "/api/v1/pods/a/status",
  "/api/v1/nope",
  "/api/v1/nope/a",
  `${core}/nope`,
  `${core}/nope/a`,
  `${core}/nope/a/status`,
  `${core}/Configmaps`,
  `${core}/configmap`,
  `${core}/cm`,
  "/apis/apps/v1/pods",
  "/apis/apps/v1/namespaces/{{ns}}/pods",
  "/apis/apps/v1/namespaces/{{ns}}/nope",
  "/apis/apps/v1/nope",
  "/apis/apps/v2/namespaces/{{ns}}/deployments",
  "/apis/apps/namespaces/{{ns}}/deployments",
  "/api/apps/v1/deployments",
  "/apis/v1/pods",
  "/apis/core/v1/pods",
  `${fuzz}/nope`,
  `${fuzz}/nope/a`,
  `${fuzz}/Widgets`,
  `${fuzz}/widgets/`,
  `${fuzz}/widgets/a/`,
  `${fuzz}/widgets/a/nope`,
  `${fuzz}/widgets/a/scale`,
  "/apis/fuzz.example.com/v1/widgets/a",
  "/apis/fuzz.example.com/v9/namespaces/{{ns}}/widgets",
  "/apis/fuzz.example.com/v1/namespaces",
  "/apis/fuzz.example.com/v1/namespaces/{{ns}}",
  "/apis/fuzz.example.com/v1/namespaces/{{ns}}/",
  "/apis/apps/v1/namespaces",
  "/apis/apps/v1/namespaces/{{ns}}",
  "/apis/apps/v1/namespaces/{{ns}}/",
  "/api/v1/watch?timeoutSeconds=1",
  "/api/v1/watch/?timeoutSeconds=1",
  "/api/v1/watch/nope",
  "/api/v1/watch/namespaces/{{ns}}/nope",
  "/api/v1/watch/namespaces/{{ns}}/configmaps/nope/nope",
  "/api/v1/proxy/namespaces/{{ns}}/pods/a",
  "/api/v1/redirect/namespaces/{{ns}}/pods/a",
  "/api/v1/bindings",
  `${core}/bindings`,
  `${core}/bindings/a`
]

const items = [
  `${core}/configmaps`,
  `${core}/configmaps/a`,
  "/api/v1/configmaps",
  `${core}/pods/a/status`,
  `${core}/pods/a/binding`,
  `${core}/pods/a/eviction`,
  `${core}/pods/a/log`,
  `${core}/pods/a/nope`,
  `${core}/bindings`,
  "/apis/apps/v1/namespaces/{{ns}}/deployments/a/scale",
  "/apis/apps/v1/deployments",
  `${fuzz}/widgets`,
  `${fuzz}/widgets/a`,
  `${fuzz}/widgets/a/status`,
  `${fuzz}/widgets/a/nope`,
  "/apis/fuzz.example.com/v1/widgets",
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a",
  "/apis/authentication.k8s.io/v1/tokenreviews",
  "/api/v1/namespaces/{{id}}-none/finalize",
  "/api",
  "/api/v1",
  "/apis",
  "/apis/apps",
  "/apis/apps/v1",
  "/apis/fuzz.example.com",
  "/apis/fuzz.example.com/v1",
  "/version",
  "/healthz",
  "/livez",
  "/readyz",
  "/",
  "/nope"
]

/** A verb whose body, if it has one, is an empty object. */
const touch = (method: Method, path: string) =>
  method === "POST" || method === "PUT"
    ? send(method, path, {})
    : method === "PATCH"
    ? send(method, path, {}, { "content-type": "application/merge-patch+json" })
    // What is deleted must stay for others.
    : method === "DELETE" && /(?:configmaps|services|widgets|deployments|pods)$/.test(path)
    ? ask(method, `${path}?dryRun=All&labelSelector=none%3D{{id}}`)
    : method === "GET" && /^\/apis?\/.*(?:configmaps|deployments|widgets)$/.test(path) && !path.includes("{{ns}}")
    ? ask(method, `${path}?labelSelector=none%3D{{id}}`)
    : ask(method, path)

export const routing = [
  of("discovery", [...discovery, ...elsewhere].map((path) => get(path))),
  of("paths", [
    send("POST", `${core}/configmaps`, configMap),
    send("POST", `${core}/pods`, pod("a")),
    send("POST", `${fuzz}/widgets`, widget),
    ...slashes.map((path) => get(path))
  ]),
  of("verbs", [
    send("POST", `${core}/configmaps`, configMap),
    send("POST", `${core}/pods`, pod("a")),
    send("POST", `${fuzz}/widgets`, widget),
    ...items.flatMap((path) => everyMethod.map((method) => touch(method, path)))
  ])
]
