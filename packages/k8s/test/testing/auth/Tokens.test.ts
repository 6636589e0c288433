import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Jwt from "../../../src/testing/auth/Jwt.ts"
import { audience, Tokens } from "../../../src/testing/auth/Tokens.ts"
import { Storage } from "../../../src/api/Storage.ts"

/** The same numbers every time. */
const numbers = (seed: number) => () => {
  seed = (seed * 16_807) % 2_147_483_647
  return seed / 2_147_483_647
}

const hour = 3_600_000
const now = 1_000_000_000_000

const store = (storage: Storage, collection: string, name: string, more: object = {}) =>
  storage.put(collection, collection === "nodes" ? name : `n/${name}`, collection === "nodes" ? "" : "n", {
    apiVersion: "v1",
    kind: "X",
    metadata: { name, namespace: "n", uid: `uid-${name}`, ...more }
  } as unknown as KubeObject).object

const setup = () => {
  const storage = new Storage(100)
  const tokens = new Tokens(storage, numbers(7))
  const account = store(storage, "serviceaccounts", "a")
  const issue = (more: Partial<Parameters<Tokens["issue"]>[0]> = {}) =>
    tokens.issue({ account, bound: undefined, audiences: [audience], expirationSeconds: 3600, now, id: "id", ...more })
  const why = (token: string, at = now, audiences?: ReadonlyArray<string>) =>
    Result.match(tokens.authenticate(token, at, audiences), { onSuccess: () => "good", onFailure: (text) => text })
  return { account, issue, storage, tokens, why }
}

const invalid = (text: string) => `[invalid bearer token, ${text}]`

describe("Tokens", () => {
  it("authenticates a service account until its token has expired, and a minute more", () => {
    const { issue, tokens, why } = setup()
    const token = issue()
    const known = Result.getOrThrow(tokens.authenticate(token, now))
    assert.deepStrictEqual(known, {
      user: {
        username: "system:serviceaccount:n:a",
        groups: ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"],
        uid: "uid-a",
        extra: { "authentication.kubernetes.io/credential-id": ["JTI=id"] }
      },
      audiences: [audience]
    })
    assert.strictEqual(Result.getOrThrow(tokens.authenticate(token, now)).user, known.user, "the same value every time")
    assert.strictEqual(why(token, now + hour + 59_000), "good")
    assert.strictEqual(why(token, now + hour + 61_000), invalid("service account token has expired"))
    assert.strictEqual(why(token, now - 61_000), invalid("service account token is not valid yet"))
  })

  it("refuses what it has not signed", () => {
    const { issue, why } = setup()
    const token = issue()
    const [header, claims, signature] = token.split(".") as [string, string, string]
    const forged = Buffer.from(JSON.stringify({ ...Jwt.read(token), sub: "system:serviceaccount:n:b" })).toString(
      "base64url"
    )
    const crypto = invalid("go-jose/go-jose: error in cryptographic primitive")
    assert.strictEqual(why(`${header}.${forged}.${signature}`), crypto)
    assert.strictEqual(why(`${header}.${claims}.`), crypto)
    const other = Jwt.sign(Jwt.makeKey(numbers(8)), { ...Jwt.read(token) })
    assert.strictEqual(why(other), invalid("invalid signature, no keys found"))
    for (const nonsense of ["", "x", "a.b.c", `${header}.${Buffer.from("{}").toString("base64url")}.${signature}`]) {
      assert.strictEqual(why(nonsense), "invalid bearer token")
    }
  })

  it("is for its audiences", () => {
    const { issue, why } = setup()
    assert.strictEqual(why(issue({ audiences: ["x", "y"] }), now, ["y"]), "good")
    assert.strictEqual(
      why(issue({ audiences: ["x", "y"] })),
      invalid(`token audiences ["x" "y"] is invalid for the target audiences ["${audience}"]`)
    )
  })

  it("ends with its account, also where another of the name comes after it", () => {
    const { issue, storage, why } = setup()
    const token = issue()
    store(storage, "serviceaccounts", "a", { deletionTimestamp: new Date(now - 61_000).toISOString() })
    assert.strictEqual(why(token), invalid("service account n/a has been deleted"))
    storage.remove("serviceaccounts", "n/a", "n")
    assert.strictEqual(why(token), invalid("serviceaccounts \"a\" not found"))
    store(storage, "serviceaccounts", "a", { uid: "other" })
    assert.strictEqual(why(token), invalid("service account UID (other) does not match claim (uid-a)"))
  })

  it("ends with what it is bound to", () => {
    for (const [kind, collection] of [["Secret", "secrets"], ["Pod", "pods"], ["Node", "nodes"]] as const) {
      const { issue, storage, why } = setup()
      const token = issue({ bound: { kind, object: store(storage, collection, "o") } })
      assert.strictEqual(why(token), "good")
      const [key, namespace] = kind === "Node" ? ["o", ""] : ["n/o", "n"]
      storage.remove(collection, key!, namespace!)
      assert.strictEqual(why(token), invalid("service account token has been invalidated"))
      store(storage, collection, "o", { uid: "other" })
      const name = kind.toLowerCase()
      assert.strictEqual(
        why(token),
        invalid(`${name} UID (other) does not match service account ${name} ref claim (uid-o)`)
      )
    }
  })

  it("tells the node of a Pod, whatever becomes of it", () => {
    const { issue, storage, tokens } = setup()
    const token = issue({
      bound: { kind: "Pod", object: store(storage, "pods", "p"), node: { name: "gone", uid: "u" } }
    })
    const { user: { extra } } = Result.getOrThrow(tokens.authenticate(token, now))
    assert.deepStrictEqual(extra, {
      "authentication.kubernetes.io/credential-id": ["JTI=id"],
      "authentication.kubernetes.io/node-name": ["gone"],
      "authentication.kubernetes.io/node-uid": ["u"],
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": ["uid-p"]
    })
  })

  it("trusts words it is told, for itself alone", () => {
    const { tokens, why } = setup()
    const end = tokens.trust("word", { username: "jane", groups: ["dev"] })
    const { user } = Result.getOrThrow(tokens.authenticate("word", now))
    assert.deepStrictEqual(user, { username: "jane", groups: ["dev", "system:authenticated"] })
    assert.strictEqual(why("word", now, ["x"]), "invalid bearer token")
    const others = tokens.trust("word", { username: "joe", groups: [] })
    end()
    end()
    assert.strictEqual(Result.getOrThrow(tokens.authenticate("word", now)).user.username, "joe")
    others()
    assert.strictEqual(why("word"), "invalid bearer token")
  })

  it("has the same key under the same numbers", () => {
    const [one, two, three] = [numbers(1), numbers(1), numbers(2)].map((random) => Jwt.makeKey(random).id)
    assert.strictEqual(one, two)
    assert.notStrictEqual(one, three)
  })
})
