import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createPrivateKey, X509Certificate } from "node:crypto"
import * as Tls from "node:tls"
import * as Certificates from "../src/Certificates.ts"

const now = Date.UTC(2026, 0, 1)
const day = 24 * 3_600_000

/** DER of an object identifier or an extension's value, to be found in a certificate. */
const has = (certificate: X509Certificate, hex: string) => certificate.raw.toString("hex").includes(hex)

describe("Certificates", () => {
  it.effect("an authority signs itself and may sign others", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now, commonName: "my-ca", validity: 10 * day })
      const parsed = new X509Certificate(ca.certPem)
      assert.isTrue(parsed.ca)
      assert.strictEqual(parsed.subject, "CN=my-ca")
      assert.strictEqual(parsed.issuer, "CN=my-ca")
      assert.isTrue(parsed.verify(parsed.publicKey))
      assert.strictEqual(parsed.validToDate.getTime(), now + 10 * day)
      assert.strictEqual(parsed.validFromDate.getTime(), now - Certificates.defaults.backdate)
      assert.isTrue(has(parsed, "0603551d130101ff040530030101ff"), "basicConstraints, critical: CA")
      assert.isTrue(
        has(parsed, "0603551d0f0101ff040403020186"),
        "keyUsage, critical: signs, also certificates and CRLs"
      )
      assert.isTrue(has(parsed, "0603551d0e04160414"), "subjectKeyIdentifier")
    }))

  it.effect("an issued certificate carries its hosts, user and groups, and is signed by the authority", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const issued = yield* Certificates.issue(ca, {
        now,
        commonName: "jane",
        organizations: ["system:masters", "dev"],
        hosts: ["localhost", "*.svc.example", "127.0.0.1", "::1", "2001:db8::a:b", "::ffff:10.0.0.1"]
      })
      const parsed = new X509Certificate(issued.certPem)
      assert.isTrue(parsed.verify(new X509Certificate(ca.certPem).publicKey))
      assert.isTrue(parsed.checkIssued(new X509Certificate(ca.certPem)))
      assert.isFalse(parsed.ca)
      assert.strictEqual(parsed.subject, "O=system:masters\nO=dev\nCN=jane")
      assert.strictEqual(
        parsed.subjectAltName,
        "DNS:localhost, DNS:*.svc.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, " +
          "IP Address:2001:DB8:0:0:0:0:A:B, IP Address:0:0:0:0:0:FFFF:A00:1"
      )
      assert.strictEqual(parsed.checkHost("a.svc.example"), "*.svc.example")
      assert.isUndefined(parsed.checkHost("example.org"))
      assert.deepStrictEqual(parsed.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"])
      assert.isTrue(has(parsed, "0603551d130101ff04023000"), "basicConstraints, critical: no CA")
      assert.isTrue(has(parsed, "0603551d0f0101ff040403020780"), "keyUsage, critical: signs")
    }))

  it.effect("an issued certificate names its authority's key", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const issued = yield* Certificates.issue(ca, { now, commonName: "x" })
      const subjectKey = /0603551d0e04160414(.{40})/.exec(new X509Certificate(ca.certPem).raw.toString("hex"))?.[1]
      assert.isDefined(subjectKey)
      assert.isTrue(has(new X509Certificate(issued.certPem), `0603551d23041830168014${subjectKey}`))
    }))

  it.effect("keys are P-256 in PKCS #8, and TLS takes them with their certificates", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const issued = yield* Certificates.issue(ca, { now, commonName: "x" })
      for (const { certPem, keyPem } of [ca, issued]) {
        assert.match(certPem, /^-----BEGIN CERTIFICATE-----\n[^]+\n-----END CERTIFICATE-----\n$/)
        assert.match(keyPem, /^-----BEGIN PRIVATE KEY-----\n/)
        const key = createPrivateKey(keyPem)
        assert.strictEqual(key.asymmetricKeyDetails?.namedCurve, "prime256v1")
        assert.isTrue(new X509Certificate(certPem).checkPrivateKey(key))
        assert.isTrue(has(new X509Certificate(certPem), "06082a8648ce3d040302"), "ecdsa-with-SHA256")
        Tls.createSecureContext({ cert: certPem, key: keyPem, ca: ca.certPem })
      }
    }))

  it.effect("a name is taken as it is, whatever its characters", () =>
    Effect.gen(function*() {
      for (const name of ["a, b=c", "#12", "\"quoted\"", "back\\slash", "a+b; <c>", " spaced ", "Jürgen 王"]) {
        const ca = yield* Certificates.authority({ now, commonName: name })
        const issued = yield* Certificates.issue(ca, { now, commonName: name, organizations: [name] })
        const parsed = new X509Certificate(issued.certPem)
        assert.isTrue(parsed.checkIssued(new X509Certificate(ca.certPem)), name)
        const { CN, O } = parsed.toLegacyObject().subject as { readonly CN?: string; readonly O?: string }
        assert.deepStrictEqual([CN, O], [name, name])
      }
    }))

  it.effect("validity beyond 2049 is written with four-digit years, and never with a fraction of a second", () =>
    Effect.gen(function*() {
      const parsed = new X509Certificate(
        (yield* Certificates.authority({ now: now + 123, validity: 40 * 365 * day })).certPem
      )
      assert.strictEqual(parsed.validToDate.getTime(), now + 40 * 365 * day)
      assert.isTrue(has(parsed, `180f${Buffer.from("20651222000000Z").toString("hex")}`))
    }))

  it.effect("two certificates never share key or serial number", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const [a, b] = yield* Effect.forEach([1, 2], () => Certificates.issue(ca, { now, commonName: "x" }))
      const [first, second] = [new X509Certificate(a!.certPem), new X509Certificate(b!.certPem)]
      assert.notStrictEqual(first.serialNumber, second.serialNumber)
      assert.notStrictEqual(
        first.publicKey.export({ type: "spki", format: "pem" }),
        second.publicKey.export({ type: "spki", format: "pem" })
      )
    }))
})
