/**
 * How statements wait.
 *
 * What controllers and caches do comes later than the answer that began it, one write after the other, on some machines
 * much later. So a statement waits for exactly what it then judges; that something does not come it judges where the
 * server has shown that it would have come by then, or after a while. What comes for a limited time only it takes from a
 * watch, which misses nothing, or makes last.
 */

/** How long at most for what must come, and for what must be so. */
export const patience = { events: "10 seconds", until: "20 seconds" } as const
