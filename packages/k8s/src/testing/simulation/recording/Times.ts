/** `Times`: what is a time, however a program writes it: when something happened is no part of what it came to. */
import { defaults as world } from "../world/World.ts"

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

const day = 86_400_000

/** How long after a run something may end that begins in it: a certificate of ten years. */
const lasting = 11 * 365 * day

/**
 * A time of a run, as programs without ISO 8601 write it, in milliseconds or seconds since 1970; or of what begins in it, or
 * counts from shortly before.
 */
const isClock = (value: number): boolean =>
  [value, value * 1000].some((at) => at >= world.start - day && at < world.start + lasting)

const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g

/** Whether a value is a time: as text, or in milliseconds or seconds since 1970. */
export const isTime = (value: unknown): boolean =>
  typeof value === "number"
    ? isClock(value)
    : typeof value === "string" && (time.test(value) || (/^\d{10}(?:\d{3})?$/.test(value) && isClock(Number(value))))

/** A text without the times in it. */
export const timeless = (text: string): string => text.replace(times, "(time)")
