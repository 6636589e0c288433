/**
 * Why the invalid objects of each sample are refused: every cause as `field: message`, sorted. The words are those of
 * release 1.35; `crds.real.ts` holds them against a real server's.
 */
export const refusals: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  "cert-manager": [
    ["spec: Required value"],
    [
      "spec.issuerRef.name: Required value",
      "spec.secretName: Invalid value: \"\": spec.secretName in body should be at least 1 chars long"
    ],
    ["spec.usages[1]: Unsupported value: \"nothing\": supported values: \"signing\", \"digital signature\", \"server auth\", \"client auth\""],
    [
      "spec.privateKey.algorithm: Unsupported value: \"DSA\": supported values: \"RSA\", \"ECDSA\", \"Ed25519\"",
      "spec.privateKey.size: Invalid value: 5: spec.privateKey.size in body should be greater than or equal to 256"
    ],
    ["spec.additionalOutputFormats[1]: Duplicate value: {\"type\":\"DER\"}"],
    [
      "spec.isCA: Invalid value: \"string\": spec.isCA in body must be of type boolean: \"string\"",
      "spec.issuerRef: Invalid value: \"string\": spec.issuerRef in body must be of type object: \"string\"",
      "spec.secretName: Invalid value: \"array\": spec.secretName in body must be of type string: \"array\""
    ]
  ],
  "external-secrets": [
    ["spec.provider: Invalid value: 0: spec.provider in body should have at least 1 properties"],
    [
      "spec.provider.aws.region: Invalid value: \"integer\": spec.provider.aws.region in body must be of type string: \"integer\"",
      "spec.provider.aws.service: Required value",
      "spec.provider: Too many: 2: must have at most 1 item"
    ],
    [
      "spec.provider.vault.caBundle: Invalid value: \"not base64!\": spec.provider.vault.caBundle in body must be of type byte: \"not base64!\"",
      "spec.provider.vault.server: Invalid value: \"ftp://x\": spec.provider.vault.server in body should match '^https?://'"
    ],
    [
      "spec.provider.aws.region: Required value",
      "spec.provider.aws.service: Unsupported value: \"EC2\": supported values: \"SecretsManager\", \"ParameterStore\"",
      "spec.refreshInterval: Invalid value: -1: spec.refreshInterval in body should be greater than or equal to 0"
    ],
    [
      "spec.provider.fake.data[0].key: Required value",
      "spec.provider.fake.data[1].valueMap.b: Invalid value: \"integer\": spec.provider.fake.data[1].valueMap.b in body must be of type string: \"integer\""
    ],
    [
      "spec.conditions[0].namespaces[0]: Invalid value: \"UPPER\": spec.conditions[0].namespaces[0] in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
      "spec.conditions[0].namespaces[1]: Too long: may not be more than 63 bytes"
    ]
  ],
  kyverno: [
    ["spec.rules: Invalid value: 0: spec.rules in body should have at least 1 items"],
    ["<nil>: Invalid value: \"\": \"spec.rules[0].match\" must not validate the schema (not)"],
    [
      "spec.rules[0].match.any[0].kinds: Invalid value: 0: spec.rules[0].match.any[0].kinds in body should have at least 1 items",
      "spec.rules[0].name: Required value"
    ],
    [
      "spec.failureAction: Unsupported value: \"warn\": supported values: \"audit\", \"enforce\", \"Audit\", \"Enforce\"",
      "spec.rules[0].name: Too long: may not be more than 63 bytes"
    ],
    [
      "spec.background: Invalid value: \"string\": spec.background in body must be of type boolean: \"string\"",
      "spec.webhookTimeoutSeconds: Invalid value: 31: spec.webhookTimeoutSeconds in body should be less than or equal to 30"
    ],
    [
      "spec.rules[0].match.any[0].selector.matchExpressions[0].key: Required value",
      "spec.rules[0].match.any[0].selector.matchExpressions[0].operator: Required value",
      "spec.rules[0].match.any[0].selector.matchExpressions[0].values: Invalid value: \"string\": spec.rules[0].match.any[0].selector.matchExpressions[0].values in body must be of type array: \"string\""
    ]
  ],
  "argo-cd": [
    ["spec.destination: Required value"],
    ["spec.source.repoURL: Required value"],
    [
      "spec.project: Invalid value: \"integer\": spec.project in body must be of type string: \"integer\"",
      "spec.sources[0].helm.valueFiles: Invalid value: \"string\": spec.sources[0].helm.valueFiles in body must be of type array: \"string\""
    ],
    [
      "spec.syncPolicy.retry.backoff.factor: Invalid value: \"number\": spec.syncPolicy.retry.backoff.factor in body must be of type integer: \"number\"",
      "spec.syncPolicy.retry.limit: Invalid value: \"string\": spec.syncPolicy.retry.limit in body must be of type integer: \"string\""
    ],
    ["status.sync.status: Required value"],
    ["spec.ignoreDifferences[0].kind: Required value"]
  ],
  "argo-rollouts": [
    [".spec.replicas: Invalid value: 0: .spec.replicas accessor error: <nil> is of the type <nil>, expected int64"],
    [
      "<nil>: Invalid value: \"\": \"spec.strategy\" must validate one and only one schema (oneOf). Found none valid",
      "spec.strategy.canary: Required value"
    ],
    ["<nil>: Invalid value: \"\": \"spec.strategy\" must validate one and only one schema (oneOf). Found 2 valid alternatives"],
    [
      "<nil>: Invalid value: \"\": \"spec.strategy.canary.maxSurge\" must validate at least one schema (anyOf)",
      "spec.strategy.canary.maxSurge: Invalid value: \"number\": spec.strategy.canary.maxSurge in body must be of type integer,string: \"number\"",
      "spec.strategy.canary.maxSurge: Invalid value: \"number\": spec.strategy.canary.maxSurge in body must be of type integer: \"number\""
    ],
    [
      "<nil>: Invalid value: \"\": \"spec.strategy.canary.maxSurge\" must validate at least one schema (anyOf)",
      "<nil>: Invalid value: \"\": \"spec.strategy.canary.steps[0].pause.duration\" must validate at least one schema (anyOf)",
      "spec.strategy.canary.maxSurge: Invalid value: \"boolean\": spec.strategy.canary.maxSurge in body must be of type integer,string: \"boolean\"",
      "spec.strategy.canary.maxSurge: Invalid value: \"boolean\": spec.strategy.canary.maxSurge in body must be of type integer: \"boolean\"",
      "spec.strategy.canary.steps[0].pause.duration: Invalid value: \"array\": spec.strategy.canary.steps[0].pause.duration in body must be of type integer,string: \"array\"",
      "spec.strategy.canary.steps[0].pause.duration: Invalid value: \"array\": spec.strategy.canary.steps[0].pause.duration in body must be of type integer: \"array\""
    ],
    ["spec.strategy.blueGreen.activeService: Required value"],
    [
      ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the type string, expected int64",
      "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
      "spec.template.metadata.labels.a: Invalid value: \"integer\": spec.template.metadata.labels.a in body must be of type string: \"integer\""
    ]
  ],
  flux: [
    ["spec.interval: Invalid value: \"soon\": spec.interval in body should match '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$'"],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.chart.spec: Required value"
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.chart.spec.sourceRef.kind: Unsupported value: \"Folder\": supported values: \"HelmRepository\", \"GitRepository\", \"Bucket\"",
      "spec.chart.spec.sourceRef.name: Invalid value: \"\": spec.chart.spec.sourceRef.name in body should be at least 1 chars long"
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.chartRef.name: Required value",
      "spec.dependsOn[0].name: Required value",
      "spec.dependsOn[1].name: Invalid value: \"integer\": spec.dependsOn[1].name in body must be of type string: \"integer\""
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.interval: Invalid value: \"integer\": spec.interval in body must be of type string: \"integer\"",
      "spec.maxHistory: Invalid value: \"number\": spec.maxHistory in body must be of type integer: \"number\"",
      "spec.suspend: Invalid value: \"string\": spec.suspend in body must be of type boolean: \"string\""
    ],
    ["spec: Invalid value: either chart or chartRef must be set"],
    ["spec: Invalid value: either chart or chartRef must be set"]
  ],
  tekton: [
    ["spec: Invalid value: \"array\": spec in body must be of type object: \"array\""],
    ["spec: Invalid value: \"string\": spec in body must be of type object: \"string\""],
    ["spec: Invalid value: \"integer\": spec in body must be of type object: \"integer\""],
    ["spec: Invalid value: \"boolean\": spec in body must be of type object: \"boolean\""],
    ["metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"]
  ],
  "gateway-api": [
    [
      "spec.hostnames[0]: Invalid value: \"UPPER\": spec.hostnames[0] in body should match '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
      "spec.hostnames[1]: Invalid value: \"a..b\": spec.hostnames[1] in body should match '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
    ],
    ["spec.parentRefs[1]: Duplicate value: {\"name\":\"g\",\"sectionName\":\"all\"}"],
    ["spec.rules: Invalid value: 0: spec.rules in body should have at least 1 items"],
    [
      "spec.rules[0].backendRefs[0].name: Invalid value: \"\": spec.rules[0].backendRefs[0].name in body should be at least 1 chars long",
      "spec.rules[0].backendRefs[0].port: Invalid value: 0: spec.rules[0].backendRefs[0].port in body should be greater than or equal to 1",
      "spec.rules[0].backendRefs[0].weight: Invalid value: 1000001: spec.rules[0].backendRefs[0].weight in body should be less than or equal to 1000000"
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.rules[0].matches[0].method: Unsupported value: \"get\": supported values: \"GET\", \"POST\"",
      "spec.rules[0].matches[0].path.type: Unsupported value: \"Regex\": supported values: \"Exact\", \"PathPrefix\", \"RegularExpression\"",
      "spec.rules[0].timeouts.request: Invalid value: \"1y\": spec.rules[0].timeouts.request in body should match '^([0-9]{1,5}(h|m|s|ms)){1,4}$'"
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.hostnames: Too many: 17: must have at most 16 items"
    ],
    ["spec.rules[0]: Invalid value: backendRefs must not be empty when given"]
  ],
  istio: [
    ["<nil>: Invalid value: \"\": \"spec.http[0].match[0].uri\" must validate one and only one schema (oneOf). Found 2 valid alternatives"],
    [
      "<nil>: Invalid value: \"\": \"spec.http[0].match[0].uri\" must validate one and only one schema (oneOf). Found none valid",
      "spec.http[0].match[0].uri.exact: Required value"
    ],
    [
      "spec.http[0].match[0].headers.x.exact: Invalid value: \"integer\": spec.http[0].match[0].headers.x.exact in body must be of type string: \"integer\"",
      "spec.http[0].match[0].port: Invalid value: -1: spec.http[0].match[0].port in body should be greater than or equal to 0"
    ],
    ["spec.http[0].route[0].destination: Required value"],
    [
      "spec.hosts: Invalid value: \"string\": spec.hosts in body must be of type array: \"string\"",
      "spec.http[0].route[0].destination.host: Required value",
      "spec.http[0].route[0].destination.port.number: Invalid value: \"string\": spec.http[0].route[0].destination.port.number in body must be of type integer: \"string\""
    ],
    ["spec.http: Invalid value: \"object\": spec.http in body must be of type array: \"object\""]
  ],
  cilium: [
    ["<nil>: Invalid value: \"\": \"\" must validate at least one schema (anyOf)", "spec: Required value"],
    [
      "<nil>: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)",
      "spec.endpointSelector: Required value"
    ],
    [
      "spec.egress[0].toCIDR[0]: Invalid value: \"10.0.0.0\": spec.egress[0].toCIDR[0] in body must be of type cidr: \"10.0.0.0\"",
      "spec.egress[0].toCIDR[1]: Invalid value: \"x\": spec.egress[0].toCIDR[1] in body must be of type cidr: \"x\""
    ],
    [
      "spec.egress[0].toPorts[0].ports[0].port: Invalid value: \"65536\": spec.egress[0].toPorts[0].ports[0].port in body should match '^(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})$'",
      "spec.egress[0].toPorts[0].ports[1].port: Invalid value: \"integer\": spec.egress[0].toPorts[0].ports[1].port in body must be of type string: \"integer\""
    ],
    [
      "specs[0].priority: Invalid value: 0: specs[0].priority in body should be greater than 0",
      "specs[1].priority: Invalid value: 7: specs[1].priority in body should be a multiple of 5"
    ],
    [
      "spec.egress[0].toFQDNs[0].matchName: Invalid value: \"a b\": spec.egress[0].toFQDNs[0].matchName in body should match '^([-a-zA-Z0-9_]+[.]?)+$'",
      "spec.nodeSelector.matchLabels.a: Too long: may not be more than 63 bytes"
    ]
  ],
  knative: [
    ["spec.containers: Required value"],
    ["spec.containerConcurrency: Invalid value: 1001: spec.containerConcurrency in body should be less than or equal to 1000"],
    ["spec.containers[0].ports[1]: Duplicate value: {\"containerPort\":80,\"protocol\":\"TCP\"}"],
    [
      "<nil>: Invalid value: \"\": \"spec.containers[0].resources.limits.memory\" must validate at least one schema (anyOf)",
      "spec.containers[0].resources.limits.cpu: Invalid value: \"lots\": spec.containers[0].resources.limits.cpu in body should match '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$'",
      "spec.containers[0].resources.limits.memory: Invalid value: \"number\": spec.containers[0].resources.limits.memory in body must be of type integer,string: \"number\"",
      "spec.containers[0].resources.limits.memory: Invalid value: \"number\": spec.containers[0].resources.limits.memory in body must be of type integer: \"number\""
    ],
    [
      "spec.containers[0].env[0].name: Required value",
      "spec.timeoutSeconds: Invalid value: \"string\": spec.timeoutSeconds in body must be of type integer: \"string\""
    ],
    ["spec.containers: Invalid value: \"string\": spec.containers in body must be of type array: \"string\""]
  ],
  crossplane: [
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.compositeTypeRef: Required value",
      "spec.mode: Unsupported value: \"Resources\": supported values: \"Pipeline\""
    ],
    ["spec.pipeline: Invalid value: 0: spec.pipeline in body should have at least 1 items"],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.pipeline[1].functionRef.name: Required value",
      "spec.pipeline[1]: Duplicate value: {\"step\":\"a\"}"
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.pipeline[0].input.apiVersion: Required value",
      "spec.pipeline[0].input.kind: Required value"
    ],
    [
      "spec.pipeline[0].input.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
      "spec.pipeline[0].input.kind: Invalid value: \"lower case\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.pipeline[0].input.metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ],
    [
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      "spec.compositeTypeRef.apiVersion: Required value",
      "spec.compositeTypeRef.kind: Invalid value: \"integer\": spec.compositeTypeRef.kind in body must be of type string: \"integer\"",
      "spec.publish.policy.retain: Invalid value: \"string\": spec.publish.policy.retain in body must be of type boolean: \"string\""
    ]
  ],
  "cluster-api": [
    ["spec: Required value"],
    [
      "spec.clusterName: Invalid value: \"\": spec.clusterName in body should be at least 1 chars long",
      "spec.deletion: Invalid value: 0: spec.deletion in body should have at least 1 properties"
    ],
    [
      ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 2 is of the type string, expected int64",
      "spec.deletion.order: Unsupported value: \"Never\": supported values: \"Random\", \"Newest\", \"Oldest\"",
      "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\""
    ],
    [
      "spec.template.infrastructureRef.apiGroup: Required value",
      "spec.template.infrastructureRef.kind: Invalid value: \"1\": spec.template.infrastructureRef.kind in body should match '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$'",
      "spec.template.infrastructureRef.name: Invalid value: \"\": spec.template.infrastructureRef.name in body should be at least 1 chars long"
    ],
    [".spec.replicas: Invalid value: -1: should be a non-negative integer"],
    [
      "spec.taints[1].propagation: Required value",
      "spec.taints[1]: Duplicate value: {\"effect\":\"NoExecute\",\"key\":\"a\"}"
    ]
  ],
  keda: [
    ["spec.scaleTargetRef: Required value"],
    ["spec.triggers[0].metadata: Required value"],
    ["spec.triggers[0].metadata.value: Invalid value: \"integer\": spec.triggers[0].metadata.value in body must be of type string: \"integer\""],
    [
      "spec.scaleTargetRef.name: Required value",
      "spec.triggers[0].authenticationRef.name: Required value",
      "spec.triggers[0].metadata: Invalid value: \"array\": spec.triggers[0].metadata in body must be of type object: \"array\"",
      "spec.triggers[0].type: Invalid value: \"integer\": spec.triggers[0].type in body must be of type string: \"integer\""
    ],
    [
      "spec.fallback.behavior: Unsupported value: \"zero\": supported values: \"static\", \"currentReplicas\"",
      "spec.fallback.failureThreshold: Required value",
      "spec.fallback.replicas: Required value"
    ],
    [
      "spec.minReplicaCount: Invalid value: \"number\": spec.minReplicaCount in body must be of type integer: \"number\"",
      "spec.pollingInterval: Invalid value: \"string\": spec.pollingInterval in body must be of type integer: \"string\""
    ]
  ],
  "prometheus-operator": [
    [
      "spec.retention: Invalid value: \"forever\": spec.retention in body should match '^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$'",
      "spec.retentionSize: Invalid value: \"10\": spec.retentionSize in body should match '(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$'"
    ],
    [
      "spec.remoteWrite[0].url: Required value",
      "spec.remoteWrite[1].azureAd.tenantId: Invalid value: \"a_b\": spec.remoteWrite[1].azureAd.tenantId in body should match '^[0-9a-zA-Z-.]+$'"
    ],
    [
      "<nil>: Invalid value: \"\": \"spec.alerting.alertmanagers[0].port\" must validate at least one schema (anyOf)",
      "<nil>: Invalid value: \"\": \"spec.alerting.alertmanagers[1].port\" must validate at least one schema (anyOf)",
      "spec.alerting.alertmanagers[0].port: Invalid value: \"number\": spec.alerting.alertmanagers[0].port in body must be of type integer,string: \"number\"",
      "spec.alerting.alertmanagers[0].port: Invalid value: \"number\": spec.alerting.alertmanagers[0].port in body must be of type integer: \"number\"",
      "spec.alerting.alertmanagers[1].port: Invalid value: \"array\": spec.alerting.alertmanagers[1].port in body must be of type integer,string: \"array\"",
      "spec.alerting.alertmanagers[1].port: Invalid value: \"array\": spec.alerting.alertmanagers[1].port in body must be of type integer: \"array\""
    ],
    [
      ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type string, expected int64",
      "spec.alerting.alertmanagers: Required value",
      "spec.logLevel: Unsupported value: \"trace\": supported values: \"debug\", \"info\", \"warn\", \"error\"",
      "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\""
    ],
    [
      "spec.externalLabels.a: Invalid value: \"integer\": spec.externalLabels.a in body must be of type string: \"integer\"",
      "spec.externalLabels.b: Invalid value: \"boolean\": spec.externalLabels.b in body must be of type string: \"boolean\""
    ],
    [
      "spec.remoteWrite[0].queueConfig.capacity: Invalid value: \"string\": spec.remoteWrite[0].queueConfig.capacity in body must be of type integer: \"string\"",
      "spec.remoteWrite[0].queueConfig.maxShards: Invalid value: 0: spec.remoteWrite[0].queueConfig.maxShards in body should be greater than or equal to 1"
    ]
  ],
  strimzi: [
    ["spec.kafka.listeners: Required value"],
    [
      "spec.kafka.listeners: Invalid value: 0: spec.kafka.listeners in body should have at least 1 items",
      "spec.kafka.replicas: Invalid value: 0: spec.kafka.replicas in body should be greater than or equal to 1"
    ],
    [
      "spec.kafka.listeners[0].name: Invalid value: \"Way-too-long-a-name\": spec.kafka.listeners[0].name in body should match '^[a-z0-9]{1,11}$'",
      "spec.kafka.listeners[0].port: Invalid value: 80: spec.kafka.listeners[0].port in body should be greater than or equal to 9092",
      "spec.kafka.listeners[0].tls: Invalid value: \"string\": spec.kafka.listeners[0].tls in body must be of type boolean: \"string\"",
      "spec.kafka.listeners[0].type: Unsupported value: \"x\": supported values: \"internal\", \"route\", \"loadbalancer\", \"nodeport\""
    ],
    [
      "spec.kafka.config: Invalid value: \"array\": spec.kafka.config in body must be of type object: \"array\"",
      "spec.kafka.listeners[0].name: Required value",
      "spec.kafka.listeners[0].port: Required value",
      "spec.kafka.listeners[0].tls: Required value",
      "spec.kafka.listeners[0].type: Required value"
    ],
    [
      "spec.kafka.listeners: Invalid value: \"object\": spec.kafka.listeners in body must be of type array: \"object\"",
      "spec.kafka.storage.size: Invalid value: \"integer\": spec.kafka.storage.size in body must be of type string: \"integer\"",
      "spec.kafka.storage.type: Required value"
    ],
    [
      "spec.kafka.listeners[0].port: Invalid value: \"number\": spec.kafka.listeners[0].port in body must be of type integer: \"number\"",
      "spec.kafka.version: Invalid value: \"number\": spec.kafka.version in body must be of type string: \"number\""
    ]
  ],
  velero: [
    ["spec.includedNamespaces[0]: Invalid value: \"null\": spec.includedNamespaces[0] in body must be of type string: \"null\""],
    ["spec.labelSelector.matchLabels.a: Invalid value: \"array\": spec.labelSelector.matchLabels.a in body must be of type string: \"array\""],
    [
      "status.expiration: Invalid value: \"tomorrow\": status.expiration in body must be of type date-time: \"tomorrow\"",
      "status.phase: Unsupported value: \"Done\": supported values: \"New\", \"InProgress\", \"Completed\", \"Failed\""
    ],
    [
      "spec.hooks.resources[0].name: Required value",
      "spec.hooks.resources[0].pre[0].exec.command: Invalid value: 0: spec.hooks.resources[0].pre[0].exec.command in body should have at least 1 items",
      "spec.hooks.resources[0].pre[0].exec.onError: Unsupported value: \"Retry\": supported values: \"Continue\", \"Fail\""
    ],
    [
      "spec.orderedResources.pods: Invalid value: \"array\": spec.orderedResources.pods in body must be of type string: \"array\"",
      "spec.ttl: Invalid value: \"integer\": spec.ttl in body must be of type string: \"integer\""
    ],
    [
      "status.progress.itemsBackedUp: Invalid value: \"string\": status.progress.itemsBackedUp in body must be of type integer: \"string\"",
      "status.warnings: Invalid value: \"number\": status.warnings in body must be of type integer: \"number\""
    ]
  ],
  "cloudnative-pg": [
    [
      "spec.instances: Invalid value: 0: spec.instances in body should be greater than or equal to 1",
      "spec.storage: Required value"
    ],
    ["spec.roles[0].inRoles[2]: Duplicate value: \"x\""],
    ["spec.roles[1]: Duplicate value: {\"name\":\"a\"}", "spec.roles[2].name: Required value"],
    [
      "spec.backupUntil: Invalid value: \"01.02.2026\": spec.backupUntil in body must be of type date: \"01.02.2026\"",
      "spec.contact: Invalid value: \"nobody\": spec.contact in body must be of type email: \"nobody\"",
      "spec.serverName: Invalid value: \"not a host!\": spec.serverName in body must be of type hostname: \"not a host!\""
    ],
    [
      "spec.roles[0].ensure: Unsupported value: \"maybe\": supported values: \"present\", \"absent\"",
      "spec.roles[0].validUntil: Invalid value: \"2026-13-01T00:00:00Z\": spec.roles[0].validUntil in body must be of type date-time: \"2026-13-01T00:00:00Z\""
    ],
    [
      "spec.minSyncReplicas: Invalid value: -1: spec.minSyncReplicas in body should be greater than or equal to 0",
      "spec.postgresUID: Invalid value: \"number\": spec.postgresUID in body must be of type integer: \"number\"",
      "spec.storage.resizeInUseVolumes: Invalid value: \"integer\": spec.storage.resizeInUseVolumes in body must be of type boolean: \"integer\""
    ]
  ]
}
