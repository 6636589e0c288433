import {
  Action,
  Cluster,
  Controller,
  CustomResource,
  KubeClient,
  type KubeObject,
  Resource,
  Watch
} from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Yaml from "yaml"
import * as ApiService from "../src/ApiService.ts"
import { ConfigMap, Deployment, Namespace, Secret } from "../src/kinds/index.ts"
import * as Environment from "../src/Environment.ts"
import * as Manifests from "../src/Manifests.ts"
import * as Permissions from "../src/manifests/Permissions.ts"
import { ApiServer } from "../src/testing/index.ts"
import * as Webhook from "../src/Webhook.ts"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

const options = (finalize: boolean): Manifests.Options => ({
  name: "widgets",
  namespace: "widgets-system",
  image: "example.com/widgets:1",
  resources: [Widget],
  controllers: [
    Controller.make("widgets", {
      for: Widget,
      owns: [Deployment],
      watches: [Watch.cached(Secret)],
      reconcile: () => Effect.as(KubeClient.KubeClient, Action.done),
      ...(finalize ? { finalize: () => Effect.succeed(Action.done) } : {})
    })
  ],
  writes: [{ resource: Deployment, verbs: ["create", "patch"] }, { resource: ConfigMap, verbs: ["create"] }]
})

const granted = (rules: ReadonlyArray<Manifests.Rule> = []) =>
  Object.fromEntries(
    rules.map(({ apiGroups, resourceNames, resources, verbs }) => [
      `${resources[0]}.${apiGroups[0]}${resourceNames === undefined ? "" : ` ${resourceNames.join()}`}`,
      verbs.join()
    ])
  )

it("what is watched and written in another cluster is for its administrators to allow", () => {
  const elsewhere = Cluster.on(Secret, Cluster.make("east"))
  const { controllers, writes, ...rest } = options(false)
  const apart = {
    ...rest,
    controllers: [
      ...controllers,
      Controller.make("mirror", {
        for: Cluster.on(Widget, Cluster.make("east")),
        watches: [Watch.cached(elsewhere)],
        reconcile: () => Effect.succeed(Action.done)
      })
    ],
    writes: [...writes, { resource: elsewhere, verbs: ["create", "delete"] }]
  } satisfies Manifests.Options
  assert.deepStrictEqual(Manifests.rules(apart), Manifests.rules(options(false)))
})

it("permissions are what is watched, what is written, and what the framework writes: no more", () => {
  const { "": cluster, ...namespaces } = Manifests.rules(options(false))
  assert.deepStrictEqual(granted(cluster), {
    "configmaps.": "create",
    "secrets.": "get,list,watch",
    "deployments.apps": "create,get,list,patch,watch",
    "events.events.k8s.io": "create,patch",
    "widgets.example.com": "get,list,watch",
    "widgets/finalizers.example.com": "update",
    "widgets/status.example.com": "patch"
  })
  assert.deepStrictEqual(Object.keys(namespaces), ["widgets-system"])
  assert.deepStrictEqual(granted(namespaces["widgets-system"]), {
    "leases.coordination.k8s.io": "create",
    "leases.coordination.k8s.io widgets": "get,list,update,watch"
  })
  assert.deepStrictEqual(Object.keys(Manifests.rules({ ...options(false), leaderElection: false })), [""])
})

it("with a lease per controller each of them is granted by its name, and the operator is told", () => {
  const others = Controller.make("others", { for: Widget, reconcile: () => Effect.succeed(Action.done) })
  const per: Manifests.Options = {
    ...options(false),
    controllers: [...options(false).controllers, others],
    leaderElection: { per: "controller" }
  }
  assert.deepStrictEqual(granted(Manifests.rules(per)["widgets-system"]), {
    "leases.coordination.k8s.io": "create",
    "leases.coordination.k8s.io widgets-widgets,widgets-others": "get,list,update,watch"
  })
  const env = (options: Manifests.Options) => {
    const [{ spec }] = Manifests.deployment(options) as unknown as [{ spec: any }]
    return spec.template.spec.containers[0].env
  }
  assert.includeDeepMembers(env(per), [
    { name: "EFFECT_OPERATOR_LEASE_NAME", value: "widgets" },
    { name: "EFFECT_OPERATOR_LEASE_PER", value: "controller" }
  ])
  const perManager: Manifests.Options = { ...per, leaderElection: { per: "manager" } }
  assert.deepStrictEqual(env(perManager), env({ ...per, leaderElection: true }))
  assert.deepStrictEqual(Manifests.rules(perManager), Manifests.rules({ ...per, leaderElection: true }))
  const nobody = Manifests.rules({ ...per, controllers: [], writes: [] })
  assert.deepStrictEqual(nobody, {}, "no lease, and not all of them")
})

it("replicas that share the objects have a lease each, whose names nobody knows before", () => {
  const shared: Manifests.Options = { ...options(false), leaderElection: { per: "object" }, replicas: 3 }
  assert.deepStrictEqual(granted(Manifests.rules(shared)["widgets-system"]), {
    "leases.coordination.k8s.io": "create,delete,get,list,update,watch"
  })
  const [{ spec }] = Manifests.deployment(shared) as unknown as [{ spec: any }]
  const { env } = spec.template.spec.containers[0]
  assert.deepInclude(env, { name: "EFFECT_OPERATOR_LEASE_PER", value: "object" })
  assert.deepInclude(env, {
    name: "EFFECT_OPERATOR_IDENTITY",
    valueFrom: { fieldRef: { fieldPath: "metadata.name" } }
  })
  assert.strictEqual(spec.strategy.type, "RollingUpdate")
})

it("shards of a ring come with it, and with the rights of who assigns the objects", () => {
  const sharded: Manifests.Options = { ...options(false), leaderElection: { per: "ring" }, replicas: 3 }
  const { "": cluster, ...namespaces } = Manifests.rules(sharded)
  assert.deepStrictEqual(granted(namespaces["widgets-system"]), {
    "leases.coordination.k8s.io": "create,get,list,update,watch"
  })
  assert.strictEqual(granted(cluster)["widgets.example.com"], "get,list,patch,watch")
  const [ring, role, binding] = Manifests.files(sharded)["ring.yaml"] as ReadonlyArray<any>
  assert.deepInclude(ring, {
    apiVersion: "sharding.timebertt.dev/v1alpha1",
    kind: "ControllerRing",
    spec: { resources: [{ group: "example.com", resource: "widgets" }] }
  })
  assert.strictEqual(ring.metadata.name, "widgets")
  assert.deepStrictEqual(role.rules, [
    { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["list", "patch"] }
  ])
  assert.strictEqual(binding.roleRef.name, role.metadata.name)
  assert.deepStrictEqual(binding.subjects, [
    { kind: "ServiceAccount", name: "sharder", namespace: "sharding-system" }
  ])
  assert.notProperty(Manifests.files(options(false)), "ring.yaml")
})

it("a lease that only the environment speaks of is refused: the permissions would not know of it", () => {
  const env = { EFFECT_OPERATOR_LEASE_PER: "controller" }
  assert.throws(
    () => Manifests.stream({ ...options(false), env }),
    "Manifests: env: EFFECT_OPERATOR_LEASE_PER: \"controller\": the permissions are derived from `leaderElection`: " +
      "set `leaderElection: { per: \"controller\" }`, and remove the variable"
  )
})

it("a variable that contradicts what the permissions are derived from is refused, and one that agrees is not", () => {
  const stream = (env: Record<string, string>, more: Partial<Manifests.Options> = {}) =>
    Manifests.stream({ ...options(false), ...more, env })
  for (
    const [name, value, remedy, more] of [
      ["EFFECT_OPERATOR_LEADER_ELECTION", "false", "leaderElection: false", { leaderElection: false }],
      ["EFFECT_OPERATOR_LEASE_NAME", "other", "name: \"other\"", { name: "other" }],
      ["EFFECT_OPERATOR_LEASE_NAMESPACE", "other", "namespace: \"other\"", { namespace: "other" }],
      ["EFFECT_OPERATOR_METRICS_AUTHENTICATION", "true", "authentication: true", { authentication: true }]
    ] as const
  ) {
    assert.throws(() => stream({ [name]: value }), `set \`${remedy}\`, and remove the variable`)
    assert.doesNotThrow(() => stream({ [name]: value }, more))
  }
})

it("ports and grace period are those of the variables that the pod gets", () => {
  const hooks = [Webhook.validating(Widget, { validate: () => Effect.void })]
  const of = (env: Record<string, string>) => {
    const all = Manifests.stream({ ...options(false), webhooks: hooks, drain: "1 minute", env })
    const [deployment] = all.filter(({ kind }) => kind === "Deployment") as [any]
    const [container] = deployment.spec.template.spec.containers
    const names = container.env.map(({ name }: { readonly name: string }) => name)
    assert.deepStrictEqual(names, [...new Set(names)], "each once")
    return {
      grace: deployment.spec.template.spec.terminationGracePeriodSeconds,
      ports: Object.fromEntries(container.ports.map(({ containerPort, name }: any) => [name, containerPort])),
      services: all.filter(({ kind }) => kind === "Service").map(({ metadata: { name } }) => name)
    }
  }
  assert.deepStrictEqual(of({ EFFECT_OPERATOR_DRAIN: "5m", EFFECT_OPERATOR_LINGER: "20 seconds" }).grace, 330)
  assert.deepStrictEqual(
    of({
      EFFECT_OPERATOR_METRICS_ADDRESS: "0",
      EFFECT_OPERATOR_PROBES_ADDRESS: ":9081",
      EFFECT_OPERATOR_WEBHOOKS_ADDRESS: "[::]:9444"
    }),
    { grace: 75, ports: { probes: 9081, webhooks: 9444 }, services: ["widgets-webhook"] }
  )
  assert.deepStrictEqual(of({ EFFECT_OPERATOR_METRICS_ADDRESS: ":9080" }), {
    grace: 75,
    ports: { metrics: 9080, probes: 8081, webhooks: 9443 },
    services: ["widgets-metrics", "widgets-webhook"]
  })
  assert.throws(() => of({ EFFECT_OPERATOR_PROBES_ADDRESS: "0" }), "it is called by the cluster: give it an address")
  assert.throws(() => of({ EFFECT_OPERATOR_DRAIN: "long" }), "EFFECT_OPERATOR_DRAIN: \"long\": must be a duration")
})

it("a controller that finalizes may patch its kind, for the finalizer", () => {
  assert.strictEqual(granted(Manifests.rules(options(true))[""])["widgets.example.com"], "get,list,patch,watch")
})

it("what is watched in certain namespaces is a Role in each, and a wider rule is not repeated there", () => {
  const controller = Controller.make("widgets", {
    for: Widget,
    namespaces: ["a", "b"],
    watches: [Watch.cached(Secret, { namespaces: ["a"] })],
    reconcile: () => Effect.succeed(Action.done)
  })
  const rules = Manifests.rules({
    ...options(false),
    controllers: [controller],
    writes: [
      { resource: Secret, verbs: ["get"] },
      { resource: Deployment, subresource: "scale", verbs: ["patch"], namespaces: ["b"], names: ["web"] }
    ]
  })
  assert.deepStrictEqual(Object.keys(rules), ["", "a", "b", "widgets-system"])
  assert.deepStrictEqual(granted(rules[""]), { "secrets.": "get" })
  assert.strictEqual(granted(rules["a"])["secrets."], "list,watch")
  assert.deepStrictEqual(granted(rules["b"]), {
    "deployments/scale.apps web": "patch",
    "events.events.k8s.io": "create,patch",
    "widgets.example.com": "get,list,watch",
    "widgets/finalizers.example.com": "update",
    "widgets/status.example.com": "patch"
  })
})

it("the status of Kubernetes' own kinds is left to Kubernetes, unless it is named among what is written", () => {
  const controller = Controller.make("tenants", {
    for: Namespace,
    reconcile: () => Effect.succeed(Action.done)
  })
  const statusOf = (writes: Manifests.Options["writes"]) =>
    granted(Manifests.rules({ ...options(false), controllers: [controller], writes })[""])["namespaces/status."]
  assert.isUndefined(statusOf([]))
  assert.strictEqual(statusOf([{ resource: Namespace, subresource: "status", verbs: ["patch"] }]), "patch")
})

it("a permission is left out only where another one allows all of it", () => {
  const permission = (more: Partial<Permissions.Permission>): Permissions.Permission => ({
    namespace: "",
    group: "",
    resource: "secrets",
    verb: "get",
    names: undefined,
    origin: "declared",
    ...more
  })
  const told = (...permissions: ReadonlyArray<Partial<Permissions.Permission>>) =>
    Object.entries(Permissions.rules(permissions.map(permission))).flatMap(([namespace, rules]) =>
      rules.map(({ resourceNames, verbs }) => `${namespace}:${resourceNames?.join() ?? "*"}:${verbs.join()}`)
    )
  assert.deepStrictEqual(told({ names: ["a"] }, { names: ["a", "b"] }), [":a,b:get"])
  assert.deepStrictEqual(told({ names: ["a"] }, { names: ["b", "a"], namespace: "x" }), [":a:get", "x:b,a:get"])
  assert.deepStrictEqual(told({ names: ["a"], namespace: "x" }, { names: ["a", "b"] }), [":a,b:get"])
  assert.deepStrictEqual(told({ names: ["a"] }, {}), [":*:get"])
  assert.deepStrictEqual(told({}, {}, { names: ["a"], verb: "list" }), [":a:list", ":*:get"])
  assert.deepStrictEqual(told({ namespace: "x" }, { namespace: "y" }), ["x:*:get", "y:*:get"])
  assert.deepStrictEqual(told({ namespace: "x", group: "apps" }, {}), [":*:get", "x:*:get"])
  assert.deepStrictEqual(told({ namespace: "x", resource: "pods" }, {}), [":*:get", "x:*:get"])
})

it("a kind that only sounds like one of Kubernetes has its status written by its own controller", () => {
  const Gateway = Resource.make<KubeObject.KubeObject>()({
    group: "gateway.networking.k8s.io",
    version: "v1",
    kind: "Gateway",
    plural: "gateways",
    scope: "Namespaced",
    subresources: ["status"]
  })
  const controller = Controller.make("gateways", { for: Gateway, reconcile: () => Effect.succeed(Action.done) })
  const rules = granted(Manifests.rules({ ...options(false), controllers: [controller], writes: [] })[""])
  assert.strictEqual(rules["gateways/status.gateway.networking.k8s.io"], "patch")
})

it("the kinds of a cache may be read, where it reads them", () => {
  const cached = [Namespace, Watch.cached(ConfigMap, { namespaces: ["a"] })]
  const rules = Manifests.rules({ ...options(false), cached })
  assert.strictEqual(granted(rules[""])["namespaces."], "get,list,watch")
  assert.deepStrictEqual(granted(rules["a"]), { "configmaps.": "get,list,watch" })
})

const hooks = [
  Webhook.validating(Widget, { validate: () => Effect.void, status: true, failurePolicy: "Ignore" }),
  Webhook.mutating(Widget, { mutate: ({ object }) => Effect.succeed(object) }),
  Webhook.conversion(Widget, { convert: (object) => Effect.succeed(object) })
]

const gadgets = ApiService.make({
  group: "example.com",
  version: "v2",
  kinds: [
    ApiService.derived(
      CustomResource.make({ group: "example.com", version: "v2", kind: "Gadget", spec: Schema.Struct({}) }),
      { from: Secret, make: ({ metadata: { name, namespace } }) => ({ metadata: { name, namespace }, spec: {} }) }
    )
  ]
})

it("replicas that would reconcile against each other are refused; those that only serve are not", () => {
  const two = { ...options(false), leaderElection: false, replicas: 2 }
  assert.throws(
    () => Manifests.stream(two),
    "Manifests: replicas: 2: without leaderElection every replica reconciles, in conflict with the others: " +
      "remove `leaderElection: false`, or use one replica"
  )
  for (const fine of [{ ...two, leaderElection: true }, { ...two, replicas: 1 }, { ...two, controllers: [] }]) {
    assert.isNotEmpty(Manifests.stream(fine))
  }
})

it("an API of its own brings its registration, the Service, and the right to know whom to believe", () => {
  const all: Manifests.Options = {
    name: "gadgets",
    namespace: "gadgets-system",
    image: "example.com/gadgets:1",
    resources: [],
    controllers: [],
    writes: [],
    leaderElection: false,
    apiService: gadgets
  }
  const rules = Manifests.rules(all)
  assert.deepStrictEqual(granted(rules[""]), {
    "secrets.": "get,list,watch",
    "apiservices.apiregistration.k8s.io v2.example.com": "list,patch,watch",
    "subjectaccessreviews.authorization.k8s.io": "create"
  })
  assert.deepStrictEqual(granted(rules["gadgets-system"]), {
    "secrets.": "create",
    "secrets. gadgets-api-tls": "update"
  })
  const files = Manifests.files(all) as Readonly<Record<string, ReadonlyArray<any>>>
  assert.notProperty(files, "crd.yaml")
  assert.deepStrictEqual(files["apiservice.yaml"]![0].spec, {
    group: "example.com",
    version: "v2",
    groupPriorityMinimum: 1000,
    versionPriority: 15,
    service: { ...Manifests.apiServiceService(all), port: 443 }
  })
  const service = files["service.yaml"]!.find(({ metadata: { name } }) => name === "gadgets-api")
  const [deployment] = files["deployment.yaml"]!
  const port = deployment.spec.template.spec.containers[0].ports.find(({ name }: any) => name === "api")
  assert.deepStrictEqual([service.spec.ports[0].targetPort, port.containerPort], ["api", 8443])
  const binding = files["rbac.yaml"]!.find(({ metadata: { namespace } }) => namespace === "kube-system")
  assert.strictEqual(binding.roleRef.name, "extension-apiserver-authentication-reader")
})

it("what the operator listens on is a port of its container, has a Service, and is let through, and nothing else is", () => {
  const apiService = gadgets
  const cases: ReadonlyArray<readonly [Partial<Manifests.Options>, ReadonlyArray<string>]> = [
    [{}, ["metrics 8080"]],
    [{ webhooks: hooks }, ["metrics 8080", "webhooks 443"]],
    [{ apiService }, ["metrics 8080", "api 443"]],
    [{ webhooks: hooks, apiService }, ["metrics 8080", "webhooks 443", "api 443"]]
  ]
  const numbers: Readonly<Record<string, number>> = { metrics: 8080, probes: 8081, webhooks: 9443, api: 8443 }
  for (const [more, expected] of cases) {
    const files = Manifests.files({ ...options(false), ...more }) as Readonly<Record<string, ReadonlyArray<any>>>
    const served = files["service.yaml"]!.flatMap(({ spec }) => spec.ports)
    assert.deepStrictEqual(served.map(({ port, targetPort }) => `${targetPort} ${port}`), expected)
    const names = served.map(({ targetPort }) => targetPort)
    assert.deepStrictEqual(served.map(({ name }) => name), names)
    const { containers: [container] } = files["deployment.yaml"]![0].spec.template.spec
    assert.deepStrictEqual(
      Object.fromEntries(container.ports.map(({ containerPort, name }: any) => [name, containerPort])),
      Object.fromEntries(["metrics", "probes", ...names.slice(1)].map((name) => [name, numbers[name]]))
    )
    const { ingress } = files["network-policy.yaml"]![0].spec
    assert.deepStrictEqual(ingress.flatMap(({ ports }: any) => ports.map(({ port }: any) => port)), names)
  }
})

it("the operator is told what it is to do by its environment", () => {
  const told = (more: Partial<Manifests.Options>) => {
    const files = Manifests.files({ ...options(false), ...more }) as Readonly<Record<string, ReadonlyArray<any>>>
    const { replicas, template } = files["deployment.yaml"]![0].spec
    const env = Object.fromEntries(template.spec.containers[0].env.map(({ name, value }: any) => [name, value]))
    return { replicas, env }
  }
  const plain = told({})
  assert.strictEqual(plain.replicas, 1)
  assert.notProperty(plain.env, "EFFECT_OPERATOR_METRICS_AUTHENTICATION")
  assert.notProperty(plain.env, "EFFECT_OPERATOR_LEASE_PER")
  const env = { EFFECT_OPERATOR_WORKERS: "4" }
  const more = told({ authentication: true, env, replicas: 3, leaderElection: { per: "controller" } })
  assert.deepInclude(more.env, {
    EFFECT_OPERATOR_METRICS_AUTHENTICATION: "true",
    EFFECT_OPERATOR_WORKERS: "4",
    EFFECT_OPERATOR_LEASE_PER: "controller"
  })
  assert.strictEqual(more.replicas, 3)
})

it("webhooks bring their configurations, the Service, and permissions on exactly these objects", () => {
  const all = { ...options(false), webhooks: hooks }
  const rules = Manifests.rules(all)
  assert.deepInclude(granted(rules[""]), {
    "customresourcedefinitions.apiextensions.k8s.io widgets.example.com": "list,patch,watch",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io widgets": "list,patch,watch",
    "validatingwebhookconfigurations.admissionregistration.k8s.io widgets": "list,patch,watch"
  })
  assert.deepInclude(granted(rules["widgets-system"]), {
    "secrets.": "create",
    // Reading is allowed by the watch of all Secrets.
    "secrets. widgets-webhook-tls": "update"
  })
  const files = Manifests.files(all)
  const [mutating, validating] = files["webhooks.yaml"] as ReadonlyArray<any>
  assert.strictEqual(mutating.kind, "MutatingWebhookConfiguration")
  assert.deepStrictEqual(validating.webhooks, [{
    name: "validate.widget.example.com",
    clientConfig: {
      service: { namespace: "widgets-system", name: "widgets-webhook", path: "/validate-example-com-v1-widget" }
    },
    rules: [{
      apiGroups: ["example.com"],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["widgets", "widgets/status"],
      scope: "Namespaced"
    }],
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    timeoutSeconds: 10
  }])
  const [definition] = files["crd.yaml"] as ReadonlyArray<any>
  assert.deepStrictEqual(definition.spec.conversion.webhook.clientConfig.service, {
    namespace: "widgets-system",
    name: "widgets-webhook",
    path: "/convert-example-com-widget"
  })
  // Pods that start, hang or end are not to be called.
  assert.notInclude(JSON.stringify(files["service.yaml"]), "publishNotReadyAddresses")
  const probe = (options: Manifests.Options) => {
    const [{ spec }] = Manifests.deployment(options) as unknown as [{ spec: any }]
    return spec.template.spec.containers[0].readinessProbe.httpGet.path
  }
  assert.deepStrictEqual(
    [all, { ...options(false), apiService: gadgets }, options(false)].map(probe),
    ["/readyz/serving", "/readyz/serving", "/readyz"]
  )
  assert.deepStrictEqual(
    files["service.yaml"]!.map((service: any) => [service.metadata.name, service.spec.ports[0].port]),
    [
      ["widgets-metrics", 8080],
      ["widgets-webhook", 443]
    ]
  )
})

it("a pod has longer to end than its operator to drain, and elects a leader unless told otherwise", () => {
  const pod = (more: Partial<Manifests.Options>) => {
    const [{ spec }] = Manifests.deployment({ ...options(false), ...more }) as unknown as [{ spec: any }]
    return { strategy: spec.strategy.type, ...spec.template.spec, env: spec.template.spec.containers[0].env }
  }
  assert.strictEqual(pod({}).terminationGracePeriodSeconds, 35)
  assert.strictEqual(pod({ drain: "2 minutes" }).terminationGracePeriodSeconds, 130)
  assert.deepInclude(pod({ drain: "2 minutes" }).env, { name: "EFFECT_OPERATOR_DRAIN", value: "120000 millis" })
  assert.notInclude(JSON.stringify(pod({ linger: "1 minute" })), "LINGER", "nobody calls it")
  const hooked = pod({ webhooks: hooks })
  assert.strictEqual(hooked.terminationGracePeriodSeconds, 40, "and to linger, where it is called")
  assert.notInclude(JSON.stringify(hooked.env), "LINGER")
  const longer = pod({ apiService: gadgets, linger: "1500 millis" })
  assert.strictEqual(longer.terminationGracePeriodSeconds, 37)
  assert.deepInclude(longer.env, { name: "EFFECT_OPERATOR_LINGER", value: "1500 millis" })
  assert.strictEqual(pod({}).strategy, "RollingUpdate")
  assert.deepInclude(pod({}).env, { name: "EFFECT_OPERATOR_LEASE_NAME", value: "widgets" })
  const alone = pod({ leaderElection: false })
  assert.strictEqual(alone.strategy, "Recreate")
  assert.notInclude(JSON.stringify(alone.env), "LEASE")
})

it("every environment variable that is set is one that the operator reads", () => {
  const [{ spec }] = Manifests.deployment({
    ...options(false),
    drain: "1 minute",
    linger: "1 second",
    webhooks: hooks,
    leaderElection: { per: "controller" },
    authentication: true
  }) as unknown as [
    { spec: any }
  ]
  const known = new Set(Environment.variables.map(({ name }) => name))
  for (const { name } of spec.template.spec.containers[0].env) {
    if (name !== "POD_NAMESPACE") assert.isTrue(known.has(name), name)
  }
})

it("the files hold everything a cluster needs, in an order in which it can be applied", () => {
  const all = { ...options(true), webhooks: hooks, replicas: 2, authentication: true }
  const files = Manifests.files(all)
  const kinds = [
    "CustomResourceDefinition",
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRole",
    "ClusterRole",
    "Service",
    "Service",
    "NetworkPolicy",
    "Deployment",
    "PodDisruptionBudget",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration"
  ]
  assert.deepStrictEqual(Manifests.stream(all).map(({ kind }) => kind), kinds)
  const [kustomization] = files["kustomization.yaml"] as ReadonlyArray<any>
  assert.deepStrictEqual(kustomization.resources, Object.keys(files).filter((file) => file !== "kustomization.yaml"))
  assert.deepStrictEqual(kustomization.images, [{ name: "example.com/widgets", newTag: "1" }])
  const images = (image: string) => {
    const [{ images }] = Manifests.files({ ...all, image })["kustomization.yaml"] as ReadonlyArray<any>
    return images
  }
  assert.deepStrictEqual(images("registry:5000/widgets"), [{ name: "registry:5000/widgets" }])
  assert.deepStrictEqual(images("registry:5000/widgets:1@sha256:ab"), [
    { name: "registry:5000/widgets", digest: "sha256:ab" }
  ])
  const documents = Yaml.parseAllDocuments(Manifests.format(files["rbac.yaml"]!)).map((document) => document.toJS())
  assert.deepStrictEqual(documents, JSON.parse(JSON.stringify(files["rbac.yaml"])))
  assert.strictEqual(Manifests.format(Manifests.stream(all)), Manifests.format(Manifests.stream(all)))
})

it("two hooks of one name are told before a server refuses them", () => {
  const twice = hooks.flatMap((hook) => [hook, { ...hook, path: `${hook.path}-again` }])
  assert.throws(() => Manifests.stream({ ...options(true), webhooks: twice }), /two hooks have the same name/)
})

it.effect("the in-memory server takes all of it, without a warning", () =>
  Effect.gen(function*() {
    const server = yield* ApiServer.ApiServer
    for (const manifest of Manifests.stream({ ...options(true), webhooks: hooks, replicas: 2 })) {
      const { apiVersion, kind, metadata: { name, namespace } } = manifest
      const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`
      const plural = kind === "NetworkPolicy" ? "networkpolicies" : `${kind.toLowerCase()}s`
      const answer = yield* server.handle({
        method: "PATCH",
        path: `${group}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}/${name}`,
        query: [["fieldManager", "test"], ["fieldValidation", "Strict"]],
        headers: { "content-type": "application/apply-patch+yaml" },
        body: manifest
      })
      assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
      assert.isUndefined(answer.headers["warning"], `${kind}: ${answer.headers["warning"]}`)
    }
  }).pipe(Effect.provide(ApiServer.ApiServer.layer)))

const Gadget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Gadget",
  scope: "Cluster",
  spec: Schema.Struct({ size: Schema.Int })
})

const Scaled = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Scaled",
  spec: Schema.Struct({ replicas: Schema.Int }),
  status: Schema.Struct({ replicas: Schema.Int }),
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
})

it("who may view or edit a namespace may do so with its custom objects; cluster-scoped kinds are for nobody", () => {
  const roles = Manifests.userRoles({ name: "widgets", resources: [Widget, Gadget, Scaled] }) as ReadonlyArray<any>
  const all = "get,list,watch,create,update,patch,delete,deletecollection"
  assert.deepStrictEqual(
    roles.map(({ metadata, rules }) => [
      metadata.name,
      Object.keys(metadata.labels).filter((label) => label.includes("aggregate-to")).map((label) =>
        label.split("/")[1]
      ),
      rules.map(({ apiGroups, resources, verbs }: Manifests.Rule) => [apiGroups.join(), resources.join(), verbs.join()])
    ]),
    [
      ["widgets-view", ["aggregate-to-view"], [
        ["example.com", "widgets,scaleds", "get,list,watch"],
        ["example.com", "widgets/status,scaleds/status,scaleds/scale", "get"]
      ]],
      ["widgets-edit", ["aggregate-to-edit", "aggregate-to-admin"], [
        ["example.com", "widgets,scaleds", all],
        ["example.com", "widgets/status,scaleds/status", "get"],
        ["example.com", "scaleds/scale", "get,update,patch"]
      ]]
    ]
  )
  assert.deepStrictEqual(Manifests.userRoles({ name: "gadgets", resources: [Gadget] }), [])
  assert.deepStrictEqual(Manifests.userRoles({ name: "widgets", resources: [Widget], userRoles: false }), [])
})

it("what an API of its own makes of other objects is read only", () => {
  const api = ApiService.make({
    group: "served.example.com",
    version: "v1",
    kinds: [
      ApiService.stored(CustomResource.make({
        group: "served.example.com",
        version: "v1",
        kind: "Note",
        spec: Schema.Struct({ text: Schema.String })
      })),
      ApiService.derived(
        CustomResource.make({
          group: "served.example.com",
          version: "v1",
          kind: "Summary",
          spec: Schema.Struct({ count: Schema.Int })
        }),
        { from: ConfigMap, make: () => undefined }
      )
    ]
  })
  const [, edit] = Manifests.userRoles({ name: "notes", resources: [], apiService: api }) as ReadonlyArray<any>
  assert.deepStrictEqual(
    edit.rules.map(({ resources, verbs }: Manifests.Rule) => [resources.join(), verbs.length]),
    [["notes", 8], ["summaries", 3]]
  )
})

it("the image is built in two stages, and runs without privileges", () => {
  const text = Manifests.containerfile({ main: "dist/main.mjs" })
  assert.match(text, /^FROM .* AS build\n/)
  assert.match(text, /\nUSER 65532:65532\n/)
  assert.match(text, /\nCOPY --from=build \/app\/dist \/app\/dist\nUSER/, "the program, and no packages")
  assert.match(text, /\nCMD \["dist\/main.mjs"\]\n$/)
})

it("a program in more files takes along what it names", () => {
  const files = ["dist", "node_modules"]
  const text = Manifests.containerfile({ main: "dist/main.mjs", build: "npm run build && npm prune --omit=dev", files })
  assert.match(text, /\nRUN npm ci && npm run build && npm prune --omit=dev\n/)
  assert.deepStrictEqual(
    [...text.matchAll(/^COPY --from=build (.*)$/gm)].map(([, what]) => what),
    ["/app/dist /app/dist", "/app/node_modules /app/node_modules"]
  )
  assert.match(
    Manifests.containerfile({ main: "operator.mjs" }),
    /\nCOPY --from=build \/app\/operator.mjs \/app\/operator.mjs\n/
  )
})
