/** What a client says that it reads and writes, and what comes back as what. */
import { ask, get, of, send, text } from "./Table.ts"

const core = "/api/v1/namespaces/{{ns}}"
const fuzz = "/apis/fuzz.example.com/v1/namespaces/{{ns}}"

const accepts = [
  "",
  "*/*",
  "*",
  "application/*",
  "text/*",
  "text/html",
  "text/plain",
  "application/xml",
  "application/json",
  "Application/JSON",
  "application/json;q=0",
  "application/yaml;q=0.5,application/json;q=0.9",
  "application/json;q=0.1,*/*",
  "text/html,*/*;q=0.8",
  "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "application/json;q=x",
  "application/json;charset=utf-8",
  "application/json; pretty=1",
  "application/json;pretty=true",
  "application/json;stream=watch",
  "application/json;stream=nope",
  "application/json;unknown=1",
  "application/json,,",
  ",",
  ";",
  "nonsense",
  "application/json;as=Table;g=meta.k8s.io;v=v1",
  "application/json;as=Table;g=meta.k8s.io;v=v9",
  "application/json;as=Table;g=nope;v=v1",
  "application/json;as=Table",
  "application/json;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
  "application/json;export=1",
  "application/apply-patch+yaml",
  "application/vnd.kubernetes.protobuf;q=0.1,application/json"
]

const yamls = ["application/yaml", "application/yaml;q=0.9", "application/yaml,application/json"]

const types = [
  "",
  "application/json",
  "Application/JSON",
  "application/json;charset=utf-8",
  "application/json; charset=utf-8",
  "application/json;",
  "text/json",
  "text/plain",
  "*/*",
  "application/*",
  "application/xml",
  "application/octet-stream",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json, application/yaml",
  "nonsense",
  "application/merge-patch+json"
]

const patchTypes = [
  "",
  "application/json",
  "application/yaml",
  "text/plain",
  "application/merge-patch+json",
  "application/merge-patch+json;charset=utf-8",
  "application/merge-patch+json; charset=utf-8",
  "Application/Merge-Patch+JSON",
  "application/strategic-merge-patch+json",
  "application/strategic-merge-patch+json; x=y",
  "application/json-patch+json",
  "application/apply-patch+yml",
  "application/merge-patch+yaml",
  "nonsense"
]

const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { k: "v" } })
const widget = (name: string) => ({ apiVersion: "fuzz.example.com/v1", kind: "Widget", metadata: { name } })

const yaml = (apiVersion: string, kind: string) => (name: string) =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: ${name}\n  labels: {a: "1", b: 'two'}\n`

/** YAML that is none, or more than one document, or no object. */
const oddYaml = [
  "",
  "---\n",
  "a: [1",
  "\ta: 1",
  "- 1\n- 2\n",
  "just text",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y1}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: y2}\n",
  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"y3\"}}",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y4}\ndata: {a: 1}\n",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y5}\ndata: {a: yes}\n",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y6}\ndata: &d {a: b}\nbinaryData: *d\n",
  "# comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y7\ndata:\n  t: |\n    one\n    two\n",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y8, creationTimestamp: null}\n",
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y9, labels: {on: \"true\"}}\ndata: {n: \"1\", n: \"2\"}\n"
]

const on = (root: string, plural: string, make: (name: string) => unknown, asYaml: (name: string) => string) => [
  send("POST", `${root}/${plural}`, make("a")),
  ...accepts.flatMap((accept) => [
    get(`${root}/${plural}/a`, { accept }),
    get(`${root}/${plural}`, { accept }),
    get(`${root}/${plural}/none`, { accept }),
    ask("DELETE", `${root}/${plural}/none`, { accept }),
    get(`${root}/nope`, { accept })
  ]),
  // Only refusals: the order of fields in a document is nobody's promise.
  ...yamls.map((accept) => get(`${root}/${plural}/none`, { accept })),
  ...accepts.map((accept) => get(`${root}/${plural}?watch=true&timeoutSeconds=1&resourceVersion=x`, { accept })),
  ...accepts.map((accept, index) => send("POST", `${root}/${plural}`, make(`p${index}`), { accept })),
  ...types.map((type, index) => send("POST", `${root}/${plural}`, make(`t${index}`), { "content-type": type })),
  ...types.map((type) => send("PUT", `${root}/${plural}/a`, make("a"), { "content-type": type })),
  ...types.map((type) => send("DELETE", `${root}/${plural}/a`, { dryRun: ["All"] }, { "content-type": type })),
  ...patchTypes.map((type) =>
    send("PATCH", `${root}/${plural}/a`, { metadata: { labels: { l: "m" } } }, { "content-type": type })
  ),
  ...patchTypes.map((type) => send("PATCH", `${root}/${plural}/none`, {}, { "content-type": type })),
  text("POST", `${root}/${plural}`, asYaml("y"), { "content-type": "application/yaml" }),
  text("PUT", `${root}/${plural}/y`, asYaml("y"), { "content-type": "application/yaml" }),
  text("PATCH", `${root}/${plural}/y`, asYaml("y"), { "content-type": "application/merge-patch+json" }),
  text("DELETE", `${root}/${plural}/y`, "dryRun: [All]\n", { "content-type": "application/yaml" }),
  text("DELETE", `${root}/${plural}/y`, "propagationPolicy: Nope\n", { "content-type": "application/yaml" }),
  ...oddYaml.map((document) => text("POST", `${core}/configmaps`, document, { "content-type": "application/yaml" }))
]

const places = [
  "/api",
  "/apis",
  "/api/v1",
  "/apis/apps",
  "/apis/apps/v1",
  "/apis/nope",
  "/apis/fuzz.example.com",
  "/apis/fuzz.example.com/v1",
  "/version",
  "/healthz",
  "/readyz?verbose",
  "/nope",
  "/"
]

export const negotiation = [
  of("forms of a built-in kind", on(core, "configmaps", configMap, yaml("v1", "ConfigMap"))),
  of("forms of a custom kind", on(fuzz, "widgets", widget, yaml("fuzz.example.com/v1", "Widget"))),
  of("forms of documents", places.flatMap((path) => accepts.map((accept) => get(path, { accept }))))
]
