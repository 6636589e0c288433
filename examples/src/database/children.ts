import { OwnerLabel, Sync } from "@effect-operator/core"
import { ConfigMap, Secret, Service, StatefulSet } from "@effect-operator/k8s/kinds"
import type { Database } from "./resource.ts"
import { owner } from "./tasks.ts"

export const kinds = [ConfigMap, Secret, Service, StatefulSet]

/** All replicas exist, are up to date and ready. */
export const isReady = ({ metadata, spec, status }: StatefulSet): boolean =>
  status?.observedGeneration === metadata.generation && status?.readyReplicas === spec?.replicas &&
  status?.updatedReplicas === spec?.replicas && status?.currentRevision === status?.updateRevision

/** The children that a Database always has. */
export const wanted = (database: Database, image: string, password: string) => {
  const { name } = database.metadata
  const { port, replicas } = database.spec
  const { annotations, labels } = OwnerLabel.metadata(owner, database)
  return [
    Sync.child(ConfigMap, {
      metadata: { name: `${name}-connection` },
      data: { DATABASE_HOST: `${name}-0.${name}`, DATABASE_PORT: `${port}`, DATABASE_NAME: database.spec.name }
    }),
    Sync.child(Secret, {
      metadata: { name: `${name}-credentials` },
      data: { DATABASE_USER: btoa("admin"), DATABASE_PASSWORD: password }
    }),
    Sync.child(Service, {
      metadata: { name },
      spec: { clusterIP: "None", selector: labels, ports: [{ name: "database", port, protocol: "TCP" }] }
    }),
    Sync.child(StatefulSet, {
      metadata: { name },
      spec: {
        replicas,
        serviceName: name,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations },
          spec: {
            containers: [{
              name: "database",
              image,
              ports: [{ name: "database", containerPort: port, protocol: "TCP" }],
              envFrom: [{ secretRef: { name: `${name}-credentials` } }],
              volumeMounts: [{ name: "data", mountPath: "/data" }]
            }]
          }
        },
        volumeClaimTemplates: [{
          metadata: { name: "data", labels, annotations },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: database.spec["storage-size"] } } }
        }]
      }
    }, isReady)
  ] as const
}
