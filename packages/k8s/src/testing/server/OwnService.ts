/**
 * `OwnService`: makes the server known to Pods: the Service `kubernetes` in `default` with its Endpoints and
 * EndpointSlice, and the ServiceCIDR of cluster IPs.
 *
 * Source: k8s.io/kubernetes/pkg/controlplane/{controller/kubernetesservice,controller/defaultservicecidr,reconcilers}.
 */
import * as Bootstrap from "../auth/Bootstrap.ts"
import type { Storage } from "../../api/Storage.ts"
import { timestamp } from "./Exchange.ts"
import * as ServicePool from "./ServicePool.ts"

const address = "127.0.0.1"

/** Stores them for a server that listens at this port. */
export const install = (storage: Storage, port: number, now: number, random: () => number): void => {
  const metadata = { name: "kubernetes", namespace: "default" }
  const https = { name: "https", port, protocol: "TCP" }
  const store = (collection: string, own: Bootstrap.Own) => Bootstrap.store(storage, collection, own, now, random)
  store("servicecidrs.networking.k8s.io", {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "kubernetes", finalizers: ["networking.k8s.io/service-cidr-finalizer"] },
    spec: { cidrs: [ServicePool.cidr] },
    status: {
      conditions: [{
        type: "Ready",
        status: "True",
        lastTransitionTime: timestamp(now),
        reason: "",
        message: "Kubernetes Service CIDR is ready"
      }]
    }
  })
  store("services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      type: "ClusterIP",
      clusterIP: ServicePool.first,
      clusterIPs: [ServicePool.first],
      ports: [{ ...https, port: 443, targetPort: port }],
      sessionAffinity: "None",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster"
    },
    status: { loadBalancer: {} }
  })
  store("endpoints", {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { ...metadata, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
    subsets: [{ addresses: [{ ip: address }], ports: [https] }]
  })
  store("endpointslices.discovery.k8s.io", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, generation: 1, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [https]
  })
}
