/**
 * `Tokens`: who comes with which bearer token.
 *
 * Two kinds are known: words that somebody has told the server (as kube-apiserver's `--token-auth-file` does), and the
 * signed tokens of service accounts that the server itself issues. The latter hold until they expire (a minute is given
 * for clocks that differ), until their service account is deleted, or until the Pod, Secret or Node is that they are
 * bound to; a new object of the same name does not bring them back. A token is for the audiences it was asked for.
 *
 * The signing key is made when it is first needed.
 *
 * Source: k8s.io/kubernetes/pkg/serviceaccount/claims.go and jwt.go; the texts are those that TokenReview shows.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import type * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import { known, serviceAccount, serviceAccountName, type UserInfo } from "../../api/UserInfo.ts"
import * as Jwt from "./Jwt.ts"
import { goStrings } from "./PolicyRule.ts"

/** Who issues the tokens, and whom they are for unless somebody else is named. */
export const issuer = "https://kubernetes.default.svc"
export const audience = issuer

/** Seconds after its end for which a token still counts. */
const leeway = 60

/** Whom a token stands for, and to which of the audiences asked about. */
export interface Authenticated {
  readonly user: UserInfo
  readonly audiences: ReadonlyArray<string>
}

/** What a token is to be bound to, besides its account. */
export interface Bound {
  readonly kind: "Pod" | "Secret" | "Node"
  readonly object: KubeObject
  /** The node of a Pod; without a uid where the node is not there. */
  readonly node?: { readonly name: string; readonly uid?: string } | undefined
}

export interface Issue {
  readonly account: KubeObject
  readonly bound: Bound | undefined
  readonly audiences: ReadonlyArray<string>
  readonly expirationSeconds: number
  /** When its holder should have asked for a new one, where that is before the token's end. */
  readonly warnAfterSeconds?: number | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  /** A UUID of its own. */
  readonly id: string
}

/** A token is no longer good because of an object whose end was longer ago than clocks may differ. */
const gone = (object: KubeObject, now: number): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  Date.parse(object.metadata.deletionTimestamp) < now - leeway * 1000

const reference = (object: KubeObject) => ({ name: object.metadata.name, uid: object.metadata.uid })

const collections = { pod: "pods", secret: "secrets", node: "nodes" } as const

/** Verified tokens remembered, so that a signature is checked once. */
const memory = 1000

export class Tokens {
  private readonly storage: Storage
  private readonly random: () => number
  private readonly words = new Map<string, UserInfo>()
  private readonly verified = new Map<string, { readonly claims: JsonValue.JsonObject; user: UserInfo | undefined }>()
  private signingKey: Jwt.Key | undefined

  constructor(storage: Storage, random: () => number) {
    this.storage = storage
    this.random = random
  }

  /** Takes a word for a user from now on; the result ends that. */
  trust(word: string, user: UserInfo): () => void {
    this.words.set(word, known(user))
    return () => {
      this.words.delete(word)
    }
  }

  get key(): Jwt.Key {
    return this.signingKey ??= Jwt.makeKey(this.random)
  }

  /** A new token of a service account. */
  issue({ account, audiences, bound, expirationSeconds, id, now, warnAfterSeconds }: Issue): string {
    const seconds = Math.floor(now / 1000)
    const { name, namespace = "" } = account.metadata
    return Jwt.sign(this.key, {
      aud: audiences,
      exp: seconds + expirationSeconds,
      iat: seconds,
      iss: issuer,
      jti: id,
      "kubernetes.io": {
        namespace,
        ...(bound?.node === undefined ? {} : { node: bound.node }),
        ...(bound === undefined ? {} : { [bound.kind.toLowerCase()]: reference(bound.object) }),
        serviceaccount: reference(account),
        ...(warnAfterSeconds === undefined ? {} : { warnafter: seconds + warnAfterSeconds })
      },
      nbf: seconds,
      sub: serviceAccountName(namespace, name)
    })
  }

  /** Whom a token stands for, to one of these audiences; a failure says why it is refused. */
  authenticate(
    token: string,
    now: number,
    audiences: ReadonlyArray<string> = [audience]
  ): Result.Result<Authenticated, string> {
    const word = this.words.get(token)
    if (word !== undefined) {
      // Words are for the server itself.
      return audiences.includes(audience)
        ? Result.succeed({ user: word, audiences: [audience] })
        : Result.fail("invalid bearer token")
    }
    if (Jwt.read(token)?.["iss"] !== issuer) return Result.fail("invalid bearer token")
    return Result.mapError(this.signed(token, now, audiences), (why) => `[invalid bearer token, ${why}]`)
  }

  private signed(
    token: string,
    now: number,
    audiences: ReadonlyArray<string>
  ): Result.Result<Authenticated, string> {
    let entry = this.verified.get(token)
    if (entry === undefined) {
      const claims = Jwt.verify(this.key, token)
      if (Result.isFailure(claims)) return Result.fail(claims.failure)
      if (this.verified.size >= memory) this.verified.clear()
      this.verified.set(token, entry = { claims: claims.success, user: undefined })
    }
    const meant = arrayAt(entry.claims, "aud").map(String)
    const common = meant.filter((name) => audiences.includes(name))
    if (common.length === 0) {
      return Result.fail(
        `token audiences ${goStrings(meant)} is invalid for the target audiences ${goStrings(audiences)}`
      )
    }
    const fault = this.fault(entry.claims, now)
    if (fault !== undefined) return Result.fail(fault)
    return Result.succeed({ user: entry.user ??= userOf(entry.claims), audiences: common })
  }

  /** Why a token that was once good is not any more. */
  private fault(claims: JsonValue.JsonObject, now: number): string | undefined {
    const seconds = now / 1000
    if (Number(claims["exp"]) < seconds - leeway) return "service account token has expired"
    if (Number(claims["nbf"]) > seconds + leeway) return "service account token is not valid yet"
    const namespace = stringAt(claims, "kubernetes.io", "namespace")
    const [name, uid] = [
      stringAt(claims, "kubernetes.io", "serviceaccount", "name"),
      stringAt(claims, "kubernetes.io", "serviceaccount", "uid")
    ]
    const account = this.storage.get("serviceaccounts", `${namespace}/${name}`)
    if (account === undefined) return `serviceaccounts "${name}" not found`
    if (account.metadata.uid !== uid) {
      return `service account UID (${account.metadata.uid}) does not match claim (${uid})`
    }
    if (gone(account, now)) return `service account ${namespace}/${name} has been deleted`
    return this.boundFault(claims, namespace, now)
  }

  private boundFault(claims: JsonValue.JsonObject, namespace: string, now: number): string | undefined {
    for (const kind of ["secret", "pod", "node"] as const) {
      const bound = at(claims, "kubernetes.io", kind)
      // The node of a token that is bound to a Pod is only told.
      if (bound === undefined || (kind === "node" && at(claims, "kubernetes.io", "pod") !== undefined)) continue
      const [name, uid] = [stringAt(bound, "name"), stringAt(bound, "uid")]
      const object = this.storage.get(collections[kind], kind === "node" ? name : `${namespace}/${name}`)
      if (object === undefined || (object.metadata.uid === uid && gone(object, now))) {
        return "service account token has been invalidated"
      }
      if (object.metadata.uid !== uid) {
        return `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${uid})`
      }
    }
    return undefined
  }
}

const one = (key: string, value: string) => (value === "" ? {} : { [key]: [value] })

/** The user that the claims of a token tell of. */
const userOf = (claims: JsonValue.JsonObject): UserInfo => {
  const own = objectAt(claims, "kubernetes.io")
  const id = stringAt(claims, "jti")
  return serviceAccount(stringAt(own, "namespace"), stringAt(own, "serviceaccount", "name"), {
    uid: stringAt(own, "serviceaccount", "uid"),
    extra: {
      ...one("authentication.kubernetes.io/credential-id", id === "" ? "" : `JTI=${id}`),
      ...one("authentication.kubernetes.io/node-name", stringAt(own, "node", "name")),
      ...one("authentication.kubernetes.io/node-uid", stringAt(own, "node", "uid")),
      ...one("authentication.kubernetes.io/pod-name", stringAt(own, "pod", "name")),
      ...one("authentication.kubernetes.io/pod-uid", stringAt(own, "pod", "uid"))
    }
  })
}
