/** Prints the story of a planted bug's token: for tests that run it in a process of its own. */
import { Simulation } from "@effect-operator/k8s/testing"
import { planted } from "./Planted.ts"

const [, , name, token] = process.argv
const bug = planted.find(({ wrong }) => wrong.name === name)!
process.stdout.write(Simulation.story(bug.wrong, token).join("\n"))
