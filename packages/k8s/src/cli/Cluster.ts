/**
 * `effect-operator cluster`: a cluster in one process, for kubectl and any operator.
 *
 * Serves the in-memory API server over HTTPS on 127.0.0.1 with the simulated controllers, in real time; writes a
 * kubeconfig that only its owner can read; prints `ready https://127.0.0.1:PORT` and commands to try; runs until SIGINT
 * or SIGTERM, then exits with 0. Nothing is kept: the next run starts empty. Pods of Jobs succeed after a few seconds,
 * all others run until they are deleted.
 *
 * A file that contains anything but a kubeconfig of this program is not overwritten: it may be somebody's credentials.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Schema from "effect/Schema"
import * as Lazy from "./Lazy.ts"

const Port = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 65_535 }, { message: "Expected a port between 0 and 65535" })
)

/** The port of the API server. */
export const port = Flag.Int("port").pipe(
  Flag.withDescription("Port of the in-memory API server on 127.0.0.1; 0 for any free port"),
  Flag.withSchema(Port),
  Flag.withDefault(0)
)

const kubeconfig = Flag.String("kubeconfig").pipe(
  Flag.withDescription("File to write the kubeconfig to; a temporary file by default"),
  Flag.withMetavar("FILE"),
  Flag.optional
)

const serve = Lazy.command(() => import("./InMemory.ts"), ({ serve }) => serve)

export const command = Command.make("cluster", { port, kubeconfig }, serve).pipe(
  Command.withDescription(
    "Serves an in-memory Kubernetes cluster on this machine, for kubectl and any other client, until Ctrl-C."
  ),
  Command.withShortDescription("Serve an in-memory cluster"),
  Command.withExamples([
    { command: "effect-operator cluster", description: "On a free port; prints the kubeconfig to use" },
    { command: "effect-operator cluster --port 6443 --kubeconfig ./kubeconfig" }
  ])
)
