/** The PodSet, for the test of docs/simulation.md. */
import { scenarios } from "../support/Scenarios.ts"

export const scenario = scenarios.find(({ name }) => name === "podset")!
