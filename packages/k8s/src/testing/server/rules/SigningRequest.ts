/**
 * `SigningRequest`: the subject of a certificate signing request (PKCS #10).
 *
 * Source: RFC 2986 and RFC 5280.
 */
import * as Der from "./Der.ts"
import * as Pem from "./Pem.ts"

/** The object identifier `2.5.4.10`: organization. */
const organization = "55040a"

const attribute = (entry: Der.Value): ReadonlyArray<string> => {
  const [type, value] = Der.children(entry)
  return type !== undefined && value !== undefined && Buffer.from(type.content).toString("hex") === organization
    ? [Buffer.from(value.content).toString("utf8")]
    : []
}

/** The organizations in the subject of a base64-encoded request; empty if it is invalid. */
export const organizations = (encoded: string): ReadonlyArray<string> =>
  Pem.blocks(Buffer.from(encoded, "base64").toString("latin1")).flatMap(({ bytes }) => {
    const [request] = Der.values(bytes) ?? []
    const [info] = request === undefined ? [] : Der.children(request)
    const [, subject] = info === undefined ? [] : Der.children(info)
    return subject === undefined ? [] : Der.children(subject).flatMap(Der.children).flatMap(attribute)
  })
