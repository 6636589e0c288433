/** label, annotate, patch, edit, replace, set, scale. */
import { differs, newer, quiet, same, script } from "../Script.ts"

const configMap =
  "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: cm, labels: { a: b } }\ndata: { x: '1', y: '2' }\n"

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: main, image: "nginx:1" }, { name: side, image: "side:1" }] }
`

const goValues = "values of errors are JSON since 1.31, were Go before"

export const changing = script("changing", {
  "cm.yaml": configMap,
  "other.yaml": configMap.replace("x: '1', y: '2'", "z: '3'"),
  "dep.yaml": deployment,
  "edit": "#!/bin/sh\nsed -i 's/x: \"1\"/x: edited/' \"$1\"\n",
  "patch.yaml": "data: { fromfile: 'yes' }\n"
}, [
  quiet("create -f cm.yaml"),
  "label cm cm c=d",
  "label cm cm c=e",
  "label cm cm c=e --overwrite",
  "label cm cm c=e",
  "label cm cm a- c-",
  "label cm cm none-",
  same("label cm --all all=1", {
    eventually: true,
    mask: [[/^configmap\/kube-root-ca\.crt (?:not )?labeled\n/gm, ""], [/ not labeled/, " labeled"]]
  }),
  "label cm cm 'bad key'=1",
  "label cm cm k='not valid!'",
  "label cm cm --list",
  "label cm cm v=1 --resource-version=1",
  "label cm nothing a=b",
  "annotate cm cm note='some text'",
  "annotate cm cm note=other",
  "annotate cm cm note=other --overwrite",
  "annotate cm cm note-",
  "patch cm cm -p '{\"data\":{\"x\":\"9\",\"y\":null}}'",
  "patch cm cm -p '{\"data\":{\"x\":\"9\"}}'",
  "patch cm cm --type=merge -p '{\"data\":{\"m\":\"1\"}}' -o yaml",
  "patch cm cm --type=json -p '[{\"op\":\"test\",\"path\":\"/data/m\",\"value\":\"1\"},{\"op\":\"move\",\"from\":\"/data/m\",\"path\":\"/data/n\"}]'",
  "patch cm cm --type=json -p '[{\"op\":\"test\",\"path\":\"/data/n\",\"value\":\"2\"}]'",
  "patch cm cm --type=json -p '[{\"op\":\"remove\",\"path\":\"/data/none\"}]'",
  "patch cm cm --patch-file=patch.yaml",
  "patch cm cm -p '{\"metadata\":{\"name\":\"other\"}}'",
  "patch cm cm -p '{\"data\":[]}'",
  "patch cm cm -p 'nonsense'",
  "patch cm none -p '{}'",
  "get cm cm -o jsonpath={.data}",
  "patch cm cm --type=merge -p '{\"data\":{\"x\":\"1\"}}'",
  "edit cm cm",
  "edit cm cm",
  "get cm cm -o jsonpath={.data.x}",
  "replace -f other.yaml",
  "get cm cm -o jsonpath={.data}{.metadata.labels}",
  "replace -f other.yaml --force --grace-period=0",
  "replace -f dep.yaml",
  quiet("create -f dep.yaml"),
  "set image deploy/web main=nginx:2",
  "set image deploy/web nobody=nginx:2",
  "set image deploy/web '*=all:1'",
  "set env deploy/web A=b C=d",
  "set env deploy/web A- --containers=main",
  "set env deploy/web --list",
  "set env deploy/web --from=configmap/cm --prefix=P_",
  "set resources deploy/web -c=main --limits=cpu=200m,memory=64Mi --requests=cpu=100m",
  differs("set resources deploy/web -c=main --limits=cpu=1 --requests=cpu=2", "wording of a later release", [
    "requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"
  ], ["requests: Invalid value: \"2\": must be less than or equal to cpu limit"]),
  "set serviceaccount deploy/web robot",
  "set selector svc/none a=b",
  "get deploy web -o 'jsonpath={.spec.template.spec}'",
  "scale deploy/web --replicas=0",
  "scale deploy web --replicas=3 --current-replicas=1",
  "scale deploy web --replicas=-1",
  "scale deploy none --replicas=1",
  "patch deploy web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"m:3\"}]}}}}'",
  "patch deploy web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"$patch\":\"delete\",\"name\":\"side\"}]}}}}'",
  differs("patch deploy web --type=merge -p '{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}}'", goValues, [
    "* spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
    "* spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"}}: field is immutable"
  ], ["* spec.selector: Invalid value: v1.LabelSelector{"]),
  "get deploy web -o 'jsonpath={.spec.template.spec.containers[*].image}'",
  "patch deploy web --subresource=scale --type=merge -p '{\"spec\":{\"replicas\":2}}'",
  newer("get deploy web --subresource=scale", "tables of subresources came later", /^web +2 +2 /m),
  newer("get deploy web --subresource=status", "tables of subresources came later", /^web +\d\/2 /m),
  same("create -f cm.yaml"),
  "delete deploy web --cascade=orphan"
])
