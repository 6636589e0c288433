/**
 * `SecretWarnings`: warnings about a `kubernetes.io/tls` Secret whose certificate or key is invalid, or which do not
 * match.
 *
 * The messages are Go's (`crypto/tls.X509KeyPair`), except for those about a certificate or key that cannot be parsed.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/secret/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import { stringAt } from "../../api/Plain.ts"
import type { Warnings } from "./NodeLabelWarnings.ts"

interface Block {
  readonly type: string
  readonly pem: string
}

const blocksOf = (base64: string): ReadonlyArray<Block> =>
  [...Buffer.from(base64, "base64").toString("latin1").matchAll(/-----BEGIN ([^-]+)-----[^-]*-----END \1-----/g)].map(
    ([pem, type]) => ({ pem, type: type! })
  )

const isKey = ({ type }: Block): boolean => type.endsWith("PRIVATE KEY")
const isCertificate = ({ type }: Block): boolean => type === "CERTIFICATE"

const none = (what: string): string => `tls: failed to find any PEM data in ${what} input`
const types = (blocks: ReadonlyArray<Block>): string => `[${blocks.map(({ type }) => type).join(" ")}]`

const withoutCertificate = (blocks: ReadonlyArray<Block>): string =>
  blocks.length === 0
    ? none("certificate")
    : blocks.length === 1 && isKey(blocks[0]!)
    ? "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may " +
      "have been switched"
    : `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following ` +
      `types: ${types(blocks)}`

const withoutKey = (blocks: ReadonlyArray<Block>): string =>
  blocks.length === 0
    ? none("key")
    : blocks.length === 1 && isCertificate(blocks[0]!)
    ? "tls: found a certificate rather than a key in the PEM for the private key"
    : `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the ` +
      `following types: ${types(blocks)}`

const attempt = <A>(make: () => A): A | undefined => {
  try {
    return make()
  } catch {
    return undefined
  }
}

const mismatch = (certificate: X509Certificate, key: KeyObject): Warnings =>
  certificate.publicKey.asymmetricKeyType !== key.asymmetricKeyType
    ? ["tls: private key type does not match public key type"]
    : certificate.checkPrivateKey(key)
    ? []
    : ["tls: private key does not match public key"]

export const ofSecret = (secret: KubeObject): Warnings => {
  if (stringAt(secret, "type") !== "kubernetes.io/tls") return []
  const certificates = blocksOf(stringAt(secret, "data", "tls.crt"))
  const first = certificates.find(isCertificate)
  if (first === undefined) return [withoutCertificate(certificates)]
  const keys = blocksOf(stringAt(secret, "data", "tls.key"))
  const private_ = keys.find(isKey)
  if (private_ === undefined) return [withoutKey(keys)]
  const certificate = attempt(() => new X509Certificate(first.pem))
  if (certificate === undefined) return ["x509: malformed certificate"]
  const key = attempt(() => createPrivateKey(private_.pem))
  return key === undefined ? ["tls: failed to parse private key"] : mismatch(certificate, key)
}
