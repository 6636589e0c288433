/**
 * `RegisteringKinds`: kinds by which somebody asks to be called, signed or scaled: webhooks, signing requests, autoscalers.
 *
 * The webhooks match nothing: whatever a sequence registers, no other one notices.
 */
import type { Chance } from "./Chance.ts"
import type { Kind } from "./Kind.ts"
import type { Edit } from "./Step.ts"

/** A label that no object has. */
const nobody = { matchLabels: { "example.com/nobody": "{{id}}" } }

const rule = (chance: Chance): object => ({
  apiGroups: chance.pick([["none.example.com"], ["*"], ["", "apps"], ["*", "apps"], []]),
  apiVersions: chance.pick([["v1"], ["*"], ["v1", "*"], []]),
  operations: chance.pick([["CREATE"], ["CREATE", "UPDATE"], ["*"], ["*", "CREATE"], ["Other"], []]),
  resources: chance.pick([["none"], ["none/*"], ["*/*"], ["*", "none"], ["*/status", "none/status"], ["a/b/c"], []]),
  ...chance.maybe(0.4, () => ({ scope: chance.pick(["*", "Namespaced", "Cluster", "Other"]) }))
})

const clientConfig = (chance: Chance): object =>
  chance.pick<object>([
    { url: "https://127.0.0.1:1/hook" },
    {
      url: chance.pick(["http://a.example.com/", "https://u:p@a.example.com", "https://a.example.com/?q=1#f", "x", ""])
    },
    { service: { name: "s", namespace: "none" } },
    {
      service: {
        name: chance.pick(["s", ""]),
        namespace: chance.pick(["none", ""]),
        path: chance.pick(["/a", "a", "/a//b", "/A/-"]),
        ...chance.maybe(0.5, () => ({ port: chance.pick([443, 0, 70000]) }))
      }
    },
    { url: "https://127.0.0.1:1/", service: { name: "s", namespace: "none" } },
    {}
  ])

const webhook = (mutating: boolean) => (chance: Chance): object => ({
  name: chance.pick(["a.example.com", "b.example.com", "a.example.com", "short", "A.example.com"]),
  clientConfig: clientConfig(chance),
  sideEffects: chance.pick(["None", "None", "NoneOnDryRun", "Some", "Other"]),
  admissionReviewVersions: chance.pick([["v1"], ["v1", "v1beta1"], ["v9"], ["v9", "v1"], ["v1", "v1"], ["a b"], []]),
  objectSelector: nobody,
  failurePolicy: "Ignore",
  ...chance.maybe(0.8, () => ({ rules: chance.chance(0.8) ? [rule(chance)] : [rule(chance), rule(chance)] })),
  ...chance.maybe(0.2, () => ({
    namespaceSelector: {
      matchExpressions: [{ key: "a", operator: chance.pick(["In", "Exists", "Other"]), values: ["b"] }]
    }
  })),
  ...chance.maybe(0.3, () => ({ timeoutSeconds: chance.pick([1, 30, 0, 31]) })),
  ...chance.maybe(0.3, () => ({ matchPolicy: chance.pick(["Exact", "Equivalent", "Other"]) })),
  ...(mutating ? chance.maybe(0.3, () => ({ reinvocationPolicy: chance.pick(["Never", "IfNeeded", "Other"]) })) : {})
})

const webhooks = (mutating: boolean) => (chance: Chance): ReadonlyArray<object> =>
  chance.chance(0.8) ? [webhook(mutating)(chance)] : [webhook(mutating)(chance), webhook(mutating)(chance)]

const configuration = (kind: string, mutating: boolean): Kind => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: false,
  weight: 1,
  content: (chance) => chance.maybe(0.95, () => ({ webhooks: webhooks(mutating)(chance) })),
  edit: (chance) =>
    chance.pick<Edit>([
      { path: ["webhooks"], value: webhooks(mutating)(chance) },
      { path: ["webhooks", "0", "rules"], value: [rule(chance)] },
      { path: ["webhooks", "0", "clientConfig"], value: clientConfig(chance) },
      { path: ["webhooks", "0", "timeoutSeconds"], value: chance.pick([5, 0, 31]) },
      { path: ["webhooks", "0", "clientConfig", "caBundle"], value: chance.pick(["x", "LQ=="]) },
      { path: ["webhooks"] }
    ])
})

/** Made once, for `CN=someone`, and for a node in `O=system:nodes`. */
const signing = {
  someone:
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITU1IUUNBUUF3RWpFUU1BNEdBMVVFQXd3SGMyOXRaVzl1WlRCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OQpBd0VIQTBJQUJFVHlFMUhVcWdhczg0QnRiUHdVNnQvWTFNekExa0diMW4rWmtpNzl5TDVod1RNb1ZQbG5tMElWCmVQMmhHZEpHUWhnN0REY2cvMDYrdzJJcEFleU9ZL0dnQURBS0JnZ3Foa2pPUFFRREFnTklBREJGQWlFQXdTSUgKQ3VZNkJlSkZRM2RZcTAzSk4weHkwSll5bVA3VHk2bkIzTzZVMEo0Q0lHaG42b0t2bENSc3pHK3pSTkVEOFNMeApVa2trT3B4V2FRMGVuSmwyOUpSUwotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
  node:
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIck1JR1JBZ0VBTUM4eEZUQVRCZ05WQkFvTURITjVjM1JsYlRwdWIyUmxjekVXTUJRR0ExVUVBd3dOYzNsegpkR1Z0T201dlpHVTZiakJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCRzFtaUNQeW0rbU5aeGlVCnR1NjZNOEoySzh5Nm55bUZEaUU4MnArVUs3Uk83Y2pCZ3JoOWZJSXEyUHk1T3BDc2hLK2ZMeFhhdUZpa2Z6RUsKdTdQL2dSMmdBREFLQmdncWhrak9QUVFEQWdOSkFEQkdBaUVBNjJNUXNDM2JEMUVQK2RpNnBHRzBCQ29DNXh2eApkK0NKTlNuRXdyTlhUUWdDSVFEYWlXRldDVnIwS1BSdTRCZW9zTm16RjIwOEFzZ1RqalFzNjZGcWFrT0dHdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
} as const

const usages = ["digital signature", "key encipherment", "client auth", "server auth"]

export const signingRequest = (chance: Chance): Readonly<Record<string, unknown>> => ({
  request: chance.pick([
    signing.someone,
    signing.someone,
    signing.node,
    "eA==",
    "x",
    "",
    signing.someone.slice(0, 200)
  ]),
  signerName: chance.pick([
    "example.com/signer",
    "example.com/signer",
    "kubernetes.io/kube-apiserver-client",
    "kubernetes.io/kube-apiserver-client-kubelet",
    "kubernetes.io/legacy-unknown",
    "signer",
    "a/b/c",
    "A.com/x",
    ""
  ]),
  ...chance.maybe(0.95, () => ({
    usages: chance.pick([usages.slice(0, 3), ["client auth"], ["other"], ["client auth", "client auth"], []])
  })),
  ...chance.maybe(0.2, () => ({ username: "somebody", groups: ["x"], uid: "5" }))
})

const autoscaler = (chance: Chance): Readonly<Record<string, unknown>> => ({
  maxReplicas: chance.pick([5, 10, 1, 0, -1]),
  ...chance.maybe(0.6, () => ({ minReplicas: chance.pick([1, 2, 0, 20]) })),
  ...chance.maybe(0.6, () => ({ targetCPUUtilizationPercentage: chance.pick([50, 80, 0, -1]) })),
  scaleTargetRef: {
    // Since 1.27 a version without a group is refused.
    apiVersion: "apps/v1",
    kind: chance.pick(["Deployment", "Deployment", "", "a/b"]),
    name: chance.pick(["a", "b", "", "a/b"])
  }
})

export const registeringKinds: ReadonlyArray<Kind> = [
  configuration("ValidatingWebhookConfiguration", false),
  configuration("MutatingWebhookConfiguration", true),
  {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    namespaced: false,
    weight: 1,
    content: (chance) => ({ spec: signingRequest(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "usages"], value: ["server auth"] },
        { path: ["spec", "signerName"], value: "example.com/other" },
        { path: ["status", "certificate"], value: "eA==" },
        { path: ["spec"], value: signingRequest(chance) }
      ]),
    fields: ["spec.signerName"]
  },
  {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    namespaced: true,
    weight: 2,
    content: (chance) => ({ spec: autoscaler(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec"], value: autoscaler(chance) },
        { path: ["spec", "maxReplicas"], value: chance.pick([3, 0]) },
        { path: ["spec", "minReplicas"], value: chance.pick([2, 0]) },
        { path: ["spec", "targetCPUUtilizationPercentage"] }
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status", "currentReplicas"], value: chance.pick([1, 0, -1]) },
        { path: ["status", "desiredReplicas"], value: chance.pick([2, -1]) },
        { path: ["status", "observedGeneration"], value: chance.int(4) }
      ])
  }
]
