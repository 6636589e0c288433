import { Cluster, KubeClient, KubeError } from "@effect-operator/core"
import { PodExec, PodLogs } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import { type Kubelet, TestCluster } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"

const web = { namespace: "default", name: "web" }

const asked: Array<Kubelet.Command> = []

/** `cat`, `false`, and a program that says which one it is. */
const exec = (command: Kubelet.Command) =>
  Effect.sync((): Kubelet.Executed => {
    asked.push(command)
    const [program, ...rest] = command.command
    if (program === "false") return { stderr: "no\n", exitCode: 3 }
    return { stdout: program === "cat" ? command.stdin : `${program} ${rest.join(",")}\n` }
  })

/** A program that never gets to run. */
const late: Kubelet.Options["script"] = ({ metadata: { name } }) => name === "slow" ? { start: "1 hour" } : undefined

const cluster = (kubelet: Kubelet.Options) => TestCluster.layer({ kubelet: { registerNodes: true, ...kubelet } })

const running = Effect.gen(function*() {
  yield* KubeClient.KubeClient.use((client) =>
    client.create(Pod, { metadata: web, spec: { containers: [{ name: "a", image: "a" }, { name: "b", image: "b" }] } })
  )
  yield* TestClock.adjust("1 minute")
})

const refusal = <A, R>(effect: Effect.Effect<A, KubeError.KubeError, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("PodExec", () => {
  it.effect("gives what a command prints, and its exit code, which is no failure", () =>
    Effect.gen(function*() {
      yield* running
      assert.deepStrictEqual(yield* PodExec.run(web, { container: "b", command: ["ls", "-l", "a b&c=d"] }), {
        stdout: "ls -l,a b&c=d\n",
        stderr: "",
        exitCode: 0
      })
      assert.strictEqual(asked.at(-1)?.container.name, "b")
      assert.deepStrictEqual(yield* PodExec.run(web, { container: "a", command: ["false"] }), {
        stdout: "",
        stderr: "no\n",
        exitCode: 3
      })
      const { stdout } = yield* PodExec.run(web, { container: "a", command: ["cat"], stdin: "ünı\n" })
      assert.strictEqual(stdout, "ünı\n")
    }).pipe(Effect.provide(cluster({ exec }))))

  it.effect("is begun, and logs are read, in the cluster that is named", () =>
    Effect.gen(function*() {
      yield* running
      const east = Cluster.make("east")
      const asking = [
        PodExec.run(web, { cluster: east, container: "a", command: ["ls"] }),
        PodLogs.read(web, { cluster: east, container: "a" }),
        Stream.runDrain(PodLogs.follow(web, { cluster: east, container: "a" }))
      ]
      for (const ask of asking) {
        const message = yield* refusal(Effect.provide(Effect.asVoid(ask), Cluster.layer()))
        assert.include(message, "there is no client for cluster east")
      }
    }).pipe(Effect.provide(cluster({ exec }))))

  it.effect("says why a command cannot be begun: no such Pod, no such container, one of several, none that runs", () =>
    Effect.gen(function*() {
      yield* running
      const run = (name: string, container?: string) =>
        refusal(PodExec.run({ ...web, name }, { container, command: ["ls"] }))
      assert.strictEqual(yield* run("else", "a"), "connect pods/exec default/else: NotFound: pods \"else\" not found")
      assert.include(yield* run("web", "c"), "BadRequest: container c is not valid for pod web")
      assert.include(yield* run("web"), "choose one of: [a b]")
      yield* KubeClient.KubeClient.use((client) =>
        client.create(Pod, { metadata: { ...web, name: "slow" }, spec: { containers: [{ name: "a", image: "a" }] } })
      )
      assert.include(yield* run("slow", "a"), "container not found (\"a\")")
    }).pipe(Effect.provide(cluster({ exec, script: late }))))

  it.effect("nothing is begun where the kubelet takes no commands, or who writes is not allowed to", () =>
    Effect.gen(function*() {
      yield* running
      assert.include(
        yield* refusal(PodExec.run(web, { container: "a", command: ["ls"] })),
        "error dialing backend: dial tcp sim-node-0:10250: connect: connection refused"
      )
      const lost = KubeError.make(
        { verb: "connect", resource: "pods/exec" },
        new KubeError.Conflict({ message: "not the leader", code: 409 })
      )
      const before = asked.length
      const failed = yield* PodExec.run(web, { container: "a", command: ["ls"] }).pipe(
        Effect.provideService(KubeClient.Writing, { permit: () => lost, wrote: () => {} }),
        Effect.flip
      )
      assert.strictEqual(failed, lost)
      assert.strictEqual(asked.length, before)
    }).pipe(Effect.provide(cluster({}))))
})

describe("PodLogs", () => {
  const script: Kubelet.Options["script"] = (_, { name }, restarts) => ({
    output: `${name} ${restarts}\n{"level":"info"}\n`,
    ...(name === "b" && restarts === 0 ? { exit: { exitCode: 1, after: "10 seconds" } } : {})
  })

  it.effect("gives what a container has printed, in this run or the one before, in whole or the end of it", () =>
    Effect.gen(function*() {
      yield* running
      assert.strictEqual(yield* PodLogs.read(web, { container: "a" }), "a 0\n{\"level\":\"info\"}\n")
      assert.strictEqual(yield* PodLogs.read(web, { container: "a", tailLines: 1 }), "{\"level\":\"info\"}\n")
      assert.strictEqual(yield* PodLogs.read(web, { container: "b", limitBytes: 3 }), "b 1")
      assert.include(yield* PodLogs.read(web, { container: "b", previous: true }), "b 0\n")
      assert.match(yield* PodLogs.read(web, { container: "a", timestamps: true }), /^\S+T\S+Z a 0\n/)
      assert.deepStrictEqual(yield* Stream.runCollect(PodLogs.follow(web, { container: "a" })), [
        "a 0",
        `{"level":"info"}`
      ])
    }).pipe(Effect.provide(cluster({ script }))))

  it.effect("has no line where nothing was printed, and one of nothing where that is", () =>
    Effect.gen(function*() {
      yield* running
      const lines = (container: string) => Stream.runCollect(PodLogs.follow(web, { container }))
      assert.deepStrictEqual(yield* lines("a"), [])
      assert.deepStrictEqual(yield* lines("b"), ["", "x"])
      assert.strictEqual(yield* PodLogs.read(web, { container: "a" }), "")
    }).pipe(Effect.provide(cluster({ script: (_, { name }) => ({ output: name === "a" ? "" : "\nx\n" }) }))))

  it.effect("says why there is nothing to tell", () =>
    Effect.gen(function*() {
      yield* running
      assert.include(yield* refusal(PodLogs.read(web)), "a container name must be specified for pod web")
      assert.include(
        yield* refusal(Stream.runCollect(PodLogs.follow(web))),
        "connect pods/log default/web: BadRequest: a container name must be specified"
      )
      assert.include(
        yield* refusal(PodLogs.read(web, { container: "a", previous: true })),
        "previous terminated container \"a\" in pod \"web\" not found"
      )
    }).pipe(Effect.provide(cluster({ script }))))
})
