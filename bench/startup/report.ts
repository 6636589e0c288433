/** The time from the start of the process to now. */
export interface Started {
  /** Milliseconds of real time and of CPU. */
  readonly wall: number
  readonly cpu: number
  readonly rss: number
}

let reported = false

/** Prints the elapsed time, once, and ends the process. */
export const report = (): void => {
  if (reported) return
  reported = true
  const { system, user } = process.cpuUsage()
  const started: Started = {
    wall: performance.now(),
    cpu: (system + user) / 1000,
    rss: process.memoryUsage.rss()
  }
  process.stdout.write(`${JSON.stringify(started)}\n`, () => process.exit(0))
}
