/** `Answers`: what an operator's request is answered: by the server, or by a fault in its place. */
import * as KubeError from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Response } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as StatusError from "../../../api/StatusError.ts"
import type { CallFault } from "../recording/Fault.ts"

/** What a server says that does not do what it is asked. */
export const refusals = {
  serverError: () => StatusError.internal("simulated: the server failed"),
  unavailable: () => StatusError.serviceUnavailable("simulated: the server is not available"),
  throttled: () => StatusError.tooManyRequests("simulated: slow down", 1),
  conflict: () => StatusError.conflict({ group: "", plural: "objects" }, "simulated", StatusError.objectModified)
} satisfies Partial<Record<CallFault, () => StatusError.StatusError>>

/** The answer that a fault gives instead of the server. */
export const refusalOf = (fault: CallFault | undefined): StatusError.StatusError | undefined =>
  fault === undefined || !(fault in refusals) ? undefined : refusals[fault as keyof typeof refusals]()

/** A refusal as a response. */
export const refused = ({ body, headers, status }: StatusError.StatusError): Response => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body
})

/** No answer comes. */
export const noAnswer = (what: string) => new KubeError.Transport({ message: `simulated: ${what}` })

/** The stored object in a body, if there is one. */
export const objectOf = (body: unknown): KubeObject | undefined =>
  typeof body === "object" && body !== null && "metadata" in body && (body as KubeObject).metadata?.uid !== undefined
    ? body as KubeObject
    : undefined

/** The event with which a watch ends, as the server has forgotten what was at its beginning. */
export const expired: WireEvent = { type: "ERROR", object: StatusError.tooOldResourceVersion("1", "2").body }

/** The server's message, if it refused. */
export const saidOf = ({ body, status }: Response): string | undefined =>
  status < 400 ? undefined : (body as { readonly message?: string } | undefined)?.message
