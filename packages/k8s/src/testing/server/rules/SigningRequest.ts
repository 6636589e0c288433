/**
 * `SigningRequest`: what a certificate signing request (PKCS #10) says of its subject.
 *
 * Source: RFC 2986 and RFC 5280.
 */
import * as Der from "./Der.ts"
import * as Pem from "./Pem.ts"

/** `2.5.4.10`, the organization. */
const organization = "55040a"

const attribute = (entry: Der.Value): ReadonlyArray<string> => {
  const [type, value] = Der.children(entry)
  return type !== undefined && value !== undefined && Buffer.from(type.content).toString("hex") === organization
    ? [Buffer.from(value.content).toString("utf8")]
    : []
}

/** The organizations of the subject of a request in base64; none of what is no request. */
export const organizations = (encoded: string): ReadonlyArray<string> =>
  Pem.blocks(Buffer.from(encoded, "base64").toString("latin1")).flatMap(({ bytes }) => {
    const [request] = Der.values(bytes) ?? []
    const [info] = request === undefined ? [] : Der.children(request)
    const [, subject] = info === undefined ? [] : Der.children(info)
    return subject === undefined ? [] : Der.children(subject).flatMap(Der.children).flatMap(attribute)
  })
