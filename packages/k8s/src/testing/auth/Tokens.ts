/**
 * `Tokens`: authenticates bearer tokens.
 *
 * There are two kinds: static tokens that the server was told (as with kube-apiserver's `--token-auth-file`), and
 * signed tokens of service accounts that the server issues itself. The latter are valid until they expire (with a
 * minute of leeway), or until their service account or the Pod, Secret or Node to which they are bound is deleted; a
 * new object of the same name does not revive them. A token is valid for the audiences for which it was requested.
 *
 * The signing key is made when it is first needed.
 *
 * Source: k8s.io/kubernetes/pkg/serviceaccount/claims.go and jwt.go; the texts are those that TokenReview shows.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import type * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import { known, serviceAccount, type UserInfo } from "../../api/UserInfo.ts"
import * as Jwt from "./Jwt.ts"
import { goStrings } from "./PolicyRule.ts"

/** The issuer of tokens, and their default audience. */
export const issuer = "https://kubernetes.default.svc"
export const audience = issuer

/** How long an expired token is still accepted, in seconds. */
const leeway = 60

/** The user of a token, and which of the requested audiences it has. */
export interface Authenticated {
  readonly user: UserInfo
  readonly audiences: ReadonlyArray<string>
}

/** The object to which a token is bound, in addition to its account. */
export interface Bound {
  readonly kind: "Pod" | "Secret" | "Node"
  readonly object: KubeObject
  /** The node of a Pod; without a uid if the node does not exist. */
  readonly node?: { readonly name: string; readonly uid?: string } | undefined
}

export interface Issue {
  readonly account: KubeObject
  readonly bound: Bound | undefined
  readonly audiences: ReadonlyArray<string>
  readonly expirationSeconds: number
  /** When the holder should have requested a new token, if that is before it expires. */
  readonly warnAfterSeconds?: number | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  /** A new UUID. */
  readonly id: string
}

/** Whether an object was deleted longer ago than the leeway. */
const gone = (object: KubeObject, now: number): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  Date.parse(object.metadata.deletionTimestamp) < now - leeway * 1000

const reference = (object: KubeObject) => ({ name: object.metadata.name, uid: object.metadata.uid })

const collections = { pod: "pods", secret: "secrets", node: "nodes" } as const

/** The number of verified tokens to cache, so that a signature is checked once. */
const memory = 1000

export class Tokens {
  private readonly storage: Storage
  private readonly random: () => number
  /** Static tokens; of several who trust one, the latest decides. */
  private readonly words: Array<{ readonly word: string; readonly user: UserInfo }> = []
  private readonly verified = new Map<string, { readonly claims: JsonValue.JsonObject; user: UserInfo | undefined }>()
  private signingKey: Jwt.Key | undefined

  constructor(storage: Storage, random: () => number) {
    this.storage = storage
    this.random = random
  }

  /** Accepts a static token for a user from now on; the result ends that. */
  trust(word: string, user: UserInfo): () => void {
    const trusted = { word, user: known(user) }
    this.words.push(trusted)
    return () => {
      const at = this.words.indexOf(trusted)
      if (at >= 0) this.words.splice(at, 1)
    }
  }

  get key(): Jwt.Key {
    return this.signingKey ??= Jwt.makeKey(this.random)
  }

  /** Issues a token of a service account. */
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
      sub: KubeClient.serviceAccount(namespace, name)
    })
  }

  /** The user of a token for one of these audiences; a failure says why it is refused. */
  authenticate(
    token: string,
    now: number,
    audiences: ReadonlyArray<string> = [audience]
  ): Result.Result<Authenticated, string> {
    const word = this.words.findLast(({ word }) => word === token)?.user
    if (word !== undefined) {
      // Static tokens are only for the server itself.
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

  /** Why a valid signed token is no longer accepted. */
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
      // For a token bound to a Pod, the node is only informative.
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

/** The user in the claims of a token. */
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
