/** Query parameters and options in bodies, right and wrong. */
import { ask, get, of, send } from "./Table.ts"

const core = "/api/v1/namespaces/{{ns}}"
const fuzz = "/apis/fuzz.example.com/v1/namespaces/{{ns}}"

const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { k: "v" } })

const widget = (name: string) => ({ apiVersion: "fuzz.example.com/v1", kind: "Widget", metadata: { name } })

const lists = [
  "watch=maybe&timeoutSeconds=1",
  "watch&timeoutSeconds=1",
  "watch=0",
  "watch=false",
  "watch=True&timeoutSeconds=1&resourceVersion=x",
  "watch=1&timeoutSeconds=x",
  "watch=t&resourceVersion=x",
  "watch=true&resourceVersion=-1",
  "watch=true&timeoutSeconds=1&limit=x",
  "watch=true&resourceVersionMatch=Exact&resourceVersion=1",
  "watch=true&fieldSelector=a",
  "watch=true&labelSelector=a%20b",
  "limit=-1",
  "limit=x",
  "limit=1.5",
  "limit=",
  "limit=99999999999999999999",
  "limit=0",
  "timeoutSeconds=x",
  "timeoutSeconds=-1",
  "timeoutSeconds=1.5",
  "resourceVersion=x",
  "resourceVersion=-1",
  "resourceVersion=1.5",
  "resourceVersion=99999999999999999999",
  "resourceVersionMatch=Nope",
  "resourceVersionMatch=Exact",
  "resourceVersionMatch=Exact&resourceVersion=0",
  "resourceVersionMatch=NotOlderThan&resourceVersion=x",
  "continue=x",
  "continue=e30",
  "continue=%00",
  "limit=1&continue=x&resourceVersion=5",
  "continue=x&resourceVersionMatch=Exact",
  "allowWatchBookmarks=maybe",
  "allowWatchBookmarks=yes",
  "labelSelector=a%3Db%3Dc",
  "labelSelector=%2C",
  "labelSelector=a%20in%20(b",
  "labelSelector=a/b/c",
  "labelSelector=!",
  "labelSelector=a&labelSelector=b",
  "labelSelector=x%20in%20(a,b,)",
  "labelSelector=" + "x".repeat(64),
  "labelSelector=a%3D" + "x".repeat(64),
  "fieldSelector=metadata.name",
  "fieldSelector=metadata.name%3Da,metadata.nope%3Db",
  "fieldSelector=%3Da",
  "fieldSelector=metadata.name%3Da%3Db",
  "fieldSelector=metadata.name%3Da\\,b",
  "fieldSelector=metadata.name%3Da\\",
  "includeObject=Nope",
  "unknown=1",
  "limit=1&limit=x",
  "pretty=1",
  "dryRun=All",
  "%zz=1",
  "a;b=c"
]

const gets = [
  "resourceVersion=x",
  "resourceVersion=-1",
  "resourceVersion=",
  "resourceVersionMatch=Exact",
  "limit=x",
  "watch=true",
  "watch=maybe",
  "timeoutSeconds=x",
  "fieldSelector=a",
  "labelSelector=%3D",
  "pretty=maybe",
  "dryRun=bogus",
  "exact=true"
]

const creates = [
  "dryRun=bogus",
  "dryRun=All&dryRun=All",
  "dryRun=All&dryRun=bogus",
  "dryRun=all",
  "dryRun=",
  "fieldManager=" + "x".repeat(128),
  "fieldManager=" + "x".repeat(129),
  "fieldManager=%07",
  "fieldManager=",
  "fieldManager=a&fieldManager=b",
  "fieldManager=a%0Ab&dryRun=bogus",
  "pretty=true",
  "force=true",
  "unknown=1"
]

const patches = [...creates, "force=maybe", "force=false"]

const deletions = [
  "gracePeriodSeconds=-5",
  "gracePeriodSeconds=x",
  "gracePeriodSeconds=1.5",
  "gracePeriodSeconds=99999999999999999999",
  "gracePeriodSeconds=",
  "propagationPolicy=bogus",
  "propagationPolicy=",
  "propagationPolicy=background",
  "orphanDependents=maybe",
  "orphanDependents=true&propagationPolicy=Orphan",
  "dryRun=bogus",
  "dryRun=All&propagationPolicy=Nope",
  "resourceVersion=x",
  "preconditions=x",
  "unknown=1"
]

const deleteOptions: ReadonlyArray<unknown> = [
  { gracePeriodSeconds: -5 },
  { gracePeriodSeconds: "x" },
  { gracePeriodSeconds: 1.5 },
  { propagationPolicy: "bogus" },
  { propagationPolicy: "" },
  { propagationPolicy: 5 },
  { orphanDependents: true, propagationPolicy: "Orphan" },
  { orphanDependents: "x" },
  { dryRun: ["bogus"] },
  { dryRun: "All" },
  { dryRun: ["All", "All"] },
  { preconditions: { uid: "no" } },
  { preconditions: { resourceVersion: "1" } },
  { preconditions: { uid: "no", resourceVersion: "1" } },
  { preconditions: {} },
  { preconditions: "x" },
  { apiVersion: "v1", kind: "Status" },
  { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"] },
  { apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions", dryRun: ["All"] },
  { apiVersion: "policy/v9", kind: "DeleteOptions", dryRun: ["All"] },
  { apiVersion: "apps/v1", kind: "DeleteOptions", dryRun: ["All"] },
  { apiVersion: "fuzz.example.com/v1", kind: "DeleteOptions", dryRun: ["All"] },
  { kind: "DeleteOptions", dryRun: ["All"] },
  { apiVersion: "v1", dryRun: ["All"] },
  { kind: "Nope", dryRun: ["All"] },
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, dryRun: ["All"] },
  { dryRun: ["All"], unknown: 1 },
  []
]

const merge = { "content-type": "application/merge-patch+json" }

const on = (root: string, plural: string, make: (name: string) => unknown) => [
  send("POST", `${root}/${plural}`, make("a")),
  ...lists.map((query) => get(`${root}/${plural}?${query}`)),
  ...gets.map((query) => get(`${root}/${plural}/a?${query}`)),
  ...creates.map((query, index) => send("POST", `${root}/${plural}?${query}`, make(`c${index}`))),
  ...creates.map((query) => send("PUT", `${root}/${plural}/none?${query}`, make("none"))),
  ...patches.map((query) => send("PATCH", `${root}/${plural}/a?${query}`, { metadata: { labels: { l: "m" } } }, merge)),
  ...deletions.flatMap((query, index) => [
    send("POST", `${root}/${plural}`, make(`d${index}`)),
    ask("DELETE", `${root}/${plural}/d${index}?${query}`)
  ]),
  ...deleteOptions.flatMap((options, index) => [
    send("POST", `${root}/${plural}`, make(`e${index}`)),
    send("DELETE", `${root}/${plural}/e${index}`, options)
  ]),
  // In the body or in the query, not in both.
  ask("DELETE", `${root}/${plural}/missing?gracePeriodSeconds=-5`),
  send("DELETE", `${root}/${plural}/a?propagationPolicy=bogus`, { propagationPolicy: "Background", dryRun: ["All"] }),
  send("DELETE", `${root}/${plural}/a?dryRun=All`, {}),
  ...deletions.map((query) => ask("DELETE", `${root}/${plural}?labelSelector=none&${query}`)),
  // 1.20 reads those of a collection otherwise, as far as they say what they are.
  ...deleteOptions.filter((options) => !/apiVersion|kind/.test(JSON.stringify(options))).map((options) =>
    send("DELETE", `${root}/${plural}?labelSelector=none`, options)
  ),
  ask("DELETE", `${root}/${plural}?labelSelector=a%20b`),
  ask("DELETE", `${root}/${plural}?fieldSelector=a`),
  ask("DELETE", `${root}/${plural}?labelSelector=none&limit=x`),
  ask("DELETE", `${root}/${plural}?labelSelector=none&limit=1`),
  get(`${root}/${plural}`)
]

export const parameters = [
  of("parameters of a built-in kind", on(core, "configmaps", configMap)),
  of("parameters of a custom kind", on(fuzz, "widgets", widget))
]
