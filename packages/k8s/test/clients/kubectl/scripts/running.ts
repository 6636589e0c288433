/** Pods that run: on the in-memory cluster with nodes only, as a control plane has none. */
import { newer, script } from "../Script.ts"

const why = "the real server of this comparison has no nodes"
const memory = (line: string, ...wanted: ReadonlyArray<string | RegExp>) => newer(line, why, ...wanted)

export const running = script("running", {}, [
  memory("get nodes", /Ready/),
  memory("run web --image=nginx", "pod/web created"),
  memory("wait --for=condition=Ready pod/web --timeout=10s", "pod/web condition met"),
  memory("get pods", /^NAME +READY +STATUS +RESTARTS +AGE\nweb +1\/1 +Running +0 /m),
  memory("get pod web -o wide --no-headers", /10\.\d+\.\d+\.\d+ +sim-node-\d/),
  memory("describe pod web", /^Status: +Running$/m, /Normal +Scheduled/),
  memory("create deployment app --image=nginx --replicas=3", "created"),
  memory("rollout status deploy/app --timeout=30s", "deployment \"app\" successfully rolled out"),
  memory("get deploy app", /^app +3\/3 +3 +3 /m),
  memory("set image deploy/app nginx=nginx:2", "image updated"),
  memory("rollout status deploy/app --timeout=30s", "successfully rolled out"),
  memory("rollout history deploy/app", /^2 +<none>$/m),
  memory("rollout undo deploy/app", "rolled back"),
  memory("rollout status deploy/app --timeout=30s", "successfully rolled out"),
  memory("logs web", /^\[0\]$/),
  memory("logs web -f --timestamps --tail=3 --since=1h", /^\[0\]$/),
  memory("logs web --previous", "(BadRequest): previous terminated container \"web\" in pod \"web\" not found"),
  memory("exec web -- date", /error dialing backend: dial tcp sim-node-\d:10250: connect: connection refused/),
  memory("delete pod web --timeout=20s", "pod \"web\" deleted"),
  memory("get pod web", "pods \"web\" not found")
])
