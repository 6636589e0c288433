import { assert, describe, it } from "@effect/vitest"
import { details, reasons, violations } from "../../../src/testing/admission/PodSecurityChecks.ts"
import * as Levels from "../../../src/testing/admission/PodSecurityLevels.ts"

type Json = Readonly<Record<string, any>>

const latest = (level: Levels.Level): Levels.Standard => ({ level, minor: Infinity })

const pod = (spec: Json = {}, container: Json = {}, metadata: Json = {}): Json => ({
  metadata: { name: "p", ...metadata },
  spec: { containers: [{ name: "c", ...container }], ...spec }
})

const harmless = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "Localhost", localhostProfile: "p" }
}

const baseline = (one: Json, minor = Infinity): string => details(violations(one, { level: "baseline", minor }))

const restricted = (one: Json, minor = Infinity): string =>
  details(violations({ ...one, spec: { ...one["spec"] } }, { level: "restricted", minor }))

const read = (labels: Readonly<Record<string, string>>) => {
  const { faults, policy } = Levels.read(
    Object.fromEntries(Object.entries(labels).map(([name, value]) => [Levels.prefix + name, value]))
  )
  const { audit, enforce, warn } = policy
  return { faults: faults.length, standards: [enforce, audit, warn].map(Levels.print).join(" ") }
}

describe("PodSecurityLevels", () => {
  it("whoever enforces a level is warned of it, unless a label says what to warn of", () => {
    assert.strictEqual(read({}).standards, "privileged:latest privileged:latest privileged:latest")
    assert.strictEqual(
      read({ enforce: "baseline", "enforce-version": "v1.30" }).standards,
      "baseline:v1.30 privileged:latest baseline:v1.30"
    )
    assert.strictEqual(
      read({ enforce: "baseline", "enforce-version": "v1.30", "warn-version": "v1.9" }).standards,
      "baseline:v1.30 privileged:latest baseline:v1.9"
    )
    assert.strictEqual(
      read({ enforce: "baseline", warn: "privileged" }).standards,
      "baseline:latest privileged:latest privileged:latest"
    )
  })

  it("what cannot be read enforces the strictest level, and audits and warns of nothing", () => {
    assert.deepStrictEqual(read({ enforce: "x", "enforce-version": "v1.01", audit: "", warn: "Baseline" }), {
      faults: 4,
      standards: "restricted:latest privileged:latest privileged:latest"
    })
  })

  it("nothing is asked where all levels are privileged", () => {
    assert.isTrue(Levels.isPrivileged(Levels.privileged))
    assert.isFalse(Levels.isPrivileged({ ...Levels.privileged, audit: latest("baseline") }))
    assert.isTrue(Levels.isStricter("restricted", "baseline"))
    assert.isFalse(Levels.isStricter("baseline", "baseline"))
  })
})

describe("PodSecurityChecks", () => {
  it("an ordinary Pod is fine for baseline, and a harmless one for restricted", () => {
    assert.strictEqual(baseline(pod()), "")
    assert.strictEqual(restricted(pod({}, { securityContext: harmless })), "")
    assert.deepStrictEqual(violations(pod({ hostNetwork: true }), latest("privileged")), [])
  })

  it("every check of baseline says what it minds, of all kinds of containers", () => {
    const bad = pod(
      {
        hostNetwork: true,
        hostIPC: true,
        volumes: [{ name: "v", hostPath: { path: "/" } }, { name: "w", emptyDir: {} }],
        securityContext: {
          appArmorProfile: { type: "Unconfined" },
          seLinuxOptions: { type: "t", user: "u" },
          seccompProfile: { type: "Unconfined" },
          sysctls: [{ name: "net.ipv4.tcp_rmem", value: "1" }, { name: "kernel.msgmax", value: "1" }],
          windowsOptions: { hostProcess: true }
        },
        initContainers: [{
          name: "i",
          ports: [{ containerPort: 1, hostPort: 90 }, { containerPort: 2, hostPort: 0 }],
          securityContext: { privileged: true, procMount: "Unmasked", capabilities: { add: ["SYS_TIME", "KILL"] } }
        }],
        ephemeralContainers: [{ name: "e", securityContext: { capabilities: { add: ["BPF"] } } }]
      },
      {
        livenessProbe: { httpGet: { host: "h" } },
        lifecycle: { preStop: { tcpSocket: { host: "g" } } },
        ports: [{ containerPort: 1, hostPort: 100 }],
        securityContext: { windowsOptions: { hostProcess: true }, seLinuxOptions: { role: "r" } }
      }
    )
    assert.strictEqual(
      baseline(bad),
      [
        `forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")`,
        `non-default capabilities (containers "i", "e" must not include "BPF", "SYS_TIME" in ` +
        `securityContext.capabilities.add)`,
        `host namespaces (hostNetwork=true, hostIPC=true)`,
        `hostPath volumes (volume "v")`,
        `hostPort (containers "i", "c" use hostPorts 100, 90)`,
        `probe or lifecycle host (container "c" uses probe or lifecycle hosts "g", "h")`,
        `privileged (container "i" must not set securityContext.privileged=true)`,
        `procMount (container "i" must not set securityContext.procMount to "Unmasked")`,
        `seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "t"; user may not ` +
        `be set; role may not be set)`,
        `seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")`,
        `forbidden sysctls (kernel.msgmax)`,
        `hostProcess (pod and container "c" must not set securityContext.windowsOptions.hostProcess=true)`
      ].join(", ")
    )
    assert.strictEqual(
      reasons(violations(bad, latest("restricted"))),
      "forbidden AppArmor profile, host namespaces, hostPort, probe or lifecycle host, privileged, seLinuxOptions, " +
        "forbidden sysctls, hostProcess, allowPrivilegeEscalation != false, unrestricted capabilities, procMount, " +
        "restricted volume types, runAsNonRoot != true, seccompProfile",
      "what restricted says more strictly is not said twice"
    )
  })

  it("what containers leave out counts for restricted, unless the Pod says it for them", () => {
    const own = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } }
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } }
    assert.strictEqual(restricted(pod({ securityContext }, { securityContext: own })), "")
    assert.strictEqual(
      restricted(pod({}, { securityContext: own })),
      `runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or ` +
        `container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
    )
    assert.strictEqual(
      restricted(pod({ securityContext: { ...securityContext, runAsUser: 0 } }, {
        securityContext: {
          ...own,
          capabilities: { add: ["KILL"] },
          runAsNonRoot: false,
          runAsUser: 0,
          seccompProfile: { type: "Unconfined" }
        }
      })),
      `unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" ` +
        `must not include "KILL" in securityContext.capabilities.add), runAsNonRoot != true (container "c" must not ` +
        `set securityContext.runAsNonRoot=false), runAsUser=0 (pod and container "c" must not set runAsUser=0), ` +
        `seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")`
    )
    assert.strictEqual(
      restricted(pod({ volumes: [{ name: "a", nfs: {} }, { name: "b", hostPath: {} }, { name: "d", csi: {} }] }, {
        securityContext: harmless
      })),
      `restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")`
    )
  })

  it("a release reads a level as it did then", () => {
    const annotated = pod({}, {}, {
      annotations: {
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
        "container.apparmor.security.beta.kubernetes.io/d": "localhost/x"
      }
    })
    const appArmor = `forbidden AppArmor profile (annotation must not set AppArmor profile type to ` +
      `"container.apparmor.security.beta.kubernetes.io/c="unconfined"")`
    assert.strictEqual(baseline(annotated), appArmor)
    assert.strictEqual(
      baseline(annotated, 18),
      `${appArmor}, seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")`
    )
    const probed = pod({}, { startupProbe: { tcpSocket: { host: "h" } } })
    assert.strictEqual(baseline(probed, 33), "")
    assert.notStrictEqual(baseline(probed, 34), "")
    const sysctl = pod({ securityContext: { sysctls: [{ name: "net.ipv4.tcp_fin_timeout", value: "1" }] } })
    assert.notStrictEqual(baseline(sysctl, 28), "")
    assert.strictEqual(baseline(sysctl, 29), "")
    assert.strictEqual(reasons(violations(pod(), { level: "restricted", minor: 7 })), "runAsNonRoot != true")
    assert.strictEqual(
      reasons(violations(pod(), { level: "restricted", minor: 21 })),
      "allowPrivilegeEscalation != false, runAsNonRoot != true, seccompProfile"
    )
  })

  it("Windows has no such settings, and a user namespace of its own makes root harmless, since they are known", () => {
    const windows = pod({ os: { name: "windows" }, securityContext: { runAsNonRoot: true } })
    assert.strictEqual(restricted(windows), "")
    assert.notStrictEqual(restricted(windows, 24), "")
    const apart = pod({ hostUsers: false }, {
      securityContext: { ...harmless, runAsNonRoot: false, runAsUser: 0, procMount: "Unmasked" }
    })
    assert.strictEqual(baseline(apart), "")
    assert.strictEqual(reasons(violations(apart, latest("restricted"))), "procMount")
    assert.strictEqual(
      reasons(violations(apart, { level: "restricted", minor: 34 })),
      "procMount, runAsNonRoot != true, runAsUser=0"
    )
  })
})
