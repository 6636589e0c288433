/** What is served, who asks, and what cannot be done. */
import { differs, newer, same, script } from "../Script.ts"

const versions = "the releases serve different groups and kinds"

export const discovering = script("discovering", {
  "pod.yaml":
    "apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec: { containers: [{ name: main, image: nginx }] }\n",
  "csr.yaml": `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: { name: discovering-csr }
spec:
  request: ${
    Buffer.from("-----BEGIN CERTIFICATE REQUEST-----\nnone\n-----END CERTIFICATE REQUEST-----\n").toString("base64")
  }
  signerName: example.com/signer
  usages: [client auth]
`
}, [
  differs("api-versions", versions, [/^apps\/v1$/m, /^batch\/v1$/m, /^policy\/v1$/m, /^v1$/m], [/^apps\/v1$/m]),
  same("api-resources --api-group=apps"),
  same("api-resources --api-group=apps -o wide"),
  same("api-resources --api-group=rbac.authorization.k8s.io -o name"),
  same("api-resources --api-group=apps --verbs=deletecollection,watch"),
  same("api-resources --api-group= --namespaced=false"),
  same("api-resources --api-group= --namespaced=true --sort-by=name"),
  same("api-resources --api-group=nothing"),
  same("api-resources --categories=all --api-group=apps"),
  differs("version", versions, [/Server Version: v1\.35/], [/Server Version: v1\.20/]),
  "cluster-info",
  "config current-context",
  "config view",
  "config get-contexts",
  "auth can-i create pods",
  "auth can-i create pods --as=nobody",
  "auth can-i '*' '*'",
  "auth can-i get /healthz --as=nobody",
  "auth can-i list deployments.apps --subresource=status",
  "get --raw /healthz",
  "get --raw /livez",
  "get --raw /readyz",
  "get --raw /nothing",
  "get --raw /api/v1/nothing",
  "get --raw /apis/nothing/v1",
  same("get --raw /api", { mask: [[/"serverAddress":"[^"]*"/, ""]] }),
  "get nothing",
  "get nothing.v1.example.com",
  "get pods.v9.apps",
  "get pods/log",
  "top pods",
  "top nodes",
  "events",
  "events --for=pod/none",
  "get events",
  "create -f pod.yaml",
  "logs nothing",
  "exec nothing -- date",
  "logs p",
  "exec p -- date",
  "attach p",
  "port-forward p 8080:80",
  "cp p:/x y",
  "certificate approve nothing",
  newer(
    "auth whoami",
    "SelfSubjectReview came with 1.27",
    /Username +kubernetes-admin/,
    /Groups +\[system:masters system:authenticated\]/
  ),
  "explain nothing",
  differs("explain pods.nothing", "kubectl reads OpenAPI v3 where it is served", [
    "error: field \"nothing\" does not exist"
  ], ["error: field \"nothing\" does not exist"]),
  newer(
    "explain deployment.spec.replicas",
    "the in-memory server has no descriptions of built-in fields",
    "FIELD: replicas <integer>"
  ),
  newer(
    "explain deployment.spec.template.spec.containers",
    "as above",
    "FIELD: containers <[]Container>",
    /^ +image\t<string>$/m
  ),
  "drain nothing",
  "auth can-i create pods --as=nobody --as-group=system:masters",
  "get pods --as=nobody",
  "create cm x --as=nobody",
  "get nodes --as=nobody",
  "delete pod p --as=nobody",
  "rollout status deploy/nothing"
])
