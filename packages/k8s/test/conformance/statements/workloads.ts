/** ReplicaSets and Deployments: statements 150 and 151. */
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import { condition, container, hashPattern, names, ownerOf, spec, workloads } from "../Workloads.ts"

export const workloadStatements = [
  statement("150a", "a ReplicaSet creates the Pods it lacks, owned and named after it, and says so", {
    controllers: true
  }, function*() {
    const { create, events, listed, minor, so } = yield* workloads
    const { object: created } = yield* create("replicasets", "web", spec("web", { replicas: 3 }))
    const pods = yield* listed("pods", ({ length }) => length === 3)
    for (const pod of pods) {
      assert.match(pod["metadata"].name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      assert.strictEqual(pod["metadata"].generateName, "web-")
      assert.deepStrictEqual(pod["metadata"].labels, { app: "web" })
      assert.deepStrictEqual(pod["metadata"].ownerReferences, [{
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name: "web",
        uid: created.metadata.uid,
        controller: true,
        blockOwnerDeletion: true
      }])
    }
    const set = yield* so("replicasets", "web", ({ status }) => status.replicas === 3)
    assert.deepStrictEqual(set["status"], {
      replicas: 3,
      fullyLabeledReplicas: 3,
      observedGeneration: 1,
      ...(minor >= 35 ? { terminatingReplicas: 0 } : {})
    })
    const told = yield* events("web", ({ length }) => length === 3)
    assert.deepStrictEqual(told.map(({ message }) => message).sort(), names(pods).map((name) => `Created pod: ${name}`))
    for (const event of told) {
      assert.strictEqual(event["reason"], "SuccessfulCreate")
      assert.strictEqual(event["type"], "Normal")
      assert.deepStrictEqual(event["source"], { component: "replicaset-controller" })
      assert.strictEqual(event["count"], 1)
      assert.strictEqual(event["involvedObject"].kind, "ReplicaSet")
      assert.strictEqual(event["involvedObject"].apiVersion, "apps/v1")
      assert.strictEqual(event["involvedObject"].uid, created.metadata.uid)
      assert.match(event["metadata"].name, /^web\.[0-9a-f]+$/)
      assert.strictEqual(event["firstTimestamp"], event["lastTimestamp"])
      assert.isNull(event["eventTime"])
    }
  }),

  statement("150b", "a ReplicaSet adopts what its selector matches, and releases what it matches no more", {
    controllers: true
  }, function*() {
    const { create, get, listed, patch, pod, podsKnown, so } = yield* workloads
    const { object: orphan } = yield* pod("orphan", { app: "web", more: "x" })
    const { object: other } = yield* pod("other", { app: "other" })
    // Of an orphan that it has not heard of yet it makes another, and has one too many.
    yield* podsKnown
    const { object: set } = yield* create("replicasets", "web", spec("web", { replicas: 2 }))
    const adopted = yield* so("pods", "orphan", ({ metadata }) => metadata.ownerReferences !== undefined)
    assert.strictEqual(ownerOf(adopted)["uid"], set.metadata.uid)
    assert.strictEqual(ownerOf(adopted)["controller"], true)
    assert.strictEqual(adopted["metadata"].uid, orphan.metadata.uid)
    yield* so("replicasets", "web", ({ status }) => status.replicas === 2)
    const pods = yield* listed("pods", ({ length }) => length === 3)
    assert.include(names(pods), "orphan")
    assert.isUndefined((yield* get("pods", "other")).object.metadata.ownerReferences)
    assert.strictEqual((yield* get("pods", "other")).object.metadata.resourceVersion, other.metadata.resourceVersion)
    yield* patch("pods", "orphan", { metadata: { labels: { app: "free" } } })
    const released = yield* so("pods", "orphan", ({ metadata }) => metadata.ownerReferences === undefined)
    assert.deepStrictEqual(released["metadata"].labels, { app: "free", more: "x" })
    const again = yield* listed("pods", ({ length }) => length === 4)
    assert.lengthOf(again.filter((item) => ownerOf(item)["uid"] === set.metadata.uid), 2, "and is replaced")
  }),

  statement("150c", "a ReplicaSet counts ready Pods, and takes away those that are not first", {
    controllers: true
  }, function*() {
    const { create, events, listed, patch, ready, so } = yield* workloads
    yield* create("replicasets", "web", spec("web", { replicas: 4 }))
    const pods = names(yield* listed("pods", ({ length }) => length === 4))
    yield* ready(pods[1]!)
    yield* ready(pods[3]!)
    const counted = yield* so("replicasets", "web", ({ status }) => status.readyReplicas === 2)
    assert.strictEqual(counted["status"].replicas, 4)
    assert.strictEqual(counted["status"].availableReplicas, 2)
    assert.isUndefined(counted["status"].conditions)
    const { object: scaled } = yield* patch("replicasets", "web", { spec: { replicas: 2 } })
    assert.strictEqual(scaled.metadata.generation, 2)
    const left = yield* listed("pods", ({ length }) => length === 2)
    assert.deepStrictEqual(names(left), [pods[1]!, pods[3]!])
    const after = yield* so(
      "replicasets",
      "web",
      ({ status }) => status.observedGeneration === 2 && status.replicas === 2
    )
    assert.strictEqual(after["status"].readyReplicas, 2)
    const told = yield* events("web", (all) => all.filter(({ reason }) => reason === "SuccessfulDelete").length === 2)
    assert.sameMembers(
      told.filter(({ reason }) => reason === "SuccessfulDelete").map(({ message }) => message),
      [`Deleted pod: ${pods[0]}`, `Deleted pod: ${pods[2]}`]
    )
  }),

  statement("150d", "the cost of deletion decides between Pods that are alike", {
    controllers: true,
    since: 22
  }, function*() {
    const { create, listed, patch, podsKnown, so } = yield* workloads
    yield* create("replicasets", "web", spec("web", { replicas: 3 }))
    const pods = names(yield* listed("pods", ({ length }) => length === 3))
    const cost = (name: string, value: string) =>
      patch("pods", name, { metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": value } } })
    yield* cost(pods[0]!, "10")
    yield* cost(pods[1]!, "-5")
    yield* cost(pods[2]!, "no number")
    yield* podsKnown
    yield* patch("replicasets", "web", { spec: { replicas: 2 } })
    assert.deepStrictEqual(names(yield* listed("pods", ({ length }) => length === 2)), [pods[0]!, pods[2]!])
    yield* patch("replicasets", "web", { spec: { replicas: 1 } })
    assert.deepStrictEqual(names(yield* listed("pods", ({ length }) => length === 1)), [pods[0]!])
    const set = yield* so("replicasets", "web", ({ status }) => status.replicas === 1)
    assert.strictEqual(set["status"].observedGeneration, 3)
  }),

  statement("150e", "a Pod is available only when it was ready for minReadySeconds; finished Pods are replaced", {
    controllers: true
  }, function*() {
    const { create, listed, patch, ready, so } = yield* workloads
    // For so long that nobody misses that it is ready and not available.
    yield* create("replicasets", "web", spec("web", { replicas: 1, minReadySeconds: 3600 }))
    const [name] = names(yield* listed("pods", ({ length }) => length === 1))
    const { object: pod } = yield* ready(name!)
    const early = yield* so("replicasets", "web", ({ status }) => status.readyReplicas === 1)
    assert.isUndefined(early["status"].availableReplicas)
    yield* patch("replicasets", "web", { spec: { minReadySeconds: 3 } })
    const late = yield* so("replicasets", "web", ({ status }) => status.availableReplicas === 1)
    assert.isAtLeast(
      Clock.Clock.defaultValue().currentTimeMillisUnsafe() -
        Date.parse(condition(pod, "Ready")!["lastTransitionTime"]),
      3000
    )
    assert.strictEqual(late["status"].readyReplicas, 1)
    yield* patch("pods", `${name}/status`, { status: { phase: "Failed" } })
    const pods = yield* listed("pods", ({ length }) => length === 2)
    assert.include(names(pods), name!, "what failed is left alone")
    const set = yield* so("replicasets", "web", ({ status }) => status.replicas === 1 && !status.readyReplicas)
    assert.isUndefined(set["status"].availableReplicas)
  }),

  statement("150f", "a ReplicaSet that cannot have its Pods says why, and goes on when it can", {
    controllers: true
  }, function*() {
    const { request } = yield* Target
    const { create, events, items, listed, namespace, so } = yield* workloads
    const limits = `/api/v1/namespaces/${namespace}/limitranges`
    yield* request("POST", limits, {
      body: {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "limits" },
        spec: { limits: [{ type: "Container", max: { cpu: "1" } }] }
      }
    })
    const resources = { requests: { cpu: "2" }, limits: { cpu: "2" } }
    const template = { containers: [{ ...container("nginx:1"), resources }] }
    yield* create("deployments", "web", spec("web", { replicas: 2 }, template))
    const [set] = yield* listed("replicasets", (all) => all[0]?.["status"].conditions !== undefined)
    const failure = condition(set!, "ReplicaFailure")!
    assert.strictEqual(failure["status"], "True")
    assert.strictEqual(failure["reason"], "FailedCreate")
    const said = /^pods "web-[a-z0-9]+-[a-z0-9]{5}" is forbidden: maximum cpu usage per Container is 1, but limit is 2$/
    assert.match(failure["message"], said)
    assert.strictEqual(set!["status"].replicas, 0)
    const told = yield* events(set!["metadata"].name, ({ length }) => length > 0)
    assert.strictEqual(told[0]!["reason"], "FailedCreate")
    assert.strictEqual(told[0]!["type"], "Warning")
    assert.match(told[0]!["message"].replace(/^Error creating: /, ""), said)
    const deployment = yield* so("deployments", "web", (object) => condition(object, "ReplicaFailure") !== undefined)
    assert.strictEqual(condition(deployment, "ReplicaFailure")!["reason"], "FailedCreate")
    assert.strictEqual(deployment["status"].unavailableReplicas, 2)
    assert.lengthOf(yield* items("pods"), 0)
    yield* request("DELETE", `${limits}/limits`)
    yield* listed("pods", ({ length }) => length === 2)
    const fine = yield* so("deployments", "web", ({ status }) => status.replicas === 2)
    assert.isUndefined(condition(fine, "ReplicaFailure"))
  }),

  statement("151a", "a Deployment has a ReplicaSet named by the hash of its template", {
    controllers: true
  }, function*() {
    const { create, events, listed, minor, so } = yield* workloads
    const { object: created } = yield* create("deployments", "web", spec("web", { replicas: 2 }), {
      labels: { team: "a" },
      annotations: { note: "x" }
    })
    const [set] = yield* listed("replicasets", ({ length }) => length === 1)
    const hash: string = set!["metadata"].labels["pod-template-hash"]
    assert.match(hash, hashPattern)
    assert.strictEqual(set!["metadata"].name, `web-${hash}`)
    assert.deepStrictEqual(set!["metadata"].labels, { app: "web", "pod-template-hash": hash })
    assert.deepStrictEqual(set!["spec"].selector.matchLabels, { app: "web", "pod-template-hash": hash })
    assert.deepStrictEqual(set!["spec"].template.metadata.labels, { app: "web", "pod-template-hash": hash })
    assert.strictEqual(ownerOf(set!)["uid"], created.metadata.uid)
    const prefix = "deployment.kubernetes.io/"
    assert.deepStrictEqual(set!["metadata"].annotations, {
      note: "x",
      [`${prefix}desired-replicas`]: "2",
      [`${prefix}max-replicas`]: "3",
      [`${prefix}revision`]: "1"
    })
    const deployment = yield* so("deployments", "web", ({ status }) => status.replicas === 2)
    assert.strictEqual(deployment["metadata"].annotations[`${prefix}revision`], "1")
    assert.strictEqual(deployment["status"].observedGeneration, 1)
    assert.strictEqual(deployment["status"].updatedReplicas, 2)
    assert.strictEqual(deployment["status"].unavailableReplicas, 2)
    const available = condition(deployment, "Available")!
    assert.strictEqual(available["status"], "False")
    assert.strictEqual(available["reason"], "MinimumReplicasUnavailable")
    assert.strictEqual(available["message"], "Deployment does not have minimum availability.")
    const progressing = condition(deployment, "Progressing")!
    assert.strictEqual(progressing["status"], "True")
    assert.strictEqual(progressing["reason"], "ReplicaSetUpdated")
    assert.strictEqual(progressing["message"], `ReplicaSet "web-${hash}" is progressing.`)
    assert.isString(progressing["lastUpdateTime"])
    const [event] = yield* events("web", ({ length }) => length === 1)
    assert.strictEqual(event!["reason"], "ScalingReplicaSet")
    assert.strictEqual(
      event!["message"],
      minor >= 32 ? `Scaled up replica set web-${hash} from 0 to 2` : `Scaled up replica set web-${hash} to 2`
    )
    assert.deepStrictEqual(event!["source"], { component: "deployment-controller" })
  }),

  statement("151b", "a rolling update goes on as Pods become available, within maxSurge and maxUnavailable", {
    controllers: true
  }, function*() {
    const { create, events, items, listed, minor, patch, ready, so } = yield* workloads
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
    yield* create("deployments", "web", spec("web", { replicas: 2, strategy }))
    for (const name of names(yield* listed("pods", ({ length }) => length === 2))) yield* ready(name)
    const done = yield* so("deployments", "web", ({ status }) => status.availableReplicas === 2)
    const progressed = yield* so(
      "deployments",
      "web",
      (object) => condition(object, "Progressing")?.["reason"] === "NewReplicaSetAvailable"
    )
    const [old] = yield* items("replicasets")
    assert.strictEqual(
      condition(progressed, "Progressing")!["message"],
      `ReplicaSet "${old!["metadata"].name}" has successfully progressed.`
    )
    assert.strictEqual(condition(done, "Available")!["reason"], "MinimumReplicasAvailable")
    assert.strictEqual(condition(done, "Available")!["message"], "Deployment has minimum availability.")
    assert.isUndefined(done["status"].unavailableReplicas)

    yield* patch("deployments", "web", { spec: { template: { spec: { containers: [container("nginx:2")] } } } })
    const step = Effect.fnUntraced(function*(oldReplicas: number, newReplicas: number) {
      const sets = yield* listed("replicasets", (all) =>
        all.length === 2 &&
        all.every(({ metadata, spec, status }) =>
          spec.replicas === (metadata.name === old!["metadata"].name ? oldReplicas : newReplicas) &&
          status.replicas === spec.replicas
        ))
      return sets.find(({ metadata }) => metadata.name !== old!["metadata"].name)!
    })
    const fresh = Effect.map(
      items("pods"),
      (pods) =>
        pods.filter((pod) => ownerOf(pod)["name"] !== old!["metadata"].name && pod["status"].phase === "Pending")
    )
    const current = yield* step(2, 1)
    assert.strictEqual(current["metadata"].annotations["deployment.kubernetes.io/revision"], "2")
    const mixed = yield* so("deployments", "web", ({ status }) => status.updatedReplicas === 1)
    assert.strictEqual(mixed["status"].replicas, 3)
    assert.strictEqual(mixed["status"].availableReplicas, 2)
    assert.strictEqual(mixed["status"].unavailableReplicas, 1)
    yield* ready((yield* fresh)[0]!["metadata"].name)
    yield* step(1, 2)
    yield* ready((yield* fresh)[0]!["metadata"].name)
    yield* step(0, 2)
    const end = yield* so(
      "deployments",
      "web",
      (object) =>
        condition(object, "Progressing")?.["reason"] === "NewReplicaSetAvailable" && object["status"].replicas === 2
    )
    assert.strictEqual(end["metadata"].annotations["deployment.kubernetes.io/revision"], "2")
    const name = current["metadata"].name
    const from = (size: number) => minor >= 32 ? `from ${size} ` : ""
    const told = yield* events("web", ({ length }) => length === 5)
    assert.sameMembers(told.map(({ message }) => message), [
      `Scaled up replica set ${old!["metadata"].name} ${from(0)}to 2`,
      `Scaled up replica set ${name} ${from(0)}to 1`,
      `Scaled down replica set ${old!["metadata"].name} ${from(2)}to 1`,
      `Scaled up replica set ${name} ${from(1)}to 2`,
      `Scaled down replica set ${old!["metadata"].name} ${from(1)}to 0`
    ])
  }),

  statement("151c", "going back to an earlier template takes its ReplicaSet again, with a new revision", {
    controllers: true,
    note: "what kubectl rollout undo does"
  }, function*() {
    const { create, items, listed, patch, so } = yield* workloads
    const image = (name: string) => ({ spec: { template: { spec: { containers: [container(name)] } } } })
    yield* create("deployments", "web", spec("web", { replicas: 0 }))
    const [first] = yield* listed("replicasets", ({ length }) => length === 1)
    yield* so("deployments", "web", ({ status }) => status.observedGeneration === 1)
    yield* patch("deployments", "web", image("nginx:2"))
    yield* listed("replicasets", ({ length }) => length === 2)
    const prefix = "deployment.kubernetes.io/revision"
    yield* so("deployments", "web", ({ metadata }) => metadata.annotations[prefix] === "2")
    yield* patch("deployments", "web", image("nginx:1"))
    const deployment = yield* so("deployments", "web", ({ metadata }) => metadata.annotations[prefix] === "3")
    assert.strictEqual(deployment["metadata"].generation, 3)
    const sets = yield* items("replicasets")
    assert.lengthOf(sets, 2)
    const again = sets.find(({ metadata }) => metadata.name === first!["metadata"].name)!
    assert.strictEqual(again["metadata"].uid, first!["metadata"].uid)
    assert.strictEqual(again["metadata"].annotations[prefix], "3")
    assert.strictEqual(again["metadata"].annotations[`${prefix}-history`], "1")
    const other = sets.find(({ metadata }) => metadata.name !== first!["metadata"].name)!
    assert.strictEqual(other["metadata"].annotations[prefix], "2")
  }),

  statement("151d", "a paused Deployment is scaled but not rolled, and says that it is paused", {
    controllers: true
  }, function*() {
    const { create, items, listed, patch, so } = yield* workloads
    yield* create("deployments", "web", spec("web", { replicas: 1 }))
    yield* listed("replicasets", (all) => all.length === 1 && all[0]!["status"].replicas === 1)
    yield* patch("deployments", "web", { spec: { paused: true } })
    const paused = yield* so(
      "deployments",
      "web",
      (object) => condition(object, "Progressing")?.["reason"] === "DeploymentPaused"
    )
    assert.strictEqual(condition(paused, "Progressing")!["status"], "Unknown")
    assert.strictEqual(condition(paused, "Progressing")!["message"], "Deployment is paused")
    yield* patch("deployments", "web", {
      spec: { replicas: 3, template: { spec: { containers: [container("nginx:2")] } } }
    })
    yield* listed("replicasets", (all) => all.length === 1 && all[0]!["spec"].replicas === 3)
    yield* so("deployments", "web", ({ metadata, status }) => status.observedGeneration === metadata.generation)
    assert.lengthOf(yield* items("replicasets"), 1)
    yield* patch("deployments", "web", { spec: { paused: null } })
    const resumed = yield* so(
      "deployments",
      "web",
      (object) => condition(object, "Progressing")?.["reason"] !== "DeploymentPaused"
    )
    assert.include(
      ["DeploymentResumed", "NewReplicaSetCreated", "ReplicaSetUpdated"],
      condition(resumed, "Progressing")!["reason"]
    )
    yield* listed("replicasets", ({ length }) => length === 2)
  }),

  statement("151e", "Recreate takes the old Pods away before it makes new ones", {
    controllers: true
  }, function*() {
    const { create, items, listed, patch, ready, remove, so } = yield* workloads
    yield* create("deployments", "web", spec("web", { replicas: 2, strategy: { type: "Recreate" } }))
    const [old] = yield* listed("replicasets", (all) => all.length === 1 && all[0]!["status"].replicas === 2)
    const before = names(yield* items("pods"))
    yield* patch("pods", before[0]!, { metadata: { finalizers: ["example.com/hold"] } })
    yield* patch("deployments", "web", { spec: { template: { spec: { containers: [container("nginx:2")] } } } })
    yield* so("replicasets", old!["metadata"].name, ({ spec }) => spec.replicas === 0)
    yield* so("deployments", "web", ({ status }) => status.observedGeneration === 2 && !status.updatedReplicas)
    const left = yield* listed(
      "pods",
      (all) => all.length === 1 && all[0]!["metadata"].deletionTimestamp !== undefined
    )
    assert.deepStrictEqual(names(left), [before[0]!])
    yield* (yield* Target).sleep(300)
    assert.lengthOf(yield* items("replicasets"), 1, "an old Pod is still there")
    yield* patch("pods", before[0]!, { metadata: { finalizers: null } })
    const pods = yield* listed("pods", ({ length }) => length === 2)
    for (const pod of pods) {
      assert.notInclude(before, pod["metadata"].name)
      yield* ready(pod["metadata"].name)
    }
    const done = yield* so(
      "deployments",
      "web",
      (object) => condition(object, "Progressing")?.["reason"] === "NewReplicaSetAvailable"
    )
    assert.strictEqual(done["status"].updatedReplicas, 2)
    yield* remove("deployments", "web")
  }),

  statement("151f", "old ReplicaSets beyond revisionHistoryLimit are deleted once the rollout is complete", {
    controllers: true
  }, function*() {
    const { create, listed, patch, so } = yield* workloads
    yield* create("deployments", "web", spec("web", { replicas: 0, revisionHistoryLimit: 1 }))
    const revision = (value: string) =>
      so(
        "deployments",
        "web",
        ({ metadata, status }) =>
          metadata.annotations?.["deployment.kubernetes.io/revision"] === value &&
          status.observedGeneration === metadata.generation
      )
    const [first] = yield* listed("replicasets", ({ length }) => length === 1)
    yield* revision("1")
    for (const number of [2, 3]) {
      yield* patch("deployments", "web", {
        spec: { template: { spec: { containers: [container(`nginx:${number}`)] } } }
      })
      yield* revision(String(number))
    }
    const left = yield* listed("replicasets", ({ length }) => length === 2)
    assert.notInclude(names(left), first!["metadata"].name)
    assert.sameMembers(
      left.map(({ metadata }) => metadata.annotations["deployment.kubernetes.io/revision"]),
      ["2", "3"]
    )
    assert.strictEqual((yield* revision("3"))["metadata"].generation, 3)
  }),

  statement("151g", "a rollout without progress fails when its deadline has passed", {
    controllers: true
  }, function*() {
    const { create, listed, so } = yield* workloads
    yield* create("deployments", "web", spec("web", { replicas: 1, progressDeadlineSeconds: 1 }))
    const [set] = yield* listed("replicasets", ({ length }) => length === 1)
    const late = yield* so(
      "deployments",
      "web",
      (object) => condition(object, "Progressing")?.["status"] === "False"
    )
    const progressing = condition(late, "Progressing")!
    assert.strictEqual(progressing["reason"], "ProgressDeadlineExceeded")
    assert.strictEqual(progressing["message"], `ReplicaSet "${set!["metadata"].name}" has timed out progressing.`)
    assert.strictEqual(late["status"].unavailableReplicas, 1)
  }),

  statement("151h", "scaling during a rollout is shared among the ReplicaSets in proportion", {
    controllers: true
  }, function*() {
    const { create, items, listed, patch, ready } = yield* workloads
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } }
    yield* create("deployments", "web", spec("web", { replicas: 10, strategy }))
    for (const name of names(yield* listed("pods", ({ length }) => length === 10))) yield* ready(name)
    const [old] = yield* listed("replicasets", (all) => all[0]?.["status"].availableReplicas === 10)
    yield* patch("deployments", "web", { spec: { template: { spec: { containers: [container("nginx:2")] } } } })
    const oldName = old!["metadata"].name
    const sizes = (mine: number, fresh: number) =>
      listed(
        "replicasets",
        (all) =>
          all.length === 2 && all.every(({ metadata, spec, status }) =>
            spec.replicas === (metadata.name === oldName ? mine : fresh) && status.replicas === spec.replicas
          )
      )
    yield* sizes(8, 5)
    yield* patch("deployments", "web", { spec: { replicas: 15 } })
    const sets = yield* sizes(11, 7)
    for (const set of sets) {
      assert.strictEqual(set["metadata"].annotations["deployment.kubernetes.io/desired-replicas"], "15")
      assert.strictEqual(set["metadata"].annotations["deployment.kubernetes.io/max-replicas"], "18")
    }
    assert.lengthOf(yield* items("pods"), 18)
  })
]
