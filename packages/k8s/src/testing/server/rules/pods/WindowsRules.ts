/**
 * `WindowsRules`: validates Windows options of Pods: the user, the group managed service account, and HostProcess
 * containers.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateWindowsSecurityContextOptions` and
 * `validateWindowsHostProcessPod`.
 */
import * as FieldError from "../../../../schema/FieldError.ts"
import * as Names from "../../../../api/Names.ts"
import { at } from "../../../../api/Plain.ts"
import { type Faults, when } from "../Checks.ts"
import * as PodSystemRules from "./PodSystemRules.ts"

const longestSpecKiB = 64
const domainBelow = 256
const longestUser = 104

/** NetBIOS and DNS domain names. */
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/
const label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
const dns = new RegExp(`^${label}(?:\\.${label})*$`)

/** Why `DOMAIN\USER` or `USER` is not a valid user name. */
const userFaults = (name: string): ReadonlyArray<string> => {
  if (name === "") return ["runAsUserName cannot be an empty string"]
  if ([...name].some((char) => char < " " || char === "\u007f")) {
    return ["runAsUserName cannot contain control characters"]
  }
  const parts = name.split("\\")
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"]
  const user = parts.at(-1)!
  const domain = parts.length === 2 ? parts[0]! : undefined
  const length = Names.byteLength(user)
  return [
    ...(domain !== undefined && Names.byteLength(domain) >= domainBelow
      ? [`runAsUserName's Domain length must be under ${domainBelow} characters`]
      : []),
    ...(domain !== undefined && !netBios.test(domain) && !dns.test(domain)
      ? ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]
      : []),
    ...(length === 0
      ? ["runAsUserName's User cannot be empty"]
      : length > longestUser
      ? [`runAsUserName's User length must not be longer than ${longestUser} characters`]
      : []),
    ...(/^[. ]+$/.test(user) ? ["runAsUserName's User cannot contain only periods or spaces"] : []),
    ...(/["/\\:;|=,+*?<>@[\]]/.test(user)
      ? ["runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"]
      : [])
  ]
}

/** Faults of the Windows options in the security context of a Pod or container. */
export const options = (context: unknown, path: string): Faults => {
  const of = at(context, "windowsOptions")
  if (of === undefined) return []
  const here = `${path}.windowsOptions`
  const [name, spec, user] = ["gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"].map((key) => at(of, key))
  const specFaults = (text: string): ReadonlyArray<string> =>
    text === ""
      ? ["gmsaCredentialSpec cannot be an empty string"]
      : Names.byteLength(text) > longestSpecKiB * 1024
      ? [`gmsaCredentialSpec size must be under ${longestSpecKiB} KiB`]
      : []
  // Pointers, which are printed as JSON.
  const told = (field: string, text: unknown, why: (text: string) => ReadonlyArray<string>): Faults =>
    typeof text !== "string" ?
      [] :
      why(text).map((detail) => FieldError.invalidPrinted(`${here}.${field}`, FieldError.goJson(text), detail))
  return [
    ...told("gmsaCredentialSpecName", name, Names.dnsSubdomain),
    ...told("gmsaCredentialSpec", spec, specFaults),
    ...told("runAsUserName", user, userFaults)
  ]
}

/** Faults of HostProcess containers: either all or none of a Pod are, and they use the host's network. */
export const hostProcesses = (spec: unknown, path: string): Faults => {
  const flag = (of: unknown) => at(of, "securityContext", "windowsOptions", "hostProcess")
  const whole = flag(spec)
  const containers = PodSystemRules.containersOf(spec, path)
  const contradicting = containers.flatMap(([container, here]) => {
    const own = flag(container)
    return whole === undefined || own === undefined || own === whole ? [] : [FieldError.invalid(
      `${here}.securityContext.windowsOptions.hostProcess`,
      own,
      `pod hostProcess value must be identical if both are specified, was ${String(whole)}`
    )]
  })
  const count = containers.filter(([container]) => (flag(container) ?? whole) === true).length
  return count === 0 ? contradicting : [
    ...contradicting,
    ...when(
      count !== containers.length,
      FieldError.invalid(
        path,
        "",
        "If pod contains any hostProcess containers then all containers must be HostProcess containers"
      )
    ),
    ...when(
      at(spec, "hostNetwork") !== true,
      FieldError.invalid(
        `${path}.hostNetwork`,
        false,
        "hostNetwork must be true if pod contains any hostProcess containers"
      )
    )
  ]
}
