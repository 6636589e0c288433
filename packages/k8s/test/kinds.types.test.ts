/** The assertions here are the compiler's: a type that is not as stated does not compile. */
import type { Client } from "@effect-operator/core/Client"
import type { NamespacedObjectMeta, ObjectMeta, PartialObjectMeta } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import { describe, expectTypeOf, it } from "@effect/vitest"
import type { PodList } from "../src/kinds/core.v1.ts"
import type { Event as NewEvent } from "../src/kinds/events.v1.ts"
import type { AppsV1, CoreV1, IntOrString, Quantity, Time } from "../src/kinds/index.ts"
import { Deployment, Event, Job, Node, Pod, Service, StatefulSet } from "../src/kinds/index.ts"

describe("a built-in kind", () => {
  it("is a value and the type of its objects", () => {
    expectTypeOf(Pod.Type).toEqualTypeOf<Pod>()
    expectTypeOf(Pod).toExtend<Resource.Resource<Pod, "Pod.v1">>()
    expectTypeOf<Resource.TypeOf<typeof Deployment>>().toEqualTypeOf<Deployment>()
    expectTypeOf(Deployment.id).toEqualTypeOf<"Deployment.v1.apps">()
    expectTypeOf(Pod).not.toExtend<Resource.Resource<Pod, "Pod.v2">>()
  })

  it("has literal apiVersion and kind", () => {
    expectTypeOf<Pod["kind"]>().toEqualTypeOf<"Pod">()
    expectTypeOf<Pod["apiVersion"]>().toEqualTypeOf<"v1">()
    expectTypeOf<Job["apiVersion"]>().toEqualTypeOf<"batch/v1">()
    expectTypeOf<Event["apiVersion"]>().toEqualTypeOf<"v1">()
    expectTypeOf<NewEvent["apiVersion"]>().toEqualTypeOf<"events.k8s.io/v1">()
    expectTypeOf<PodList["kind"]>().toEqualTypeOf<"PodList">()
  })

  it("has the metadata of its scope, and templates have metadata with nothing required", () => {
    expectTypeOf<Pod["metadata"]>().toEqualTypeOf<NamespacedObjectMeta>()
    expectTypeOf<Pod["metadata"]["namespace"]>().toEqualTypeOf<string>()
    expectTypeOf<Node["metadata"]>().toEqualTypeOf<ObjectMeta>()
    expectTypeOf<Node["metadata"]["namespace"]>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Deployment["spec"]["template"]["metadata"]>().toEqualTypeOf<PartialObjectMeta | undefined>()
  })

  it("requires a spec exactly where a spec without fields is invalid", () => {
    expectTypeOf<Pod["spec"]["containers"]>().toEqualTypeOf<ReadonlyArray<CoreV1.Container>>()
    expectTypeOf<Deployment["spec"]>().toEqualTypeOf<AppsV1.DeploymentSpec>()
    expectTypeOf<Service["spec"]>().toEqualTypeOf<CoreV1.ServiceSpec | undefined>()
    expectTypeOf<Pod["status"]>().toEqualTypeOf<CoreV1.PodStatus | undefined>()
  })

  it("has times, quantities and int-or-strings as JSON has them", () => {
    expectTypeOf<Time>().toEqualTypeOf<string>()
    expectTypeOf<Quantity>().toEqualTypeOf<string>()
    expectTypeOf<IntOrString>().toEqualTypeOf<number | string>()
    expectTypeOf<CoreV1.ServicePort["targetPort"]>().toEqualTypeOf<number | string | undefined>()
    expectTypeOf<CoreV1.ResourceRequirements["limits"]>().toEqualTypeOf<Readonly<Record<string, string>> | undefined>()
  })

  it("takes claim templates as objects to be created", () => {
    const claim = { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }
    expectTypeOf(claim).toExtend<NonNullable<StatefulSet["spec"]["volumeClaimTemplates"]>[number]>()
  })

  it("is immutable at every depth", () => {
    // Never called: the compiler alone is asked.
    const mutate = (pod: Pod): void => {
      // @ts-expect-error a field of an object
      pod.kind = "Pod"
      // @ts-expect-error a field of its metadata
      pod.metadata.name = "other"
      // @ts-expect-error an element of a list
      pod.spec.containers[0] = { name: "other" }
      // @ts-expect-error the length of a list
      pod.spec.containers.push({ name: "other" })
      // @ts-expect-error a value of a map
      pod.metadata.labels = {}
    }
    expectTypeOf(mutate).parameter(0).toEqualTypeOf<Pod>()
  })

  it("does not compile with a missing or misspelt field", () => {
    const container: CoreV1.Container = { name: "main", image: "nginx", ports: [{ containerPort: 80 }] }
    // @ts-expect-error containers is required
    const empty: CoreV1.PodSpec = {}
    // @ts-expect-error replica is no field
    const misspelt: Partial<AppsV1.DeploymentSpec> = { replica: 1 }
    // @ts-expect-error undefined is not absent
    const absent: CoreV1.Container = { name: "main", image: undefined }
    expectTypeOf([container, absent]).toExtend<ReadonlyArray<CoreV1.Container>>()
    expectTypeOf(empty).toExtend<CoreV1.PodSpec>()
    expectTypeOf(misspelt).toExtend<Partial<AppsV1.DeploymentSpec>>()
  })

  it("is applied in parts, which are checked to their depth", () => {
    const metadata = { namespace: "default", name: "web" }
    const parts = [
      (client: Client) => client.apply(Deployment, { metadata, spec: { replicas: 2 } }),
      (client: Client) =>
        client.apply(Deployment, {
          metadata,
          // @ts-expect-error replica is no field of a part either
          spec: { replica: 2 }
        }),
      (client: Client) =>
        client.apply(Deployment, {
          metadata,
          // @ts-expect-error a number where a text belongs, three levels down
          spec: { template: { spec: { restartPolicy: 1 } } }
        })
    ]
    expectTypeOf(parts).toExtend<ReadonlyArray<unknown>>()
  })
})
