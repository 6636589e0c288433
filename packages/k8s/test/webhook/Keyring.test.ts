import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { X509Certificate } from "node:crypto"
import * as Keyring from "../../src/webhook/Keyring.ts"

const hour = 3_600_000
const day = 24 * hour
const start = Date.UTC(2026, 0, 1)
const policy: Keyring.Policy = { hosts: ["webhooks.shop.svc", "127.0.0.1"] }

/** The next step where every change is seen to be configured as soon as it is made. */
const plan = (keyring: Keyring.Keyring | undefined, now: number, by: Keyring.Policy) =>
  Keyring.plan(keyring, now, by, keyring?.changedAt)

const step = (keyring: Keyring.Keyring | undefined, now: number, by = policy) =>
  Effect.gen(function*() {
    const next = plan(keyring, now, by)
    return next._tag === "Keep"
      ? undefined
      : { tag: next._tag, keyring: yield* Keyring.perform(next, keyring, now, by) }
  })

const made = Effect.map(step(undefined, start), (made) => made!.keyring)

/** Whether whoever trusts the bundle of one keyring takes the certificate that another shows. */
const trusts = (bundle: Keyring.Keyring, shown: Keyring.Keyring, now: number) => {
  const certificate = new X509Certificate(shown.serving.certPem)
  return certificate.validFromDate.getTime() <= now && certificate.validToDate.getTime() > now &&
    bundle.authorities.some((pem) => {
      const authority = new X509Certificate(pem)
      return certificate.checkIssued(authority) && certificate.verify(authority.publicKey) &&
        authority.validToDate.getTime() > now
    })
}

const noCertificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

describe("Keyring", () => {
  it.effect("a new one names every host, and is left alone for two thirds of its certificate's life", () =>
    Effect.gen(function*() {
      const keyring = yield* made
      const certificate = new X509Certificate(keyring.serving.certPem)
      assert.strictEqual(certificate.subjectAltName, "DNS:webhooks.shop.svc, IP Address:127.0.0.1")
      assert.isTrue(trusts(keyring, keyring, start))
      assert.deepStrictEqual(plan(keyring, start, policy), { _tag: "Keep", until: start + 60 * day })
      assert.strictEqual(plan(keyring, start + 60 * day, policy)._tag, "Issue")
    }))

  it.effect(
    "in ten years, nobody who is a step behind or ahead ever meets a certificate that he does not trust",
    () =>
      Effect.gen(function*() {
        let now = start
        let keyring = yield* made
        const seen = new Set<string>()
        let steps = 0
        while (now < start + 3650 * day) {
          const due = plan(keyring, now, policy)
          if (due._tag === "Keep") {
            assert.isAbove(due.until, now)
            now = due.until
            continue
          }
          const next = yield* Keyring.perform(due, keyring, now, policy)
          // The API server knows the old bundle and a replica shows the new certificate, and the other way round.
          assert.isTrue(trusts(keyring, next, now), `${due._tag}: the new certificate under the old bundle`)
          assert.isTrue(trusts(next, keyring, now), `${due._tag}: the old certificate under the new bundle`)
          seen.add(due._tag)
          keyring = next
          steps += 1
          assert.isAtMost(keyring.authorities.length, 2)
        }
        assert.deepStrictEqual([...seen].sort(), ["AddAuthority", "DropAuthorities", "Issue"])
        assert.isBelow(steps, 120)
      })
  )

  it.effect("a new authority signs only after the overlap, and the old one goes after another", () =>
    Effect.gen(function*() {
      const short: Keyring.Policy = { ...policy, authorityValidity: "90 minutes", validity: "30 minutes" }
      const at = start + hour
      const first = (yield* step(undefined, start, short))!.keyring
      const fresh = (yield* step(first, start + hour / 3 + 1000, short))!.keyring
      const added = yield* step({ ...fresh, serving: first.serving }, at, short)
      assert.strictEqual(added?.tag, "Issue", "it has expired: there is nothing to wait for")
      const renewed = (yield* step(first, start + hour / 3 + 1000, short))!.keyring
      const two = (yield* step(renewed, at + 1000, short))!
      assert.strictEqual(two.tag, "Issue")
      const authority = (yield* step(two.keyring, at + 2000, short))!
      assert.strictEqual(authority.tag, "AddAuthority")
      const settled = at + 2000 + 300_000
      assert.deepStrictEqual(plan(authority.keyring, at + 3000, short), { _tag: "Keep", until: settled })
      const issued = (yield* step(authority.keyring, settled, short))!
      assert.strictEqual(issued.tag, "Issue")
      assert.strictEqual(plan(issued.keyring, settled + 1000, short)._tag, "Keep")
      const dropped = (yield* step(issued.keyring, settled + 300_000, short))!
      assert.strictEqual(dropped.tag, "DropAuthorities")
      assert.lengthOf(dropped.keyring.authorities, 1)
    }))

  it.effect("the overlap counts from when everybody is seen to trust; what cannot wait does not", () =>
    Effect.gen(function*() {
      const now = start + 500 * day
      const renewed = (yield* step(yield* made, now))!.keyring
      const added = (yield* step(renewed, now))!
      assert.strictEqual(added.tag, "AddAuthority")
      const late = now + day
      assert.deepStrictEqual(Keyring.plan(added.keyring, late, policy, undefined), { _tag: "Keep", until: Infinity })
      assert.deepStrictEqual(Keyring.plan(added.keyring, late, policy, late), { _tag: "Keep", until: late + 300_000 })
      const issued = (yield* step(added.keyring, late))!
      assert.strictEqual(issued.tag, "Issue")
      const renewal = late + 60 * day
      assert.deepStrictEqual(Keyring.plan(issued.keyring, late + day, policy, undefined), {
        _tag: "Keep",
        until: renewal
      })
      assert.strictEqual(Keyring.plan(issued.keyring, late + day, policy, late)._tag, "DropAuthorities")
      for (const keyring of [issued.keyring, added.keyring]) {
        assert.strictEqual(Keyring.plan(keyring, now + 91 * day, policy, undefined)._tag, "Issue")
      }
    }))

  it.effect("another host, an expired certificate and a foreign one are mended at once", () =>
    Effect.gen(function*() {
      const keyring = yield* made
      const other = yield* made
      const moved = { ...policy, hosts: [...policy.hosts, "hooks.example.org"] }
      assert.deepStrictEqual(plan(keyring, start, moved), {
        _tag: "Issue",
        why: "the certificate does not name hooks.example.org",
        also: policy.hosts
      })
      assert.strictEqual(plan(keyring, start + 91 * day, policy)._tag, "Issue")
      assert.strictEqual(plan(keyring, start + 731 * day, policy)._tag, "Make")
      assert.strictEqual(plan({ ...keyring, serving: other.serving }, start, policy)._tag, "Issue")
    }))

  it.effect("replicas that disagree about the hosts agree on a certificate with all of them", () =>
    Effect.gen(function*() {
      const policies = ["old", "new", "::1", "10.0.0.1"].map((host): Keyring.Policy => ({ hosts: [host, "shared"] }))
      let keyring = (yield* step(undefined, start, policies[0]))!.keyring
      let issued = 0
      for (let round = 0; round < 3; round++) {
        for (const by of policies) {
          const next = yield* step(keyring, start, by)
          if (next === undefined) continue
          assert.strictEqual(next.tag, "Issue")
          keyring = next.keyring
          issued += 1
        }
      }
      assert.strictEqual(issued, policies.length - 1)
      // One that is alone by then has a certificate of its own again.
      const renewed = (yield* step(keyring, start + 60 * day, policies[1]))!.keyring
      assert.strictEqual(new X509Certificate(renewed.serving.certPem).subjectAltName, "DNS:new, DNS:shared")
    }))

  it.effect("what was made by a clock that is ahead is replaced by the first whose clock is not", () =>
    Effect.gen(function*() {
      const ahead = (yield* step(undefined, start + 3 * day))!.keyring
      const anew = (yield* step(ahead, start))!
      assert.strictEqual(anew.tag, "Make")
      for (const now of [start, start + 3 * day]) {
        assert.isTrue(trusts(anew.keyring, anew.keyring, now))
        assert.strictEqual(
          plan(anew.keyring, now, policy)._tag,
          "Keep",
          "and stays, for whoever made the other, too"
        )
      }
      const keyring = yield* made
      const late = yield* Keyring.perform({ _tag: "Issue", why: "" }, keyring, start + 3 * day, policy)
      const issued = (yield* step(late, start))!
      assert.strictEqual(issued.tag, "Issue")
      assert.isTrue(trusts(keyring, issued.keyring, start))
      const added = yield* Keyring.perform({ _tag: "AddAuthority", why: "" }, keyring, start + 3 * day, policy)
      const another = (yield* step(added, start))!
      assert.strictEqual(another.tag, "AddAuthority", "the certificate that is shown is good")
      assert.isTrue(trusts(another.keyring, keyring, start))
      const strange = (yield* step(undefined, start - day))!.keyring.serving
      assert.strictEqual(
        plan({ ...added, serving: strange }, start, policy)._tag,
        "Make",
        "there is nothing good"
      )
      const signing = (yield* step(another.keyring, start + 300_000))!
      assert.isTrue(trusts(another.keyring, signing.keyring, start + 300_000))
      // An hour ahead is within what every certificate allows for.
      const little = (yield* step(undefined, start + hour))!.keyring
      assert.strictEqual(plan(little, start, policy)._tag, "Keep")
    }))

  it.effect("a certificate holds no longer than its authority, and has a name that fits, however long its host's is", () =>
    Effect.gen(function*() {
      const host = `${"a".repeat(60)}.${"b".repeat(60)}.svc`
      const brief: Keyring.Policy = { hosts: [host], authorityValidity: "30 days" }
      const { authorities: [authority], serving } = (yield* step(undefined, start, brief))!.keyring
      const [by, shown] = [authority!, serving.certPem].map((pem) => new X509Certificate(pem)) as [
        X509Certificate,
        X509Certificate
      ]
      assert.strictEqual(shown.validToDate.getTime(), by.validToDate.getTime())
      for (const { subject } of [by, shown]) assert.isAtMost(subject.replace("CN=", "").length, 64)
      assert.strictEqual(shown.checkHost(host), host)
    }))

  it.effect("a Secret gives back what went in, and nothing where it does not fit together", () =>
    Effect.gen(function*() {
      const keyring = yield* made
      const other = yield* made
      const { annotations, data, type } = Keyring.toSecret(keyring)
      assert.strictEqual(type, "kubernetes.io/tls")
      assert.deepStrictEqual(Keyring.fromSecret({ metadata: { annotations }, data }), keyring)
      const strange = Keyring.toSecret(other).data
      const broken: ReadonlyArray<Record<string, string>> = [
        {},
        { ...data, "tls.key": strange["tls.key"] },
        { ...data, "ca.key": strange["ca.key"] },
        { ...data, "ca.crt": "" },
        { ...data, "tls.crt": Buffer.from("nonsense").toString("base64") },
        // A chain whose second certificate is none: no server can show it.
        { ...data, "tls.crt": Buffer.from(`${keyring.serving.certPem}${noCertificate}`).toString("base64") }
      ]
      for (const data of broken) assert.isUndefined(Keyring.fromSecret({ metadata: {}, data }))
      // Nobody knows since when: long ago.
      for (const metadata of [{}, { annotations: { [Keyring.annotation]: "some day" } }]) {
        assert.strictEqual(Keyring.fromSecret({ metadata, data })?.changedAt, 0)
      }
    }))
})
