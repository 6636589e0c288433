import * as FieldError from "../../../src/schema/FieldError.ts"
import * as PodSpecRules from "../../../src/testing/server/rules/pods/PodSpecRules.ts"

type Part = Readonly<Record<string, unknown>>

/** A container with all that defaults would give it. */
export const container = (more: Part = {}) => ({
  name: "main",
  image: "app:1",
  terminationMessagePolicy: "File",
  imagePullPolicy: "Always",
  ...more
})

/** What is said against a Pod with this spec, in the server's words. */
export const podFaults = (spec: Part): ReadonlyArray<string> =>
  PodSpecRules.podSpec(
    {
      restartPolicy: "Always",
      dnsPolicy: "ClusterFirst",
      terminationGracePeriodSeconds: 30,
      containers: [container()],
      ...spec
    },
    "spec",
    { isPod: true, name: "a" }
  ).map(FieldError.format)

/** The same of a Pod with one such container. */
export const containerFaults = (more: Part, spec: Part = {}): ReadonlyArray<string> =>
  podFaults({ ...spec, containers: [container(more)] })

/** The path of that container. */
export const c = "spec.containers[0]"
