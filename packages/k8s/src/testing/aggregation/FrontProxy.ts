/**
 * `FrontProxy`: how backends know the server, and believe what it says about who asks.
 *
 * It shows a certificate of its own, signed by an authority of its own. Which authority, which common name and which
 * headers stands in a ConfigMap in kube-system, where aggregated API servers read it, with the authority of ordinary
 * client certificates.
 *
 * Source: k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust.
 */
import * as Effect from "effect/Effect"
import * as Bootstrap from "../auth/Bootstrap.ts"
import * as Certificates from "../../Certificates.ts"
import type { Storage } from "../../api/Storage.ts"

export interface FrontProxy {
  readonly certificate: Certificates.Certificate
  /** Who signed it: PEM. */
  readonly authorityPem: string
  /** Who signs client certificates: PEM. */
  readonly clientAuthorityPem: string
}

const commonName = "front-proxy-client"

/** A new authority and what it signed; `now` is time on the wall. */
export const make = (now: number, clientAuthorityPem: string): Effect.Effect<FrontProxy> =>
  Effect.gen(function*() {
    const authority = yield* Certificates.authority({ now, commonName: "front-proxy-ca" })
    const certificate = yield* Certificates.issue(authority, { now, commonName })
    return { certificate, authorityPem: authority.certPem, clientAuthorityPem }
  })

/** Stores the ConfigMap. */
export const install = (storage: Storage, frontProxy: FrontProxy, now: number, random: () => number): void => {
  const names = (...values: ReadonlyArray<string>) => JSON.stringify(values)
  const data = {
    "client-ca-file": frontProxy.clientAuthorityPem,
    "requestheader-allowed-names": names(commonName),
    "requestheader-client-ca-file": frontProxy.authorityPem,
    "requestheader-extra-headers-prefix": names("X-Remote-Extra-"),
    "requestheader-group-headers": names("X-Remote-Group"),
    "requestheader-uid-headers": names("X-Remote-Uid"),
    "requestheader-username-headers": names("X-Remote-User")
  }
  const metadata = { name: "extension-apiserver-authentication", namespace: "kube-system" }
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data }
  Bootstrap.store(storage, "configmaps", configMap, now, random)
}
