/**
 * `PodSecurityChecks`: the Pod Security Standards `baseline` and `restricted`, by release.
 *
 * A check belongs to a level and has a version for each release that changed it. The restricted level includes the
 * checks of baseline, except for those that it replaces. All checks are made, those of baseline first, and each failed
 * one reports the reason and the containers.
 *
 * Source: k8s.io/pod-security-admission/policy.
 */
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import type { Standard } from "./PodSecurityLevels.ts"

/** A Pod, or a Pod template. */
type Pod = unknown

/** Why a Pod is not allowed. */
export interface Violation {
  readonly reason: string
  readonly detail: string
}

type Reading = (pod: Pod) => Violation | undefined

interface Check {
  readonly level: "baseline" | "restricted"
  /** The versions of the check with the minor release in which each starts, ascending. */
  readonly readings: ReadonlyArray<readonly [since: number, reading: Reading]>
  /** The check of baseline that this one replaces. */
  readonly insteadOf?: string
}

const containersOf = (pod: Pod): ReadonlyArray<unknown> =>
  ["initContainers", "containers", "ephemeralContainers"].flatMap((key) => arrayAt(pod, "spec", key))

const nameOf = (named: unknown): string => stringAt(named, "name")

const plural = (word: string, count: number): string => (count === 1 ? word : `${word}s`)

const quoted = (texts: ReadonlyArray<string>): string => texts.map((text) => `"${text}"`).join(", ")

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(texts)].sort()

const named = (kind: string, names: ReadonlyArray<string>): string => `${plural(kind, names.length)} ${quoted(names)}`

const containers = (some: ReadonlyArray<unknown>): string => named("container", some.map(nameOf))

const security = (of: unknown, ...path: ReadonlyArray<string>): unknown => at(of, "securityContext", ...path)

const ofPod = (pod: Pod, ...path: ReadonlyArray<string>): unknown => security(at(pod, "spec"), ...path)

/** The parts that set something forbidden: the Pod itself, its containers. */
const setters = (pod: boolean, some: ReadonlyArray<unknown>): ReadonlyArray<string> => [
  ...(pod ? ["pod"] : []),
  ...(some.length === 0 ? [] : [containers(some)])
]

const violation = (reason: string, bad: boolean, detail: () => string): Violation | undefined =>
  bad ? { reason, detail: detail() } : undefined

/** Skips a check for Windows Pods, to which the setting does not apply. */
const butWindows = (reading: Reading): Reading => (pod) =>
  stringAt(pod, "spec", "os", "name") === "windows" ? undefined : reading(pod)

/** Skips a check for Pods with their own user namespace, in which root has no privileges on the node. */
const butOwnUsers = (reading: Reading): Reading => (pod) =>
  at(pod, "spec", "hostUsers") === false ? undefined : reading(pod)

const appArmor: Reading = (pod) => {
  const key = "container.apparmor.security.beta.kubernetes.io/"
  const profile = (of: unknown): string | undefined => {
    const type = at(of, "appArmorProfile", "type")
    return typeof type === "string" && !["RuntimeDefault", "Localhost"].includes(type) ? type : undefined
  }
  const own = profile(ofPod(pod))
  const bad = containersOf(pod).filter((container) => profile(security(container)) !== undefined)
  const annotations = Object.entries(objectAt(pod, "metadata", "annotations")).filter(([name, value]) =>
    name.startsWith(key) && value !== "" && value !== "runtime/default" && !String(value).startsWith("localhost/")
  ).map(([name, value]) => `${name}=${FieldError.quote(String(value))}`).sort()
  const values = [
    ...sorted([own ?? [], ...bad.map((container) => profile(security(container))!)].flat()),
    ...annotations
  ]
  const all = [
    ...setters(own !== undefined, bad),
    ...(annotations.length === 0 ? [] : [plural("annotation", annotations.length)])
  ]
  return violation(
    plural("forbidden AppArmor profile", values.length),
    all.length > 0,
    () => `${all.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`
  )
}

const added = (container: unknown): ReadonlyArray<string> =>
  arrayAt(security(container, "capabilities"), "add").map(String)

/** Containers that add capabilities other than the allowed ones. */
const adding = (pod: Pod, allowed: ReadonlySet<string>) => {
  const beyond = (container: unknown) => added(container).filter((name) => !allowed.has(name))
  const bad = containersOf(pod).filter((container) => beyond(container).length > 0)
  return bad.length === 0
    ? undefined
    : `${containers(bad)} must not include ${quoted(sorted(bad.flatMap(beyond)))} in securityContext.capabilities.add`
}

const defaultCapabilities: ReadonlySet<string> = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT"
])

const baselineCapabilities: Reading = (pod) => {
  const bad = adding(pod, defaultCapabilities)
  return violation("non-default capabilities", bad !== undefined, () => bad!)
}

const restrictedCapabilities: Reading = (pod) => {
  const keeping = containersOf(pod).filter((container) =>
    !arrayAt(security(container, "capabilities"), "drop").includes("ALL")
  )
  const bad = [
    ...(keeping.length === 0 ? [] : [`${containers(keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    adding(pod, new Set(["NET_BIND_SERVICE"])) ?? []
  ].flat()
  return violation("unrestricted capabilities", bad.length > 0, () => bad.join("; "))
}

const hostNamespaces: Reading = (pod) => {
  const shared = ["hostNetwork", "hostPID", "hostIPC"].filter((key) => at(pod, "spec", key) === true)
  return violation("host namespaces", shared.length > 0, () => shared.map((key) => `${key}=true`).join(", "))
}

const hostPaths: Reading = (pod) => {
  const bad = arrayAt(pod, "spec", "volumes").filter((volume) => at(volume, "hostPath") !== undefined).map(nameOf)
  return violation("hostPath volumes", bad.length > 0, () => named("volume", bad))
}

const hostPorts: Reading = (pod) => {
  const portsOf = (container: unknown) =>
    arrayAt(container, "ports").flatMap((port) => {
      const own = at(port, "hostPort")
      return own === undefined || own === 0 ? [] : [String(own)]
    })
  const bad = containersOf(pod).filter((container) => portsOf(container).length > 0)
  const ports = sorted(bad.flatMap(portsOf))
  return violation(
    "hostPort",
    bad.length > 0,
    () =>
      `${containers(bad)} ${bad.length === 1 ? "uses" : "use"} ${plural("hostPort", ports.length)} ${ports.join(", ")}`
  )
}

const handlers = [
  ["livenessProbe"],
  ["readinessProbe"],
  ["startupProbe"],
  ["lifecycle", "postStart"],
  ["lifecycle", "preStop"]
]

const handlerHosts: Reading = (pod) => {
  const hostsOf = (container: unknown) =>
    handlers.flatMap((path) =>
      ["httpGet", "tcpSocket"].map((action) => stringAt(container, ...path, action, "host")).filter((host) =>
        host !== ""
      )
    )
  const bad = containersOf(pod).filter((container) => hostsOf(container).length > 0)
  const names = sorted(bad.map(nameOf))
  const hosts = sorted(bad.flatMap(hostsOf))
  return violation(
    "probe or lifecycle host",
    bad.length > 0,
    () =>
      `${named("container", names)} ${names.length === 1 ? "uses" : "use"} ` +
      `${plural("probe or lifecycle host", hosts.length)} ${quoted(hosts)}`
  )
}

const privileged: Reading = (pod) => {
  const bad = containersOf(pod).filter((container) => security(container, "privileged") === true)
  return violation(
    "privileged",
    bad.length > 0,
    () => `${containers(bad)} must not set securityContext.privileged=true`
  )
}

const procMount: Reading = (pod) => {
  const mounts = (container: unknown) => stringAt(security(container), "procMount") || "Default"
  const bad = containersOf(pod).filter((container) => mounts(container) !== "Default")
  return violation(
    "procMount",
    bad.length > 0,
    () => `${containers(bad)} must not set securityContext.procMount to ${quoted(sorted(bad.map(mounts)))}`
  )
}

const seLinux = (...more: ReadonlyArray<string>): Reading => {
  const allowed: ReadonlySet<string> = new Set(["", "container_t", "container_init_t", "container_kvm_t", ...more])
  const optionsOf = (of: unknown) => objectAt(of, "seLinuxOptions")
  const isBad = (options: object): boolean =>
    !allowed.has(stringAt(options, "type")) || stringAt(options, "user") !== "" || stringAt(options, "role") !== ""
  return (pod) => {
    const own = optionsOf(ofPod(pod))
    const bad = containersOf(pod).filter((container) => isBad(optionsOf(security(container))))
    const options = [...(isBad(own) ? [own] : []), ...bad.map((container) => optionsOf(security(container)))]
    const types = sorted(options.map((each) => stringAt(each, "type")).filter((type) => !allowed.has(type)))
    const sets = (key: string) => (options.some((each) => stringAt(each, key) !== "") ? [`${key} may not be set`] : [])
    const data = [...(types.length === 0 ? [] : [named("type", types)]), ...sets("user"), ...sets("role")]
    return violation(
      "seLinuxOptions",
      options.length > 0,
      () => `${setters(isBad(own), bad).join(" and ")} set forbidden securityContext.seLinuxOptions: ${data.join("; ")}`
    )
  }
}

const seccompType = (of: unknown): string | undefined => {
  const profile = at(of, "seccompProfile")
  return profile === undefined ? undefined : stringAt(profile, "type")
}

const allowedSeccomp = ["RuntimeDefault", "Localhost"]

const badSeccomp: Reading = (pod) => {
  const isBad = (type: string | undefined): type is string => type !== undefined && !allowedSeccomp.includes(type)
  const own = seccompType(ofPod(pod))
  const bad = containersOf(pod).filter((container) => isBad(seccompType(security(container))))
  const types = sorted([own, ...bad.map((container) => seccompType(security(container)))].filter(isBad))
  return violation(
    "seccompProfile",
    types.length > 0,
    () =>
      `${setters(isBad(own), bad).join(" and ")} must not set securityContext.seccompProfile.type to ${quoted(types)}`
  )
}

/** The annotations before there were fields. */
const seccompAnnotations: Reading = (pod) => {
  const domain = "seccomp.security.alpha.kubernetes.io"
  const keys = [`${domain}/pod`, ...containersOf(pod).map((container) => `container.${domain}/${nameOf(container)}`)]
  const bad = sorted(keys.flatMap((key) => {
    const value = at(pod, "metadata", "annotations", key)
    return typeof value !== "string" || ["runtime/default", "docker/default"].includes(value) ||
        value.startsWith("localhost/")
      ? []
      : [`${key}=${FieldError.quote(value)}`]
  }))
  return violation(
    "seccompProfile",
    bad.length > 0,
    () => `forbidden ${plural("annotation", bad.length)} ${bad.join(", ")}`
  )
}

/** Containers for which neither they nor the Pod set a field. */
const unset = (pod: Pod, isSet: (of: unknown) => boolean): ReadonlyArray<unknown> =>
  isSet(ofPod(pod)) ? [] : containersOf(pod).filter((container) => !isSet(security(container)))

const seccompRequired: Reading = (pod) => {
  const missing = unset(pod, (of) => seccompType(of) !== undefined)
  return badSeccomp(pod) ?? violation(
    "seccompProfile",
    missing.length > 0,
    () =>
      `pod or ${containers(missing)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`
  )
}

const sysctls = (...allowed: ReadonlyArray<string>): Reading => (pod) => {
  const bad = arrayAt(ofPod(pod), "sysctls").map(nameOf).filter((name) => !allowed.includes(name))
  return violation("forbidden sysctls", bad.length > 0, () => bad.join(", "))
}

const sysctls0 = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start"
]
const sysctls27 = [...sysctls0, "net.ipv4.ip_local_reserved_ports"]
const sysctls29 = [
  ...sysctls27,
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes"
]
const sysctls32 = [...sysctls29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]

const hostProcess: Reading = (pod) => {
  const isSet = (of: unknown) => at(of, "windowsOptions", "hostProcess") === true
  const all = setters(isSet(ofPod(pod)), containersOf(pod).filter((container) => isSet(security(container))))
  return violation(
    "hostProcess",
    all.length > 0,
    () => `${all.join(" and ")} must not set securityContext.windowsOptions.hostProcess=true`
  )
}

const privilegeEscalation: Reading = (pod) => {
  const bad = containersOf(pod).filter((container) => security(container, "allowPrivilegeEscalation") !== false)
  return violation(
    "allowPrivilegeEscalation != false",
    bad.length > 0,
    () => `${containers(bad)} must set securityContext.allowPrivilegeEscalation=false`
  )
}

const allowedVolumes: ReadonlySet<string> = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret"
])

const restrictedVolumes: Reading = (pod) => {
  const typeOf = (volume: unknown) => Object.keys(objectAt(volume)).find((key) => key !== "name") ?? "unknown"
  const bad = arrayAt(pod, "spec", "volumes").filter((volume) => !allowedVolumes.has(typeOf(volume)))
  const types = sorted(bad.map(typeOf))
  return violation(
    "restricted volume types",
    bad.length > 0,
    () =>
      `${named("volume", bad.map(nameOf))} ${bad.length === 1 ? "uses" : "use"} ` +
      named("restricted volume type", types)
  )
}

const nonRoot: Reading = (pod) => {
  const root = (of: unknown) => at(of, "runAsNonRoot") === false
  const reason = "runAsNonRoot != true"
  const all = setters(root(ofPod(pod)), containersOf(pod).filter((container) => root(security(container))))
  const missing = unset(pod, (of) => at(of, "runAsNonRoot") !== undefined)
  return violation(
    reason,
    all.length > 0,
    () => `${all.join(" and ")} must not set securityContext.runAsNonRoot=false`
  ) ?? violation(
    reason,
    missing.length > 0,
    () => `pod or ${containers(missing)} must set securityContext.runAsNonRoot=true`
  )
}

const rootUser: Reading = (pod) => {
  const root = (of: unknown) => at(of, "runAsUser") === 0
  const all = setters(root(ofPod(pod)), containersOf(pod).filter((container) => root(security(container))))
  return violation("runAsUser=0", all.length > 0, () => `${all.join(" and ")} must not set runAsUser=0`)
}

/** In the order in which they are made: those of baseline and of restricted, each by name. */
const checks: Readonly<Record<string, Check>> = {
  appArmorProfile: { level: "baseline", readings: [[0, appArmor]] },
  capabilities_baseline: { level: "baseline", readings: [[0, baselineCapabilities]] },
  hostNamespaces: { level: "baseline", readings: [[0, hostNamespaces]] },
  hostPathVolumes: { level: "baseline", readings: [[0, hostPaths]] },
  hostPorts: { level: "baseline", readings: [[0, hostPorts]] },
  hostProbesAndHostLifecycle: { level: "baseline", readings: [[34, handlerHosts]] },
  privileged: { level: "baseline", readings: [[0, privileged]] },
  procMount: { level: "baseline", readings: [[0, procMount], [35, butOwnUsers(procMount)]] },
  seLinuxOptions: { level: "baseline", readings: [[0, seLinux()], [31, seLinux("container_engine_t")]] },
  seccompProfile_baseline: { level: "baseline", readings: [[0, seccompAnnotations], [19, badSeccomp]] },
  sysctls: {
    level: "baseline",
    readings: [
      [0, sysctls(...sysctls0)],
      [27, sysctls(...sysctls27)],
      [29, sysctls(...sysctls29)],
      [32, sysctls(...sysctls32)]
    ]
  },
  windowsHostProcess: { level: "baseline", readings: [[0, hostProcess]] },
  allowPrivilegeEscalation: {
    level: "restricted",
    readings: [[8, privilegeEscalation], [25, butWindows(privilegeEscalation)]]
  },
  capabilities_restricted: {
    level: "restricted",
    readings: [[22, restrictedCapabilities], [25, butWindows(restrictedCapabilities)]],
    insteadOf: "capabilities_baseline"
  },
  procMount_restricted: { level: "restricted", readings: [[35, procMount]], insteadOf: "procMount" },
  restrictedVolumes: { level: "restricted", readings: [[0, restrictedVolumes]], insteadOf: "hostPathVolumes" },
  runAsNonRoot: { level: "restricted", readings: [[0, nonRoot], [35, butOwnUsers(nonRoot)]] },
  runAsUser: { level: "restricted", readings: [[23, rootUser], [35, butOwnUsers(rootUser)]] },
  seccompProfile_restricted: {
    level: "restricted",
    readings: [[19, seccompRequired], [25, butWindows(seccompRequired)]],
    insteadOf: "seccompProfile_baseline"
  }
}

/** All violations of a standard by a Pod. */
export const violations = (pod: Pod, { level, minor }: Standard): ReadonlyArray<Violation> => {
  if (level === "privileged") return []
  const made = Object.entries(checks).flatMap(([name, check]) => {
    const reading = check.readings.findLast(([since]) => since <= minor)?.[1]
    return reading === undefined || (check.level === "restricted" && level === "baseline")
      ? []
      : [{ name, reading, insteadOf: check.insteadOf }]
  })
  const replaced = new Set(made.map(({ insteadOf }) => insteadOf))
  return made.flatMap(({ name, reading }) => (replaced.has(name) ? [] : reading(pod) ?? []))
}

/** Reasons with details, for the author of the Pod. */
export const details = (some: ReadonlyArray<Violation>): string =>
  some.map(({ detail, reason }) => `${reason} (${detail})`).join(", ")

/** Reasons only, for summaries of many Pods. */
export const reasons = (some: ReadonlyArray<Violation>): string => some.map(({ reason }) => reason).join(", ")
