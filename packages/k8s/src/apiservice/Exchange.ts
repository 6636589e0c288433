/** `Exchange`: a request for a kind, while it is handled. */
import type { Request } from "@effect-operator/core/Transport"
import type * as Effect from "effect/Effect"
import type * as Representation from "../api/Representation.ts"
import type { ResourceRoute } from "../api/Routing.ts"
import type { StatusError } from "../api/StatusError.ts"
import type { Storage } from "../api/Storage.ts"
import type { UserInfo } from "../api/UserInfo.ts"
import type { WatchHub } from "../api/WatchHub.ts"
import type { Served } from "./Served.ts"

export interface Exchange {
  readonly core: { readonly storage: Storage; readonly hub: WatchHub }
  readonly request: Request
  readonly route: ResourceRoute
  readonly resource: Served
  readonly user: UserInfo
  /** When the request arrived, in milliseconds since 1970. */
  readonly now: number
  /** A new random number in [0, 1). */
  readonly random: () => number
  /** Texts of Warning headers; verbs append to it. */
  readonly warnings: Array<string>
}

export type Verb = (exchange: Exchange) => Effect.Effect<Representation.Answer, StatusError, unknown>
