/**
 * `CertificatePlugins`: restricts who may approve and sign certificate requests of a signer, and which subjects the
 * signer of client certificates may sign.
 *
 * Approving requires the verb `approve`, and writing a certificate or conditions the verb `sign`, on the resource
 * `signers` with the signer's name or `DOMAIN/*`. Permission for the request itself was checked before, as always.
 *
 * Source: k8s.io/kubernetes/plugin/pkg/admission/certificates and pkg/apis/certificates/authorization.
 */
import * as Effect from "effect/Effect"
import * as Attributes from "../../api/Attributes.ts"
import { at, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Admission from "../Admission.ts"
import * as SigningRequest from "../server/rules/SigningRequest.ts"

const group = "certificates.k8s.io"
const requests = `certificatesigningrequests.${group}`

const signerOf = (request: unknown): string => stringAt(request, "spec", "signerName")

const mayAs = (
  { authorizer }: Admission.Server,
  { user }: Admission.Attributes,
  verb: string,
  signer: string
): boolean =>
  [signer, `${signer.split("/")[0]}/*`].some((name) =>
    authorizer.authorize(user, Attributes.resource({ verb, group, resource: "signers", name })).allowed
  )

/** A plugin that requires a permission for the signer if a subresource is written. */
const guard = (
  name: string,
  subresource: string,
  verb: string,
  concerns: (attributes: Admission.Attributes) => boolean
) =>
(server: Admission.Server): Admission.Plugin => ({
  name,
  handles: ({ operation, resource, ...attributes }) =>
    resource.collection === requests && operation === "UPDATE" && attributes.subresource === subresource,
  validate: (attributes) => {
    const signer = signerOf(attributes.oldObject)
    return !concerns(attributes) || mayAs(server, attributes, verb, signer)
      ? Effect.void
      : Effect.fail(Admission.forbidden(
        attributes,
        `user not permitted to ${verb} requests with signerName ${FieldError.quote(signer)}`
      ))
  }
})

/** `CertificateApproval`. */
export const approval = guard("CertificateApproval", "approval", "approve", () => true)

/** `CertificateSigning`: applies only to the fields that a signer writes. */
export const signing = guard(
  "CertificateSigning",
  "status",
  "sign",
  ({ object, oldObject }) =>
    ["certificate", "conditions"].some((key) =>
      !JsonValue.equals(at(object, "status", key), at(oldObject, "status", key))
    )
)

const clientSigner = "kubernetes.io/kube-apiserver-client"

/** `CertificateSubjectRestriction`: no client certificate can contain the group `system:masters`. */
export const subjectRestriction = (): Admission.Plugin => ({
  name: "CertificateSubjectRestriction",
  handles: ({ operation, resource, subresource }) =>
    resource.collection === requests && operation === "CREATE" && subresource === "",
  validate: (attributes) => {
    const { object } = attributes
    const masters = "system:masters"
    return signerOf(object) === clientSigner &&
        SigningRequest.organizations(stringAt(object, "spec", "request")).includes(masters)
      ? Effect.fail(
        Admission.forbidden(attributes, `use of ${clientSigner} signer with ${masters} group is not allowed`)
      )
      : Effect.void
  }
})
