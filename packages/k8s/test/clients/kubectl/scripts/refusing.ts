/** What is refused, and in which words. */
import { differs, same, script } from "../Script.ts"

const validation = "an older server lets kubectl validate; a newer one validates itself"

const pod = (spec: string, meta = "name: p") => `apiVersion: v1\nkind: Pod\nmetadata: { ${meta} }\nspec: ${spec}\n`

export const refusing = script("refusing", {
  "yaml.yaml": "a: b: c\n",
  "json.json": "{\"apiVersion\": \"v1\",\n",
  "nokind.yaml": "apiVersion: v1\nmetadata: { name: a }\n",
  "noversion.yaml": "kind: ConfigMap\nmetadata: { name: a }\n",
  "unknownkind.yaml": "apiVersion: v1\nkind: Nothing\nmetadata: { name: a }\n",
  "unknowngroup.yaml": "apiVersion: nothing.example.com/v1\nkind: Nothing\nmetadata: { name: a }\n",
  "unknownfield.yaml": pod("{ containers: [{ name: a, image: b, imag: c }], unknown: 1 }"),
  "wrongtype.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { a: 1 }\n",
  "badname.yaml": pod("{ containers: [{ name: a, image: b }] }", "name: Not_Valid"),
  "nocontainers.yaml": pod("{ containers: [] }"),
  "badcontainer.yaml": pod("{ containers: [{ name: BAD, image: '' }, { name: BAD, image: x, imagePullPolicy: Now }] }"),
  "badport.yaml":
    "apiVersion: v1\nkind: Service\nmetadata: { name: s }\nspec: { ports: [{ port: 70000 }, { port: 80, protocol: X }] }\n",
  "badselector.yaml":
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: d }\nspec: { selector: { matchLabels: { a: b } }, template: { metadata: { labels: { a: c } }, spec: { containers: [{ name: a, image: b }] } } }\n",
  "othernamespace.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, namespace: other }\n",
  "nonamespace.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, namespace: missing }\n",
  "noname.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { labels: { a: b } }\n",
  "generate.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { generateName: gen- }\n",
  "list.yaml":
    "apiVersion: v1\nkind: List\nitems:\n- { apiVersion: v1, kind: ConfigMap, metadata: { name: l1 } }\n- { apiVersion: v1, kind: ConfigMap, metadata: { name: L2 } }\n- { apiVersion: v1, kind: ConfigMap, metadata: { name: l3 } }\n",
  "empty.yaml": "",
  "badlabel.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, labels: { 'a b': 'c d' }, annotations: { 'x y': z } }\n",
  "badkey.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { 'a/b': c }\nbinaryData: { 'a/b': AAAA }\n",
  "badrole.yaml":
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: r }\nrules: [{ apiGroups: [''], resources: [pods] }, { nonResourceURLs: [/x], verbs: [get] }]\n",
  "badcrd.yaml":
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: { name: a.b }\nspec: { group: g.example.com, scope: Wide, names: { plural: as, kind: A }, versions: [{ name: v1, served: true, storage: true }] }\n"
}, [
  "create -f yaml.yaml",
  "create -f json.json",
  "create -f nokind.yaml",
  "create -f noversion.yaml",
  "create -f unknownkind.yaml",
  "create -f unknowngroup.yaml",
  "create -f empty.yaml",
  differs("create -f unknownfield.yaml", validation, [
    /strict decoding error: unknown field "spec\.containers\[0\]\.imag", unknown field "spec\.unknown"/
  ], [
    /ValidationError\(Pod\.spec\): unknown field "unknown"/
  ]),
  differs("create -f unknownfield.yaml --validate=warn --dry-run=server", validation, [
    /Warning: unknown field "spec\.unknown"/,
    "created (server dry run)"
  ], [
    "created (server dry run)"
  ]),
  same("create -f unknownfield.yaml --validate=ignore"),
  differs(
    "create -f wrongtype.yaml",
    "the decoder changed with 1.23",
    [/json: cannot unmarshal number into Go struct field ConfigMap\.data of type string/],
    [/ReadString: expects " or n, but found 1/]
  ),
  "create -f badname.yaml",
  same("create -f nocontainers.yaml --validate=false"),
  same("create -f badcontainer.yaml", { unordered: true }),
  "create -f badport.yaml",
  differs("create -f badselector.yaml", "values of errors are JSON since 1.31, were Go before", [
    /spec\.template\.metadata\.labels: Invalid value: \{"a":"c"\}: `selector` does not match template `labels`/
  ], [/Invalid value: map\[string\]string\{"a":"c"\}: `selector`/]),
  "create -f othernamespace.yaml -n refusing",
  "create -f nonamespace.yaml",
  "create -f noname.yaml",
  "apply -f generate.yaml",
  same("create -f generate.yaml", { mask: [[/gen-\w{5}/g, "gen-X"]] }),
  "create -f list.yaml",
  "get cm l1 l3",
  "create -f badlabel.yaml",
  "create -f badkey.yaml",
  differs("create -f badrole.yaml", validation, [
    "* rules[0].verbs: Required value: verbs must contain at least one value",
    "* rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs"
  ], [/missing required field "verbs"/]),
  differs("create -f badcrd.yaml", "wording of a later release", [/spec\.scope: Unsupported value: "Wide"/], [
    /spec\.scope: Unsupported value: "Wide"/
  ]),
  "create cm 'UPPER_case'",
  "create cm a/b",
  "get cm -l 'a in b'",
  "get cm --field-selector data.a=b",
  "get cm 'a b'",
  "get cm a b/c",
  "create -f missing.yaml",
  "create",
  "create cm",
  "replace -f noname.yaml",
  "delete cm nothing1 l1 nothing2",
  "create token nothing"
])
