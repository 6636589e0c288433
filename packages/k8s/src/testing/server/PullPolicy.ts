/**
 * `PullPolicy`: when an image is pulled where nobody says.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go, pkg/util/parsers.
 */

const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
const domain = "(?:localhost|[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:\\d))(?::\\d+)?"
const image = new RegExp(
  `^((?:(${domain})/)?${component}(?:/${component})*)(?::(\\w[\\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,})?$`
)

/** `latest`, or no tag at all, is pulled every time; so is nothing that is no name of an image. */
export const pullPolicy = (name: string): string => {
  const [, repository = "", host, tag = "latest", digest] = image.exec(name) ?? []
  const full = host === undefined ? `docker.io/${repository.includes("/") ? "" : "library/"}${repository}` : repository
  return repository !== "" && full.length <= 255 && tag === "latest" && digest === undefined ? "Always" : "IfNotPresent"
}
