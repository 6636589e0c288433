/**
 * `WebhookAddress`: where hooks are served if the code does not say, from the environment.
 *
 * Apart from the server, so that a program without hooks reads its environment without loading one.
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Settings from "@effect-operator/core/Settings"
import { type Address, parseAddress } from "../Endpoints.ts"

export const variable = "EFFECT_OPERATOR_WEBHOOKS_ADDRESS"

export const variables = [
  { name: variable, sets: "where webhooks are served: host:port or :port" }
] as const satisfies ReadonlyArray<Settings.Variable>

/** `host:port` or `:port`; the API server has to reach hooks, so that there is no "nowhere". */
export const parse = (text: string): Address | undefined => {
  const address = parseAddress(text)
  return address === "off" ? undefined : address
}

/** The address in context; none by default. */
export const WebhookAddress: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@effect-operator/k8s/webhook/WebhookAddress",
  { defaultValue: () => undefined }
)

const config = Config.option(Config.schema(
  Schema.String.check(
    Schema.makeFilter((text: string) => parse(text) !== undefined || "must be host:port or :port")
  ),
  variable
))

/** The address in a `ConfigProvider`: the environment, as a rule. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(
  WebhookAddress,
  Effect.flatMap(
    ConfigProvider.ConfigProvider,
    (provider) => Effect.map(config.parse(provider), Option.getOrUndefined)
  )
)
