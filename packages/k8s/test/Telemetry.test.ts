import { Telemetry } from "@effect-operator/k8s"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Tracer } from "effect"
import * as Http from "node:http"
import type * as Net from "node:net"

const tracerIn = (env: Record<string, string>) =>
  Effect.provide(
    Tracer.Tracer,
    Layer.provide(Telemetry.layerConfig, ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
  )

/** A collector: the bodies that were posted to it, by path. */
const collector = Effect.acquireRelease(
  Effect.callback<{ readonly server: Http.Server; readonly port: number; readonly bodies: Array<string> }>((resume) => {
    const bodies: Array<string> = []
    const server = Http.createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text
      })
      request.on("end", () => {
        bodies.push(`${request.url} ${body}`)
        response.end("{}")
      })
    }).listen(
      0,
      "127.0.0.1",
      () => resume(Effect.succeed({ server, bodies, port: (server.address() as Net.AddressInfo).port }))
    )
  }),
  ({ server }) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
)

describe("Telemetry", () => {
  it.effect("no endpoint, no tracer", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* tracerIn({}), Tracer.nativeTracer)
      assert.strictEqual(yield* tracerIn({ OTEL_SERVICE_NAME: "x" }), Tracer.nativeTracer)
    }))

  it.live("spans go to the endpoint, at the latest when the program ends", () =>
    Effect.gen(function*() {
      const { bodies, port } = yield* collector
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
      yield* Effect.void.pipe(
        Effect.withSpan("Controller.process"),
        Effect.provide(
          Layer.provide(Telemetry.layerConfig, ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
        ),
        Effect.scoped
      )
      assert.strictEqual(bodies.length, 1)
      assert.match(bodies[0]!, /^\/v1\/traces /)
      assert.include(bodies[0]!, "Controller.process")
      assert.include(bodies[0]!, "effect-operator")
    }))
})
