import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { combined, type ResourceAttributes } from "../../../src/api/Attributes.ts"
import * as Impersonation from "../../../src/testing/auth/Impersonation.ts"
import type { Authorizer } from "../../../src/testing/auth/Rbac.ts"
import type { UserInfo } from "../../../src/api/UserInfo.ts"

const jane: UserInfo = { username: "jane", groups: [] }

/** Everything is allowed but what is listed; what was asked is kept. */
const setup = (...refused: ReadonlyArray<string>) => {
  const asked: Array<string> = []
  const authorizer: Authorizer = {
    authorize: (_, attributes) => {
      const { name, namespace, verb } = attributes as ResourceAttributes
      const text = `${verb} ${combined(attributes as ResourceAttributes)} ${
        namespace === "" ? "" : `${namespace}/`
      }${name}`
      asked.push(text)
      return { allowed: !refused.includes(text), reason: "" }
    },
    grants: () => ({ granted: [], missing: [] })
  }
  const become = Impersonation.make(authorizer)
  return { asked, become: (headers: Record<string, string>) => become(headers, jane) }
}

const become = (headers: Record<string, string>): UserInfo => Result.getOrThrow(setup().become(headers))

describe("Impersonation", () => {
  it("asks about every header, and stops at the first refusal", () => {
    const headers = {
      "impersonate-user": "bob",
      "impersonate-group": "a, cn=b,ou=c",
      "impersonate-uid": "7",
      "impersonate-extra-acme.com%2fscope": "x, y"
    }
    const { asked, become } = setup("impersonate userextras/acme.com/scope y")
    const result = become(headers)
    assert.deepStrictEqual(asked, [
      "impersonate users bob",
      "impersonate groups a",
      "impersonate groups cn=b,ou=c",
      "impersonate userextras/acme.com/scope x",
      "impersonate userextras/acme.com/scope y"
    ])
    assert.isTrue(Result.isFailure(result))
    assert.deepStrictEqual(Result.getOrThrow(setup().become(headers)), {
      username: "bob",
      groups: ["a", "cn=b,ou=c", "system:authenticated"],
      uid: "7",
      extra: { "acme.com/scope": ["x", "y"] }
    })
  })

  it("gives accounts their groups, and says who is authenticated", () => {
    const groups = (user: string, group?: string) =>
      become({ "impersonate-user": user, ...(group === undefined ? {} : { "impersonate-group": group }) }).groups
    assert.deepStrictEqual(groups("bob"), ["system:authenticated"])
    assert.deepStrictEqual(groups("bob", "system:authenticated"), ["system:authenticated"])
    assert.deepStrictEqual(groups("bob", "system:unauthenticated"), ["system:unauthenticated"])
    assert.deepStrictEqual(groups("system:anonymous"), ["system:unauthenticated"])
    assert.deepStrictEqual(groups("system:anonymous", "g"), ["g", "system:unauthenticated"])
    const account = "system:serviceaccount:n:a"
    const own = ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"]
    assert.deepStrictEqual(groups(account), own)
    assert.deepStrictEqual(groups(account, "g"), ["g", "system:authenticated"])
    const { asked, become: of } = setup()
    of({ "impersonate-user": account })
    of({ "impersonate-user": "system:serviceaccount:n:A_B" })
    assert.deepStrictEqual(asked, ["impersonate serviceaccounts n/a", "impersonate users system:serviceaccount:n:A_B"])
  })

  it("makes somebody of nobody never", () => {
    const { asked, become } = setup()
    const refused = become({ "impersonate-uid": "7", "impersonate-extra-a": "b", "impersonate-group": "g" })
    assert.isTrue(Result.isFailure(refused))
    if (Result.isFailure(refused)) {
      assert.strictEqual(refused.failure.status, 400)
      assert.strictEqual(
        refused.failure.body.message,
        "requested [{Group  g    } {UserExtra  b  authentication.k8s.io/v1  a} {UID  7  authentication.k8s.io/v1  }] " +
          "without impersonating a user"
      )
    }
    assert.deepStrictEqual(asked, [])
    assert.strictEqual(Result.getOrThrow(become({ "impersonate-user": "" })), jane)
  })

  it("makes the same user of the same headers, and takes the headers away", () => {
    const { become } = setup()
    const headers = { "impersonate-user": "bob", accept: "x" }
    assert.strictEqual(Result.getOrThrow(become(headers)), Result.getOrThrow(become({ ...headers })))
    assert.deepStrictEqual(Impersonation.without(headers), { accept: "x" })
    assert.isTrue(Impersonation.isAsked(headers))
    assert.isFalse(Impersonation.isAsked({ accept: "x" }))
  })
})
