/**
 * `Jwt`: signed tokens (JWS in compact form, ES256) and the key that signs them.
 *
 * The key is made from random numbers of the server's own source, so that a server under a seed has the same key every
 * time; signatures differ nonetheless, as ECDSA signatures do. Its id is derived from it as Kubernetes derives one.
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
  /** The public half as a JSON Web Key. */
  readonly jwk: Readonly<Record<string, unknown>>
}

/** The largest scalar that is certainly below the order of P-256, so that 31 random bytes are always a key. */
const scalarBytes = 31

/** A new key. */
export const makeKey = (random: () => number): Key => {
  const scalar = Buffer.alloc(32)
  for (let at = 0; at < scalarBytes; at++) scalar[at + 1] = Math.floor(random() * 256)
  // Zero is no key.
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

/** A token with these claims. */
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

/** The claims of what looks like a token, whoever signed it; undefined for anything else. */
export const read = (token: string): JsonValue.JsonObject | undefined => {
  const parts = token.split(".")
  return parts.length === 3 ? part(parts[1]!) : undefined
}

/** The claims of a token this key has signed, or what is wrong with it, as a real server says it. */
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
