/**
 * `OpenIdMetadata`: the two documents with which others can verify tokens of this server: the issuer and the keys.
 *
 * Each has only its own media type; a client that accepts only others gets a 406.
 *
 * Source: k8s.io/kubernetes/pkg/serviceaccount/openidmetadata.go and pkg/routes/openidmetadata.go.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Negotiation from "../../api/Negotiation.ts"
import { type ApiResponse, refused } from "../../api/Representation.ts"
import * as StatusError from "../../api/StatusError.ts"
import { issuer, type Tokens } from "./Tokens.ts"

/** The paths of the documents, with their media types. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".well-known/openid-configuration": "application/json",
  "openid/v1/jwks": "application/jwk-set+json"
}

const accepts = (accept: string | undefined, mediaType: string): boolean =>
  accept === undefined || Negotiation.parseAccept(accept).some(({ type }) => type === "*/*" || type === mediaType)

const keys = (tokens: Tokens): unknown => ({ keys: [tokens.key.jwk] })

const configuration = (host: string): unknown => ({
  issuer,
  // A real server uses its advertised address; here it is the Host of the request.
  jwks_uri: `https://${host}/openid/v1/jwks`,
  response_types_supported: ["id_token"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["ES256"]
})

/** Answers a request for one of them; undefined for any other request. */
export const answer = (
  tokens: Tokens,
  { headers, method }: Request,
  segments: ReadonlyArray<string>
): ApiResponse | undefined => {
  const path = segments.join("/")
  const mediaType = Object.hasOwn(mediaTypes, path) ? mediaTypes[path] : undefined
  if (mediaType === undefined) return undefined
  if (method !== "GET") return refused(StatusError.methodNotAllowed)
  if (!accepts(headers["accept"], mediaType)) return refused(StatusError.notAcceptable([mediaType]))
  return {
    status: 200,
    headers: { "content-type": mediaType, "cache-control": "public, max-age=3600" },
    body: mediaType === "application/json"
      ? configuration(headers["host"] ?? "kubernetes.default.svc")
      : keys(tokens),
    json: "compact"
  }
}
