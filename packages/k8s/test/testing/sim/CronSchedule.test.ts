import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import * as CronSchedule from "../../../src/testing/sim/CronSchedule.ts"

const faults: ReadonlyArray<readonly [text: string, why: string]> = [
  ["@bad", "unrecognized descriptor: @bad"],
  ["@daily ", "unrecognized descriptor: @daily "],
  [" @daily", "expected exactly 5 fields, found 1: [@daily]"],
  ["@every 1", "failed to parse duration @every 1: time: missing unit in duration \"1\""],
  ["@every 1h3x", "failed to parse duration @every 1h3x: time: unknown unit \"x\" in duration \"1h3x\""],
  ["@every h", "failed to parse duration @every h: time: invalid duration \"h\""],
  ["TZ=Bad/Zone * * * * *", "provided bad location Bad/Zone: unknown time zone Bad/Zone"]
]

it("says what is wrong with a schedule, as the library does", () => {
  for (const [text, why] of faults) assert.deepStrictEqual(CronSchedule.parse(text), Result.fail(why), text)
})

it("is due after a given time, in the zone it names", () => {
  const next = (text: string) =>
    Result.map(CronSchedule.parse(text), (schedule) => new Date(schedule.next(Date.UTC(2024, 0, 1))).toISOString())
  assert.deepStrictEqual(next("@every 1h30m"), Result.succeed("2024-01-01T01:30:00.000Z"))
  // Whole seconds, at least one, of whatever Go takes for a duration.
  assert.deepStrictEqual(next("@every 1h2.5s"), Result.succeed("2024-01-01T01:00:02.000Z"))
  assert.deepStrictEqual(next("@every 4.35h"), Result.succeed("2024-01-01T04:21:00.000Z"))
  assert.deepStrictEqual(next("@every 90000ms"), Result.succeed("2024-01-01T00:01:30.000Z"))
  for (const short of ["500ms", "0", "-5m", ".5s"]) {
    assert.deepStrictEqual(next(`@every ${short}`), Result.succeed("2024-01-01T00:00:01.000Z"), short)
  }
  assert.deepStrictEqual(next("@weekly"), Result.succeed("2024-01-07T00:00:00.000Z"))
  assert.deepStrictEqual(next("CRON_TZ=America/New_York  30 2 * * *"), Result.succeed("2024-01-01T07:30:00.000Z"))
})
