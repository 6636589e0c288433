/**
 * `image.ts PROJECT CONTAINERFILE MANIFESTS SAMPLES`: builds and runs the image of an operator without a container
 * engine.
 *
 * Executes the container file in folders, then runs the result as kubelet would, as far as possible on this machine: in
 * its own root (`chroot`), which the image's user cannot write, with only the variables of the Deployment and the
 * account's token and certificate where a Pod has them. The cluster is in memory, and the account has exactly the roles
 * of the manifests. The operator must become ready, reconcile a sample, and exit with 0 when it is asked to stop.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { serviceAccount } from "../src/api/UserInfo.ts"
import * as Definitions from "../src/cli/Definitions.ts"
import * as Health from "../src/cli/dev/Health.ts"
import * as Objects from "../src/cli/dev/Objects.ts"
import * as InMemory from "../src/cli/InMemory.ts"
import * as Crd from "../src/Crd.ts"
import { Deployment } from "../src/kinds/apps.v1.ts"
import { ApiServer } from "../src/testing/ApiServer.ts"
import * as HttpFacade from "../src/testing/HttpFacade.ts"
import * as Containerfile from "./image/Containerfile.ts"

const fail = (message: string) => Effect.die(new Error(message))

/** The objects in the folder of manifests. */
const read = Effect.fnUntraced(function*(folder: string) {
  const files = (yield* Objects.filesOf(folder)).filter((file) => Path.basename(file) !== "kustomization.yaml")
  const objects = (yield* Effect.forEach(files, Objects.inFile)).flat()
  const definitions = (yield* Effect.forEach(files, Definitions.inFile)).flat()
  const found = objects.find(({ kind }) => kind === "Deployment")
  if (found === undefined) return yield* fail(`${folder}: there is no Deployment in it`)
  return { objects, definitions, deployment: yield* Effect.fromResult(Deployment.decode(found)) }
})

/** Provides the files that a Pod has of its account. */
const mountAccount = Effect.fnUntraced(
  function*(root: string, cluster: Context.Context<ApiServer | HttpFacade.HttpFacade>, { name, namespace }: Where) {
    const { caPem } = Context.get(cluster, HttpFacade.HttpFacade)
    const token = "a-token-of-the-account"
    yield* Context.get(cluster, ApiServer).trust(token, serviceAccount(namespace, name))
    const mounted = Path.join(root, "var/run/secrets/kubernetes.io/serviceaccount")
    Fs.mkdirSync(mounted, { recursive: true })
    for (
      const [file, content] of [["token", token], ["ca.crt", caPem], ["namespace", namespace]] as const
    ) {
      Fs.writeFileSync(Path.join(mounted, file), content)
    }
  }
)

interface Where {
  readonly name: string
  readonly namespace: string
}

const run = Effect.fnUntraced(function*(project: string, file: string, manifests: string, samples: string) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "image-"))),
    (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
  )
  Fs.chmodSync(folder, 0o755)
  const image = Containerfile.build(file, project, folder)
  const program = Path.resolve(image.workdir, image.command[0] ?? "")
  if (!Fs.existsSync(Path.join(image.root, program))) return yield* fail(`CMD: ${program} does not exist in the image`)
  const [uid] = image.user.split(":").map(Number)
  if (uid === undefined || !(uid > 0)) {
    return yield* fail(`USER ${image.user}: a kubelet cannot see that it is not root`)
  }
  Containerfile.addBase(image)

  const { definitions, deployment, objects } = yield* read(manifests)
  const { metadata: { name, namespace }, spec } = deployment
  const [container] = spec!.template.spec!.containers
  const where = { name, namespace: namespace! }

  const context = yield* Layer.build(InMemory.layer({ port: 0 }))
  const facade = Context.get(context, HttpFacade.HttpFacade)
  const client = Context.pick(KubeClient.KubeClient)(context)
  const kinds = definitions.flatMap(({ spec }) =>
    spec.versions.map((version) => Crd.resourceOf({ spec: { ...spec, versions: [version] } }))
  )
  const apply = (object: Objects.Written) => Effect.provide(Objects.apply(object, kinds, object.kind), client)
  for (const definition of definitions) yield* Effect.provide(Crd.installManifest(definition), client)
  for (const kind of ["Namespace", "ServiceAccount"]) {
    yield* Effect.forEach(objects.filter((object) => object.kind === kind), apply)
  }
  const rest = objects.filter(({ kind }) => kind !== "CustomResourceDefinition" && kind !== "Deployment")
  yield* Effect.forEach(rest, apply)

  yield* mountAccount(image.root, context, where)
  const loose = Containerfile.writable(image.root, uid)
  if (loose.length > 0) {
    return yield* fail(`user ${uid} can write ${loose.slice(0, 3).join(", ")} and more in the image`)
  }
  const ports = { metrics: yield* Health.freePort, probes: yield* Health.freePort }
  const environment = Object.fromEntries(
    (container!.env ?? []).map(({ name: variable, value, valueFrom }) => [
      variable,
      value ?? (valueFrom?.fieldRef?.fieldPath === "metadata.namespace" ? where.namespace : `${name}-0`)
    ])
  )
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      ChildProcess.spawn("chroot", [`--userspec=${image.user}`, image.root, Containerfile.entrypoint, program], {
        env: {
          ...image.env,
          ...environment,
          // As in the base image.
          HOME: "/home/nonroot",
          PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          KUBERNETES_SERVICE_HOST: "127.0.0.1",
          KUBERNETES_SERVICE_PORT: String(facade.port),
          EFFECT_OPERATOR_METRICS_ADDRESS: `127.0.0.1:${ports.metrics}`,
          EFFECT_OPERATOR_PROBES_ADDRESS: `127.0.0.1:${ports.probes}`
        },
        stdio: ["ignore", "inherit", "inherit"]
      })
    ),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  )
  const exited = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)))
  const early = Effect.flatMap(
    Effect.promise(() => exited),
    (code) => fail(`the operator ended by itself with ${code}`)
  )
  let why: ReadonlyArray<string> = ["it was never ready"]
  const done = Effect.gen(function*() {
    yield* Health.ready(ports)
    for (const sample of yield* Objects.filesOf(samples)) yield* Effect.forEach(yield* Objects.inFile(sample), apply)
    yield* Health.settled(ports, (now) => void (why = now))
  }).pipe(Effect.timeoutOrElse({
    duration: "60 seconds",
    orElse: () => fail(`not done within a minute: ${why.join("; ")}`)
  }))
  yield* Effect.raceFirst(done, early)
  child.kill("SIGTERM")
  const grace = spec!.template.spec!.terminationGracePeriodSeconds!
  const code = yield* Effect.promise(() => exited).pipe(
    Effect.timeoutOrElse({ duration: `${grace} seconds`, orElse: () => fail(`it did not end within ${grace} s`) })
  )
  if (code !== 0) return yield* fail(`the operator ended with ${code} when it was asked to stop`)
  console.log(`${program} ran as ${image.user} in a root of its own, did what ${samples} asks for, and ended with 0`)
}, Effect.scoped)

const [project, file, manifests, samples] = process.argv.slice(2)
if (project === undefined || file === undefined || manifests === undefined || samples === undefined) {
  console.error("image.ts PROJECT CONTAINERFILE MANIFESTS SAMPLES")
  process.exit(1)
}
Effect.runPromise(run(project, file, manifests, samples).pipe(Effect.provide(NodeServices.layer))).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
)
