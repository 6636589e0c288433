/**
 * `Certificates`: X.509 certificates: a self-signed authority, and the server and client certificates that it issues.
 *
 * Guarantees: ECDSA P-256 with SHA-256 throughout, X.509 v3 with the extensions that OpenSSL, Go and Node check
 * (basicConstraints, keyUsage, extendedKeyUsage, subjectAltName, key identifiers), a random serial number for each,
 * certificates and PKCS #8 keys as PEM text. A certificate is valid from an hour before `now`, so that a peer whose
 * clock is a little behind accepts it. Names are used literally: no character needs escaping.
 *
 * This module issues certificates of one profile and never verifies any; to read one, use `X509Certificate` of
 * `node:crypto`. The time is an argument, because TLS peers compare it with the wall clock, not with a test's clock.
 * The library that writes certificates is loaded with the first certificate, not by importing this module.
 *
 * Source: RFC 5280 (certificate profile).
 */
import type * as X509 from "@peculiar/x509"
import * as Effect from "effect/Effect"
import * as NodeCrypto from "node:crypto"
import * as Net from "node:net"

/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly certPem: string
  /** PKCS #8 if issued by this module. */
  readonly keyPem: string
}

/** A certificate that may sign others. */
export interface Authority extends Certificate {
  readonly commonName: string
}

export const defaults = {
  /** How long a certificate is valid, in milliseconds: a year. */
  validity: 365 * 24 * 3_600_000,
  /** How long before `now` its validity starts, in milliseconds. */
  backdate: 3_600_000
} as const

export interface AuthorityOptions {
  /** Milliseconds since the epoch, by the clock of whoever checks the certificate. */
  readonly now: number
  readonly commonName?: string
  /** Milliseconds. */
  readonly validity?: number
}

export interface IssueOptions {
  /** Milliseconds since the epoch, by the clock of whoever checks the certificate. */
  readonly now: number
  /** For a client certificate: the user name. */
  readonly commonName: string
  /** For a client certificate: the user's groups. */
  readonly organizations?: ReadonlyArray<string>
  /** For a server certificate: its host names in ASCII (`*.example.org` allowed) and IP addresses. */
  readonly hosts?: ReadonlyArray<string>
  /** Milliseconds. */
  readonly validity?: number
}

/** A new self-signed authority. */
export const authority = (options: AuthorityOptions): Effect.Effect<Authority> =>
  Effect.promise(async () => {
    const x509 = await library()
    const keys = await generateKeys()
    const commonName = options.commonName ?? "effect-operator-ca"
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: new x509.Name(distinguishedName(commonName, [])),
      ...validity(options),
      keys,
      signingAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
          true
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)
      ]
    })
    return { certPem: certPem(certificate), keyPem: keyPem(keys.privateKey), commonName }
  })

/** A certificate for a server (`hosts`) or a client, signed by `by`. */
export const issue = (by: Authority, options: IssueOptions): Effect.Effect<Certificate> =>
  Effect.promise(async () => {
    const x509 = await library()
    const keys = await generateKeys()
    const issuer = new x509.X509Certificate(by.certPem)
    const hosts = options.hosts ?? []
    const certificate = await x509.X509CertificateGenerator.create({
      issuer: issuer.subjectName,
      subject: new x509.Name(distinguishedName(options.commonName, options.organizations ?? [])),
      ...validity(options),
      publicKey: keys.publicKey,
      signingKey: await signingKey(by.keyPem),
      signingAlgorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
        ...(hosts.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(hosts.map(alternativeName))])
      ]
    })
    return { certPem: certPem(certificate), keyPem: keyPem(keys.privateKey) }
  })

const library = async (): Promise<typeof X509> => {
  // The library's dependency injection reads metadata as soon as it is loaded.
  await import("reflect-metadata")
  return import("@peculiar/x509")
}

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" } as const
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" } as const

const generateKeys = () => NodeCrypto.webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"])

const signingKey = (pem: string) => {
  const der = NodeCrypto.createPrivateKey(pem).export({ type: "pkcs8", format: "der" })
  return NodeCrypto.webcrypto.subtle.importKey("pkcs8", der, keyAlgorithm, false, ["sign"])
}

const keyPem = (key: NodeCrypto.webcrypto.CryptoKey): string =>
  NodeCrypto.KeyObject.from(key).export({ type: "pkcs8", format: "pem" }).toString()

const certPem = (certificate: X509.X509Certificate): string => `${certificate.toString("pem")}\n`

const validity = (options: { readonly now: number; readonly validity?: number }) => ({
  notBefore: new Date(options.now - defaults.backdate),
  notAfter: new Date(options.now + (options.validity ?? defaults.validity))
})

/** Tagged values, because the library would interpret escapes and quotes in plain strings. */
const distinguishedName = (commonName: string, organizations: ReadonlyArray<string>): X509.JsonNameParams => [
  ...organizations.map((name) => ({ O: [{ utf8String: name }] })),
  { CN: [{ utf8String: commonName }] }
]

const alternativeName = (host: string): X509.JsonGeneralName =>
  Net.isIPv6(host)
    // In canonical form: the library cannot read an IPv4 address embedded in an IPv6 one.
    ? { type: "ip", value: new URL(`http://[${host}]`).hostname.slice(1, -1) }
    : { type: Net.isIPv4(host) ? "ip" : "dns", value: host }
