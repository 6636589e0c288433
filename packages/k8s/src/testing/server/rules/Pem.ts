/**
 * `Pem`: decodes the envelopes of certificates, and reports their faults.
 *
 * Source: Go's encoding/pem, and `validateCertificate` of k8s.io/kubernetes/pkg/apis/certificates/validation.
 */
import * as Der from "./Der.ts"

/** A block in PEM text. */
export interface Block {
  readonly type: string
  readonly headers: ReadonlyArray<string>
  readonly bytes: Uint8Array
}

const envelope =
  /^-----BEGIN ([^\n]*)-----[ \t\r]*\n((?:[^\n:]+:[^\n]*\n)*)\s*([A-Za-z0-9+/=\s]*?)-----END \1-----[ \t\r]*(?:\n|$)/gm

/** The blocks in a text; everything else is skipped. */
export const blocks = (text: string): ReadonlyArray<Block> =>
  [...text.matchAll(envelope)].map(([, type = "", headers = "", content = ""]) => ({
    type,
    headers: headers.split("\n").filter((line) => line !== ""),
    bytes: Buffer.from(content, "base64")
  }))

const blockFault = ({ bytes, headers, type }: Block): string | undefined => {
  if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`
  if (headers.length > 0) return "no PEM block headers are permitted"
  const certificates = Der.values(bytes)
  if (certificates === undefined || certificates.some(({ tag }) => tag !== Der.sequence)) {
    return "x509: malformed certificate"
  }
  return certificates.length === 0 ? "found CERTIFICATE PEM block containing 0 certificates" : undefined
}

/** The fault of base64-encoded certificates; no certificates at all are valid. */
export const certificateFault = (encoded: string): string | undefined => {
  if (encoded === "") return undefined
  const found = blocks(Buffer.from(encoded, "base64").toString("latin1"))
  return found.length === 0
    ? "must contain at least one CERTIFICATE PEM block"
    : found.map(blockFault).find((why) => why !== undefined)
}
