import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Exported from "../../../src/cli/Exported.ts"
import * as Unserved from "../../../src/cli/dev/Unserved.ts"
import * as Webhook from "../../../src/Webhook.ts"
import { Database, hooks } from "../../webhook/support.ts"

const description = (webhooks: ReadonlyArray<unknown>) =>
  Result.getOrThrow(Exported.of({
    operator: {
      name: "databases",
      namespace: "shop",
      image: "databases:1",
      resources: [Database],
      controllers: [],
      writes: [],
      webhooks
    }
  }))

it("hooks that are declared and not served are named, with the layer that is missing", () => {
  const conversion = Webhook.conversion(Database, { convert: (object) => Effect.succeed(object) })
  const missing = Unserved.message(description([...hooks, conversion]), new Set(["ping", "databases"]))
  assert.include(
    missing,
    "does not serve hooks that it declares: mutate.database.shop.example.com, validate.database.shop.example.com, " +
      "the conversion of databases.shop.example.com\n"
  )
  assert.include(missing, "Layer.provide(server)")
})

it("nothing is missing where they are served, or there are none", () => {
  assert.isUndefined(Unserved.message(description(hooks), new Set(["ping", "webhooks"])))
  assert.isUndefined(Unserved.message(description([]), new Set(["ping"])))
})
