/** How the verbs of `Client` send their requests: where to, whether that is permitted, and what is returned. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import { Impersonated, type Selection, Writing } from "../Client.ts"
import * as KubeError from "../KubeError.ts"
import * as Resource from "../Resource.ts"
import type { Request, Transport } from "../Transport.ts"
import { placeProblem, type Target } from "./placeProblem.ts"
import { requestSpan } from "./requestSpan.ts"

export type Query = ReadonlyArray<readonly [string, string | undefined]>

/** The parameters that have a value. */
export const query = (entries: Query): Request["query"] =>
  entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined)

/** The context of a call: who writes, who permits it, who traces it. Read once. */
export type Around = Context.Context<never>

/** The headers of a request, with the user as whom it is made. */
export const asUser = (context: Around, headers: Request["headers"]): Request["headers"] => {
  const user = Context.get(context, Impersonated)
  return user === undefined ? headers : { ...headers, "impersonate-user": user }
}

/** The request of a verb. */
export type Asked = Omit<Request, "query"> & { readonly query: Query }

/** Turns the body of a successful response into a result. */
type Read<A> = (body: object) => Effect.Effect<A, KubeError.KubeError>

/** The span attributes of a request. */
const spanOf = (call: KubeError.Call, { method, path }: Pick<Request, "method" | "path">) => ({
  "http.request.method": method,
  "url.path": path,
  "k8s.resource": call.resource,
  ...(call.namespace === undefined ? {} : { "k8s.namespace.name": call.namespace }),
  ...(call.name === undefined ? {} : { "k8s.object.name": call.name })
})

const describe = (resource: Resource.Any, subresource?: string): string =>
  subresource === undefined ? Resource.qualifiedName(resource) : `${Resource.qualifiedName(resource)}/${subresource}`

/** What a request is about, for its errors. */
export const callFor = (verb: KubeError.Verb, resource: Resource.Any, key: Target, subresource?: string) => ({
  verb,
  resource: describe(resource, subresource),
  ...(key.namespace === undefined || resource.scope === "Cluster" ? {} : { namespace: key.namespace }),
  ...(key.name === undefined ? {} : { name: key.name })
})

/**
 * The namespace of a request, or why there is none. Nothing is sent without a required name: the path would be that of
 * the whole collection.
 */
export const locate = (
  call: KubeError.Call,
  resource: Resource.Any,
  key: Target
): Effect.Effect<string | undefined, KubeError.KubeError> => {
  const namespaced = resource.scope === "Namespaced"
  const problem = placeProblem(resource, key)
  return problem === undefined
    ? Effect.succeed(namespaced ? key.namespace : undefined)
    : Effect.fail(KubeError.make(call, new KubeError.BadRequest({ message: problem, code: 400 })))
}

/** The namespace of a selection, if it has one: objects of a cluster-scoped kind have none. */
export const within = (
  call: KubeError.Call,
  resource: Resource.Any,
  { namespace }: Selection
): Effect.Effect<string | undefined, KubeError.KubeError> =>
  (namespace === undefined || namespace === "") && resource.cluster === undefined
    ? Effect.undefined
    : locate(call, resource, { namespace })

/** Sends the requests of verbs over a transport. */
export const make = (transport: Transport["Service"]) => {
  /** Sends a request, and reads the body of a successful response, whatever it is. */
  const ask = <A>(
    context: Around,
    call: KubeError.Call,
    asked: Asked,
    read: (body: unknown) => Effect.Effect<A, KubeError.KubeError>
  ): Effect.Effect<A, KubeError.KubeError> =>
    Effect.matchEffect(
      requestSpan(
        Context.get(context, Tracer.Tracer),
        () => ({ name: `${call.verb} ${call.resource}`, attributes: spanOf(call, asked) }),
        transport.request({ ...asked, headers: asUser(context, asked.headers), query: query(asked.query) })
      ),
      {
        onSuccess: ({ body, headers, status }) => {
          if (status < 200 || status >= 300) {
            return Effect.fail(KubeError.make(call, KubeError.fromAnswer({ status, headers, body })))
          }
          return read(body)
        },
        onFailure: (reason) => Effect.fail(KubeError.make(call, reason))
      }
    )

  /** Like `ask`, for a request that changes something, if that is permitted. */
  const askPermitted: typeof ask = (context, call, asked, read) => {
    const { permit } = Context.get(context, Writing)
    let refused = permit()
    if (refused !== undefined) return Effect.fail(refused)
    const permitted = () => (refused = permit()) === undefined
    return Effect.mapError(ask(context, call, { ...asked, permit: permitted }, read), (error) => refused ?? error)
  }

  /** Reads the object in a successful response. */
  const object = <A>(call: KubeError.Call, read: Read<A>) => (body: unknown) => {
    if (typeof body === "object" && body !== null) return read(body)
    // A proxy's login page comes with 200, too.
    const issue = `the answer is not a JSON object: ${String(body).slice(0, 100)}`
    return Effect.fail(KubeError.make(call, new KubeError.Decode({ message: issue, issues: [issue] })))
  }

  const send = <A>(context: Around, call: KubeError.Call, asked: Asked, read: Read<A>) =>
    ask(context, call, asked, object(call, read))

  const sendWrite: typeof send = (context, call, asked, read) => askPermitted(context, call, asked, object(call, read))

  return { ask, askPermitted, send, sendWrite }
}
