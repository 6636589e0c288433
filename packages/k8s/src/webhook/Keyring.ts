/**
 * `Keyring`: the certificates of a webhook server, and the next step of their rotation.
 *
 * Clients must trust the served certificate at every moment, although clients, replicas and the Secret that holds all
 * this learn of a change at different times. So a new authority is first trusted beside the old one (`AddAuthority`).
 * Once everybody has had time to learn of it, it signs a new certificate (`Issue`). The old authority is dropped only
 * when its certificates are no longer served (`DropAuthorities`). The `overlap` lies between two steps.
 *
 * Replicas may disagree about the hosts, for instance while a new version with another Service is rolled out. A
 * certificate that is replaced because it lacks a host keeps its other hosts, so that the replicas do not replace each
 * other's for ever. It loses them at its next renewal.
 *
 * `plan` decides, and knows no time but its argument; `perform` executes a step. `toSecret` and `fromSecret` convert a
 * keyring to a Secret and back; invalid contents count as no keyring, and are replaced as a whole.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as NodeCrypto from "node:crypto"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as Certificates from "../Certificates.ts"

export const defaults = {
  /** The validity of an authority. It is replaced when a third of it is left. */
  authorityValidity: "730 days",
  /** The validity of a server certificate. It is replaced when a third of it is left. */
  validity: "90 days",
  /** How long everybody has to learn of a change before the next step relies on it. */
  overlap: "5 minutes"
} as const

export interface Policy {
  /** Host names of the server. */
  readonly hosts: ReadonlyArray<string>
  readonly authorityValidity?: Duration.Input | undefined
  readonly validity?: Duration.Input | undefined
  readonly overlap?: Duration.Input | undefined
}

export interface Keyring {
  /** All trusted authorities, PEM, the newest last. */
  readonly authorities: ReadonlyArray<string>
  /** The key of the newest authority, PEM. */
  readonly signingKey: string
  readonly serving: Certificates.Certificate
  /** When the authorities or the signer last changed, in milliseconds. */
  readonly changedAt: number
}

export type Step =
  /** No step until then. */
  | { readonly _tag: "Keep"; readonly until: number }
  /** Replace everything: nothing can be reused. */
  | { readonly _tag: "Make"; readonly why: string }
  | { readonly _tag: "AddAuthority"; readonly why: string }
  /** `also`: hosts besides those of the policy. */
  | { readonly _tag: "Issue"; readonly why: string; readonly also?: ReadonlyArray<string> }
  | { readonly _tag: "DropAuthorities"; readonly why: string }

export const secretType = "kubernetes.io/tls"
export const annotation = "webhook.effect-operator.dev/changed-at"

const millis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

/** The bundle for clients to trust. */
export const bundle = ({ authorities }: Pick<Keyring, "authorities">): string => authorities.join("")

/** When the served certificate expires, in milliseconds. */
export const expiry = ({ serving }: Pick<Keyring, "serving">): number =>
  new NodeCrypto.X509Certificate(serving.certPem).validToDate.getTime()

/** When to replace a certificate: when a third of its validity since issue is left. */
const renewal = (certificate: NodeCrypto.X509Certificate): number => {
  const made = certificate.validFromDate.getTime() + Certificates.defaults.backdate
  const end = certificate.validToDate.getTime()
  return end - (end - made) / 3
}

/** Whether a certificate is not valid yet. */
const isEarly = (certificate: NodeCrypto.X509Certificate, now: number): boolean =>
  certificate.validFromDate.getTime() > now

const has = (certificate: NodeCrypto.X509Certificate, host: string): boolean =>
  (Net.isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined

/** The hosts that a certificate of this module names. */
const hostsOf = ({ subjectAltName = "" }: NodeCrypto.X509Certificate): ReadonlyArray<string> =>
  [...subjectAltName.matchAll(/(?:DNS|IP Address):([^,\s]+)/g)].map(([, host]) => host!)

const signs = (authority: NodeCrypto.X509Certificate, certificate: NodeCrypto.X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

/**
 * The next step for a keyring. `trustedSince`: since when its bundle has been seen to be configured everywhere;
 * undefined if it is not, or cannot be seen. The steps that rely on that wait for an `overlap` after it.
 */
export const plan = (
  keyring: Keyring | undefined,
  now: number,
  policy: Policy,
  trustedSince: number | undefined
): Step => {
  if (keyring === undefined) return { _tag: "Make", why: "there are no certificates" }
  const authorities = keyring.authorities.map((pem) => new NodeCrypto.X509Certificate(pem))
  const serving = new NodeCrypto.X509Certificate(keyring.serving.certPem)
  const newest = authorities.at(-1)!
  if (newest.validToDate.getTime() <= now) return { _tag: "Make", why: "the authority has expired" }
  const signer = authorities.find((authority) => signs(authority, serving))
  if (isEarly(newest, now)) {
    const why = "the authority is not valid yet: the clock of the machine that issued it was ahead"
    return signer === undefined || isEarly(signer, now) ? { _tag: "Make", why } : { _tag: "AddAuthority", why }
  }
  if (serving.validToDate.getTime() <= now) return { _tag: "Issue", why: "the certificate has expired" }
  if (isEarly(serving, now)) {
    return { _tag: "Issue", why: "the certificate is not valid yet: the clock of the machine that issued it was ahead" }
  }
  if (signer === undefined) {
    return { _tag: "Issue", why: "the certificate is signed by an authority that is not in the bundle" }
  }
  const missing = policy.hosts.find((host) => !has(serving, host))
  if (missing !== undefined) {
    return { _tag: "Issue", why: `the certificate does not name ${missing}`, also: hostsOf(serving) }
  }

  const settled = trustedSince === undefined
    ? Infinity
    : Math.max(keyring.changedAt, trustedSince) + millis(policy.overlap ?? defaults.overlap)
  if (signer !== newest) {
    return now >= settled
      ? { _tag: "Issue", why: "the new authority has had time to become trusted" }
      : { _tag: "Keep", until: settled }
  }
  if (now >= renewal(newest)) return { _tag: "AddAuthority", why: "the authority is about to expire" }
  if (now >= renewal(serving)) return { _tag: "Issue", why: "the certificate is about to expire" }
  if (authorities.length > 1 && now >= settled) {
    return { _tag: "DropAuthorities", why: "certificates of the old authority are no longer in use" }
  }
  return {
    _tag: "Keep",
    until: Math.min(renewal(newest), renewal(serving), authorities.length > 1 ? settled : Infinity)
  }
}

/** What a step does, for a person. */
export const deed: Readonly<Record<Exclude<Step["_tag"], "Keep">, string>> = {
  Make: "making an authority and a certificate",
  AddAuthority: "adding a new authority",
  Issue: "issuing a certificate",
  DropAuthorities: "dropping old authorities"
}

/** The keyring after a step. */
export const perform = (
  step: Exclude<Step, { readonly _tag: "Keep" }>,
  keyring: Keyring | undefined,
  now: number,
  policy: Policy
): Effect.Effect<Keyring> =>
  Effect.gen(function*() {
    if (step._tag === "Make" || keyring === undefined) {
      const authority = yield* newAuthority(now, policy)
      return {
        authorities: [authority.certPem],
        signingKey: authority.keyPem,
        serving: yield* issue(authority, now, policy),
        changedAt: now
      }
    }
    const newest = { commonName: "", certPem: keyring.authorities.at(-1)!, keyPem: keyring.signingKey }
    switch (step._tag) {
      case "AddAuthority": {
        const authority = yield* newAuthority(now, policy)
        return {
          ...keyring,
          authorities: [...keyring.authorities, authority.certPem],
          signingKey: authority.keyPem,
          changedAt: now
        }
      }
      case "Issue":
        return {
          ...keyring,
          serving: yield* issue(newest, now, { ...policy, hosts: [...new Set([...policy.hosts, ...step.also ?? []])] }),
          changedAt: now
        }
      case "DropAuthorities":
        return { ...keyring, authorities: [newest.certPem], changedAt: now }
    }
  })

const newAuthority = (now: number, { authorityValidity = defaults.authorityValidity, hosts }: Policy) =>
  Certificates.authority({
    now,
    // Verifiers find the issuer by name, so authorities need different names.
    commonName: `${hosts[0] ?? "webhook"}-ca-${now.toString(36)}`.slice(-64),
    validity: millis(authorityValidity)
  })

const issue = (by: Certificates.Authority, now: number, { hosts, validity = defaults.validity }: Policy) =>
  Certificates.issue(by, {
    now,
    // Limited to 64 characters; verifiers use the alternative names.
    commonName: (hosts[0] ?? "webhook").slice(0, 64),
    hosts,
    // Must not outlive its authority.
    validity: Math.min(
      millis(validity),
      new NodeCrypto.X509Certificate(by.certPem).validToDate.getTime() - now
    )
  })

// --- as a Secret ----------------------------------------------------------------------------------------------------

export interface Stored {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
}

const encode = (text: string): string => Buffer.from(text, "utf8").toString("base64")
const decode = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString("utf8")

/** Type, data and annotations of the Secret. */
export const toSecret = (keyring: Keyring) => ({
  type: secretType,
  annotations: { [annotation]: new Date(keyring.changedAt).toISOString() },
  data: {
    "ca.crt": encode(bundle(keyring)),
    "ca.key": encode(keyring.signingKey),
    "tls.crt": encode(keyring.serving.certPem),
    "tls.key": encode(keyring.serving.keyPem)
  }
})

const pemBlocks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g

/** The keyring in a Secret; undefined if it has no consistent one. */
export const fromSecret = ({ data = {}, metadata }: Stored): Keyring | undefined => {
  try {
    const authorities = decode(data["ca.crt"]).match(pemBlocks) ?? []
    const keyring: Keyring = {
      authorities,
      signingKey: decode(data["ca.key"]),
      serving: { certPem: decode(data["tls.crt"]), keyPem: decode(data["tls.key"]) },
      changedAt: Date.parse(metadata.annotations?.[annotation] ?? "") || 0
    }
    const fits = (certPem: string, keyPem: string) =>
      new NodeCrypto.X509Certificate(certPem).checkPrivateKey(NodeCrypto.createPrivateKey(keyPem))
    for (const pem of authorities) void new NodeCrypto.X509Certificate(pem)
    const { certPem, keyPem } = keyring.serving
    if (authorities.length === 0 || !fits(authorities.at(-1)!, keyring.signingKey) || !fits(certPem, keyPem)) {
      return undefined
    }
    // Throws if a server could not use it, for instance because of the chain after the certificate.
    Tls.createSecureContext({ cert: certPem, key: keyPem })
    return keyring
  } catch {
    return undefined
  }
}
