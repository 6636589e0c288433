import { KubeClient } from "@effect-operator/core"
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { ensure, type Example } from "../Example.ts"
import { controllers } from "./reconciler.ts"
import { BasicDeployment, BasicReplicaSet } from "./resource.ts"

const sample = {
  apiVersion: BasicDeployment.apiVersion,
  kind: BasicDeployment.kind,
  metadata: { namespace: "default", name: "shop" },
  spec: { replicas: 2, image: "nginx:1.27" }
}
const { metadata: key } = sample

const change = (spec: Partial<BasicDeployment["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(BasicDeployment, key, KubeClient.Patch.merge({ spec })))

const isOurs = (object: KubeObject): object is Pod =>
  object.kind === "Pod" && controllerOf(object)?.kind === BasicReplicaSet.kind

const podsOf = (objects: ReadonlyArray<KubeObject>) => objects.filter(isOurs)

/** Exactly `replicas` Pods of the image, none of them terminating, and the status says that it is rolled out. */
const rolledOut = (image: string, replicas: number) => (objects: ReadonlyArray<KubeObject>) => {
  const pods = podsOf(objects)
  const deployment = objects.find(({ kind }) => kind === BasicDeployment.kind) as BasicDeployment | undefined
  return pods.length === replicas &&
    pods.every((pod) => !isTerminating(pod) && pod.spec.containers[0]?.image === image) &&
    deployment?.status?.ready === true && deployment.status.availableReplicas === replicas
}

export const example: Example = {
  name: "basicdeployment",
  sample,
  follows: [BasicDeployment, BasicReplicaSet, Pod],
  concerns: (object) => object.kind === "BasicDeployment" || object.kind === "BasicReplicaSet" || isOurs(object),
  tryIt: [
    "kubectl get basicdeployments -o wide -w",
    `kubectl patch basicdeployment ${key.name} --type merge -p '{"spec":{"image":"nginx:1.29"}}'`,
    `kubectl patch basicdeployment ${key.name} --type merge -p '{"spec":{"rollbackTo":0}}'`,
    "kubectl get basicreplicasets",
    `kubectl delete basicdeployment ${key.name}`
  ],
  resources: [BasicDeployment, BasicReplicaSet],
  controllers,
  writes: [
    { resource: BasicDeployment, verbs: ["patch"] },
    { resource: BasicReplicaSet, verbs: ["create", "patch", "delete"] },
    { resource: Pod, verbs: ["create", "delete"] }
  ],
  story: [
    {
      title: "apply a BasicDeployment of 2 Pods",
      act: ensure(BasicDeployment, { metadata: key, spec: sample.spec }),
      done: rolledOut("nginx:1.27", 2)
    },
    {
      title: "roll out another image: never fewer than 2 are ready",
      act: change({ image: "nginx:1.28" }),
      done: rolledOut("nginx:1.28", 2)
    },
    { title: "scale to 3", act: change({ replicas: 3 }), done: rolledOut("nginx:1.28", 3) },
    {
      title: "roll back: the first set gets its Pods again",
      act: change({ rollbackTo: 0 }),
      done: rolledOut("nginx:1.27", 3)
    },
    {
      title: "delete the BasicDeployment: its sets and their Pods go with it",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(BasicDeployment, key)),
      done: (objects) => podsOf(objects).length === 0 && !objects.some(({ kind }) => kind.startsWith("Basic"))
    }
  ]
}
