/**
 * `PullPolicy`: the default of `imagePullPolicy`.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go, pkg/util/parsers.
 */

const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
const domain = "(?:localhost|[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:\\d))(?::\\d+)?"
const digest = "(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})"
const image = new RegExp(
  `^((?:(${domain})/)?${component}(?:/${component})*)(?::(\\w[\\w.-]{0,127}))?(@${digest})?$`
)

/**
 * Always for the tag `latest`, with or without digest, and for an image without tag and digest. IfNotPresent for other
 * images, and for invalid image names.
 */
export const pullPolicy = (name: string): string => {
  const [, repository = "", host, given, fixed] = image.exec(name) ?? []
  const tag = given ?? (fixed === undefined ? "latest" : "")
  const full = host === undefined ? `docker.io/${repository.includes("/") ? "" : "library/"}${repository}` : repository
  return repository !== "" && full.length <= 255 && tag === "latest" ? "Always" : "IfNotPresent"
}
