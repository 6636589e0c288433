/**
 * `ServiceAccountTokens`: fills in Secrets that hold the token of a service account.
 *
 * A Secret of type `kubernetes.io/service-account-token` names its account in an annotation. It gets a token, the
 * namespace and, if known, the certificate authorities, whenever one of them is missing. Existing values stay, except
 * for outdated certificate authorities. The Secret is deleted when its account is deleted or does not exist.
 *
 * The token is requested from the server and bound to the Secret: it expires with the Secret, or else in a century. The
 * token of a real controller never expires, and has the legacy names of claims.
 *
 * Source: k8s.io/kubernetes/pkg/controller/serviceaccount/tokens_controller.go.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { TokenRequest } from "../kinds/authentication.v1.ts"
import { Secret, ServiceAccount } from "../kinds/core.v1.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"

export interface Options {
  /** The certificate authorities to trust, as PEM. */
  readonly rootCa?: string | undefined
}

/** Maintains the Secrets of the server until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<never, never, KubeClient> =>
  Layer.effectDiscard(Effect.suspend(() => run(options))).pipe(Layer.provide(Informers.layer))

const type = "kubernetes.io/service-account-token"

const annotation = { name: "kubernetes.io/service-account.name", uid: "kubernetes.io/service-account.uid" } as const

/** In seconds: the longest lifetime that the server grants. */
const lifetime = 2 ** 32

/** A token request is posted to a subresource of the account, but is a kind of another group. */
const AccountToken = {
  ...Resource.make<TokenRequest>()({
    group: "",
    version: "v1",
    kind: "TokenRequest",
    plural: "serviceaccounts",
    scope: "Namespaced",
    subresources: ["token"]
  }),
  apiVersion: "authentication.k8s.io/v1"
}

const encode = (text: string): string => Buffer.from(text).toString("base64")

const run: (
  options: Options
) => Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.fnUntraced(
  function*({ rootCa = "" }) {
    const client = yield* KubeClient
    const informers = yield* Informers.Informers
    const accounts = yield* informers.of(ServiceAccount)
    const secrets = yield* informers.of(Secret)

    const nameOf = ({ metadata }: Secret): string => metadata.annotations?.[annotation.name] ?? ""

    const holdsToken = (secret: Secret): boolean => secret.type === type && nameOf(secret) !== ""

    /**
     * The account of a Secret, if it is the one the Secret was made for. The cache may learn of a new account after its
     * Secret.
     */
    const accountOf = Effect.fnUntraced(function*(
      secret: Secret
    ): Effect.fn.Return<ServiceAccount | undefined, KubeError> {
      const { annotations, namespace } = secret.metadata
      const ref = { namespace, name: nameOf(secret) }
      const isIts = ({ metadata }: ServiceAccount) => [metadata.uid, ""].includes(annotations?.[annotation.uid] ?? "")
      const known = accounts.get(ref)
      if (known !== undefined && isIts(known)) return known
      const live = yield* client.get(ServiceAccount, ref).pipe(
        Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
      )
      return live !== undefined && isIts(live) ? live : undefined
    })

    const tokenOf = ({ metadata: { name, namespace } }: ServiceAccount, secret: Secret) =>
      client.create(AccountToken, {
        metadata: { name, namespace },
        spec: {
          expirationSeconds: lifetime,
          boundObjectRef: { apiVersion: "v1", kind: "Secret", name: secret.metadata.name, uid: secret.metadata.uid }
        }
      }, { subresource: "token" }).pipe(Effect.map(({ status }) => status?.token ?? ""))

    const complete = Effect.fnUntraced(function*(
      secret: Secret,
      account: ServiceAccount
    ): Effect.fn.Return<void, KubeError> {
      const { data = {}, metadata } = secret
      const missing = (key: string) => (data[key] ?? "") === ""
      const distrusts = rootCa !== "" && data["ca.crt"] !== encode(rootCa)
      if (!distrusts && !missing("namespace") && !missing("token")) return
      yield* client.replace(Secret, {
        ...secret,
        metadata: {
          ...metadata,
          annotations: { ...metadata.annotations, [annotation.uid]: account.metadata.uid }
        },
        data: {
          ...data,
          ...(distrusts ? { "ca.crt": encode(rootCa) } : {}),
          ...(missing("namespace") ? { namespace: encode(metadata.namespace) } : {}),
          ...(missing("token") ? { token: encode(yield* tokenOf(account, secret)) } : {})
        }
      })
    })

    const agenda = yield* Loop.make({
      reads: [accounts, secrets],
      sync: Effect.fnUntraced(function*(key) {
        const secret = secrets.get(parseKey(key))
        if (secret === undefined || !holdsToken(secret) || isTerminating(secret)) return
        const account = yield* accountOf(secret)
        if (account !== undefined) return yield* complete(secret, account)
        yield* client.delete(Secret, secret, { preconditions: { uid: secret.metadata.uid } })
      })
    })

    secrets.listen((secret, before) => {
      if (secret === undefined) agenda.forget(keyString(before!))
      else if (holdsToken(secret)) agenda.now(keyString(secret))
    })
    accounts.listen((account, before) => {
      const { name, namespace } = (account ?? before)!.metadata
      for (const secret of secrets.inNamespace(namespace)) {
        if (holdsToken(secret) && nameOf(secret) === name) agenda.now(keyString(secret))
      }
    })
  }
)
