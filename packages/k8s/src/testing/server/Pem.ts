/**
 * `Pem`: the envelopes of certificates, and what is wrong with them.
 *
 * Source: Go's encoding/pem, and `validateCertificate` of k8s.io/kubernetes/pkg/apis/certificates/validation.
 */

/** A block of a PEM text. */
export interface Block {
  readonly type: string
  readonly headers: ReadonlyArray<string>
  readonly bytes: Uint8Array
}

const envelope =
  /^-----BEGIN ([^\n]*)-----[ \t\r]*\n((?:[^\n:]+:[^\n]*\n)*)\s*([A-Za-z0-9+/=\s]*?)-----END \1-----[ \t\r]*(?:\n|$)/gm

/** The blocks of a text; what is no block is passed over. */
export const blocks = (text: string): ReadonlyArray<Block> =>
  [...text.matchAll(envelope)].map(([, type = "", headers = "", content = ""]) => ({
    type,
    headers: headers.split("\n").filter((line) => line !== ""),
    bytes: Buffer.from(content, "base64")
  }))

/** The length of the DER value at an offset, with its tag; undefined where there is none, or not all of it. */
const lengthAt = (bytes: Uint8Array, offset: number): number | undefined => {
  const first = bytes[offset + 1]
  if (first === undefined) return undefined
  const more = first < 0x80 ? 0 : first - 0x80
  const size = first < 0x80
    ? first
    : bytes.slice(offset + 2, offset + 2 + more).reduce((sum, byte) => sum * 256 + byte, 0)
  const length = 2 + more + size
  return offset + length > bytes.length ? undefined : length
}

/** How many DER sequences the bytes are; undefined if they are anything else. */
const sequences = (bytes: Uint8Array): number | undefined => {
  let count = 0
  for (let offset = 0; offset < bytes.length; count++) {
    const length = bytes[offset] === 0x30 ? lengthAt(bytes, offset) : undefined
    if (length === undefined) return undefined
    offset += length
  }
  return count
}

const blockFault = ({ bytes, headers, type }: Block): string | undefined => {
  if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`
  if (headers.length > 0) return "no PEM block headers are permitted"
  const count = sequences(bytes)
  if (count === undefined) return "x509: malformed certificate"
  return count === 0 ? "found CERTIFICATE PEM block containing 0 certificates" : undefined
}

/** What is wrong with certificates in base64; none at all are fine. */
export const certificateFault = (encoded: string): string | undefined => {
  if (encoded === "") return undefined
  const found = blocks(Buffer.from(encoded, "base64").toString("latin1"))
  return found.length === 0
    ? "must contain at least one CERTIFICATE PEM block"
    : found.map(blockFault).find((why) => why !== undefined)
}
