/**
 * `WebhookAddress`: the address of the hooks from the environment, used if the code sets none.
 *
 * Separate from the server, so that a program without hooks can read its environment without loading the server.
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
  { name: variable, sets: "the address of webhooks: host:port or :port" }
] as const satisfies ReadonlyArray<Settings.Variable>

/** `host:port` or `:port`. There is no "off", because the API server must be able to reach hooks. */
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

/** The address from a `ConfigProvider`, usually the environment. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(
  WebhookAddress,
  Effect.flatMap(
    ConfigProvider.ConfigProvider,
    (provider) => Effect.map(config.parse(provider), Option.getOrUndefined)
  )
)
