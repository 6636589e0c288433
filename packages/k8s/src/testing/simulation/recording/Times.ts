/** `Times`: recognizes times, however a program writes them. When something happened is not part of a result. */
import { defaults as world } from "../world/World.ts"
import { decoded } from "./Base64.ts"

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

const day = 86_400_000

/** How long after a run something that begins in it may end, such as a certificate that is valid for ten years. */
const lasting = 11 * 365 * day

/**
 * Whether it is a time of a run, as programs without ISO 8601 write it (milliseconds or seconds since 1970); or the end
 * of something that begins in it, or a start shortly before it.
 */
const isClock = (value: number): boolean =>
  [value, value * 1000].some((at) => at >= world.start - day && at < world.start + lasting)

const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g

/** Whether a value is a time: as text, or in milliseconds or seconds since 1970; a Secret has it in base64. */
export const isTime = (value: unknown): boolean => {
  if (typeof value === "number") return isClock(value)
  if (typeof value !== "string") return false
  const text = decoded(value)
  return time.test(text) || (/^\d{10}(?:\d{3})?$/.test(text) && isClock(Number(text)))
}

/** A text without the times in it, decoded if it is base64 and has some. */
export const timeless = (text: string): string => {
  const plain = decoded(text)
  const without = plain.replace(times, "(time)")
  return without === plain ? text : without
}
