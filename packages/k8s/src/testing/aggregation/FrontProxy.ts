/**
 * `FrontProxy`: the identity with which the server calls its backends, so that they trust the user headers in its
 * requests.
 *
 * The server has a client certificate, issued by a separate authority. A ConfigMap in kube-system contains that
 * authority, the allowed common name and the header names, where aggregated API servers read them, and the authority of
 * ordinary client certificates.
 *
 * Source: k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust.
 */
import * as Effect from "effect/Effect"
import * as Bootstrap from "../auth/Bootstrap.ts"
import * as Certificates from "../../Certificates.ts"
import type { Storage } from "../../api/Storage.ts"

export interface FrontProxy {
  readonly certificate: Certificates.Certificate
  /** The authority that issued it, as PEM. */
  readonly authorityPem: string
  /** The authority of client certificates, as PEM. */
  readonly clientAuthorityPem: string
}

const commonName = "front-proxy-client"

/** A new authority and a certificate from it. `now` is wall clock time in milliseconds since 1970. */
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
