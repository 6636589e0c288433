/**
 * `Health`: `/healthz`, `/livez` and `/readyz` with their checks, `/metrics` and `/metrics/slis`.
 *
 * Nothing can be unhealthy here: every check of a real server of this version exists and passes.
 *
 * Source: k8s.io/apiserver/pkg/server/healthz, and the post-start hooks of k8s.io/kubernetes 1.35.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as FieldError from "../../schema/FieldError.ts"
import type { ApiResponse } from "../../api/Representation.ts"
import { parameter } from "../../api/Routing.ts"

type Endpoint = "healthz" | "livez" | "readyz"

const hook = (name: string): string => `poststarthook/${name}`

/** The checks at the beginning of an endpoint's list; `/readyz` has more. */
const first = (endpoint: Endpoint): ReadonlyArray<string> => [
  "ping",
  "log",
  "etcd",
  ...(endpoint === "readyz" ? ["etcd-readiness", "informer-sync"] : [])
]

const generic = [
  "generic-apiserver-start-informers",
  "priority-and-fairness-config-consumer",
  "priority-and-fairness-filter",
  "storage-object-count-tracker-hook"
].map(hook)

const extensions = ["start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced"].map(hook)

const others = [
  ...[
    "start-system-namespaces-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "aggregator-reload-proxy-client-cert",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration"
  ].map(hook),
  "autoregister-completion",
  ...["apiservice-openapi-controller", "apiservice-openapiv3-controller"].map(hook)
]

const last = (endpoint: Endpoint): ReadonlyArray<string> => endpoint === "readyz" ? ["shutdown"] : []

const checksOf = (endpoint: Endpoint): ReadonlyArray<string> => [
  ...first(endpoint),
  hook("start-apiserver-admission-initializer"),
  ...generic,
  ...extensions,
  ...others,
  ...last(endpoint)
]

const endpoints: ReadonlyArray<Endpoint> = ["healthz", "livez", "readyz"]

const checks: ReadonlyMap<string, ReadonlyArray<string>> = new Map(endpoints.map((name) => [name, checksOf(name)]))

/** The paths of all endpoints and checks. */
export const paths: ReadonlyArray<string> = endpoints.flatMap((name) => [
  `/${name}`,
  ...checksOf(name).map((check) => `/${name}/${check}`)
])

const text = (body: string, headers: Readonly<Record<string, string>> = {}): ApiResponse => ({
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body
})

const nosniff = { "x-content-type-options": "nosniff" }

/** Answers a request to one of these paths; undefined for other paths. */
export const answer = (request: Request): ApiResponse | undefined => {
  const [, name = "", check] = /^\/(healthz|livez|readyz)(?:\/(.*))?$/.exec(request.path) ?? []
  const known = checks.get(name)
  if (known === undefined) return undefined
  if (check !== undefined) return known.includes(check) ? text("ok") : undefined
  if (parameter(request, "verbose") === undefined) return text("ok", nosniff)
  const excluded = request.query.filter(([key]) => key === "exclude").map(([, value]) => value)
  const strange = [...new Set(excluded)].filter((entry) => !known.includes(entry)).sort()
  const lines = known.map((entry) => `[+]${entry} ${excluded.includes(entry) ? "excluded: ok" : "ok"}\n`)
  const warning = strange.length === 0
    ? ""
    : `warn: some health checks cannot be excluded: no matches for ${strange.map(FieldError.quote).join(",")}\n`
  return text(`${lines.join("")}${warning}${name} check passed\n`, nosniff)
}

/** The only metric of an in-memory server: its version. */
export const metrics = (version: Readonly<Record<string, string>>): ApiResponse => {
  const labels = Object.entries({
    build_date: version["buildDate"],
    compiler: version["compiler"],
    git_commit: version["gitCommit"],
    git_tree_state: version["gitTreeState"],
    git_version: version["gitVersion"],
    go_version: version["goVersion"],
    major: version["major"],
    minor: version["minor"],
    platform: version["platform"]
  }).map(([name, value]) => `${name}="${value}"`).join(",")
  return {
    status: 200,
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    body: "# HELP kubernetes_build_info [ALPHA] A metric with a constant '1' value labeled by major, minor, git " +
      "version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and " +
      "platform on which it is running.\n# TYPE kubernetes_build_info gauge\n" +
      `kubernetes_build_info{${labels}} 1\n`
  }
}

const lineOf = (name: string, endpoint: Endpoint): string =>
  `kubernetes_healthcheck{name="${name}",type="${endpoint}"} 1\n`

/** `/metrics/slis`: the results of the checks. */
export const indicators: ApiResponse = {
  status: 200,
  headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores" },
  body: "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n" +
    "# TYPE kubernetes_healthcheck gauge\n" +
    [...new Set(endpoints.flatMap(checksOf))].sort().flatMap((name) =>
      endpoints.filter((endpoint) => checksOf(endpoint).includes(name)).map((endpoint) => lineOf(name, endpoint))
    ).join("")
}
