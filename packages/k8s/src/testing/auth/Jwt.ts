/**
 * `Jwt`: signed tokens (JWS in compact form, ES256) and their signing key.
 *
 * The key is derived from the server's source of randomness, so a server with the same seed has the same key.
 * Signatures differ nevertheless, as is usual with ECDSA. The key id is derived as in Kubernetes.
 *
 * Source: RFC 7515 and 7517; k8s.io/kubernetes/pkg/serviceaccount/jwt.go (`keyIDFromPublicKey`).
 */
import * as Result from "effect/Result"
import * as NodeCrypto from "node:crypto"
import * as JsonValue from "../../schema/JsonValue.ts"

export interface Key {
  readonly id: string
  readonly privateKey: NodeCrypto.KeyObject
  readonly publicKey: NodeCrypto.KeyObject
  /** The public key as a JSON Web Key. */
  readonly jwk: Readonly<Record<string, unknown>>
}

/** 31 bytes are always below the order of P-256, so any random value is a valid key. */
const scalarBytes = 31

/** A new key. */
export const makeKey = (random: () => number): Key => {
  const scalar = Buffer.alloc(32)
  for (let at = 0; at < scalarBytes; at++) scalar[at + 1] = Math.floor(random() * 256)
  // Zero is not a valid key.
  scalar[31]! |= 1
  const curve = NodeCrypto.createECDH("prime256v1")
  curve.setPrivateKey(scalar)
  const point = curve.getPublicKey()
  const [x, y] = [point.subarray(1, 33).toString("base64url"), point.subarray(33).toString("base64url")]
  const key = { kty: "EC", crv: "P-256", x, y }
  const privateKey = NodeCrypto.createPrivateKey({ key: { ...key, d: scalar.toString("base64url") }, format: "jwk" })
  const publicKey = NodeCrypto.createPublicKey({ key, format: "jwk" })
  const id = NodeCrypto.createHash("sha256").update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url")
  return { id, privateKey, publicKey, jwk: { use: "sig", kty: "EC", kid: id, crv: "P-256", alg: "ES256", x, y } }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value), "utf8").toString("base64url")

/** A signed token with these claims. */
export const sign = (key: Key, claims: JsonValue.JsonObject): string => {
  const content = `${encode({ alg: "ES256", kid: key.id })}.${encode(claims)}`
  const signature = NodeCrypto.sign("sha256", Buffer.from(content), {
    key: key.privateKey,
    dsaEncoding: "ieee-p1363"
  })
  return `${content}.${signature.toString("base64url")}`
}

const part = (text: string): JsonValue.JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
    return JsonValue.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The claims of a token, whoever signed it; undefined if it is not a token. */
export const read = (token: string): JsonValue.JsonObject | undefined => {
  const parts = token.split(".")
  return parts.length === 3 ? part(parts[1]!) : undefined
}

/** The claims of a token signed by this key, or its fault in the words of a real server. */
export const verify = (key: Key, token: string): Result.Result<JsonValue.JsonObject, string> => {
  const [header = "", claims = "", signature = ""] = token.split(".")
  const { kid } = part(header) ?? {}
  if (typeof kid === "string" && kid !== "" && kid !== key.id) return Result.fail("invalid signature, no keys found")
  const sound = NodeCrypto.verify(
    "sha256",
    Buffer.from(`${header}.${claims}`),
    { key: key.publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url")
  )
  const read = part(claims)
  return sound && read !== undefined
    ? Result.succeed(read)
    : Result.fail("go-jose/go-jose: error in cryptographic primitive")
}
