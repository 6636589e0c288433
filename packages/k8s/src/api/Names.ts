/**
 * `Names`: the syntax of names, label keys and label values, with the server's messages.
 *
 * Every check returns a list of messages, empty for a valid value; lengths count UTF-8 bytes.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation, pkg/api/validate/content and pkg/api/validation/path, release 1.35.
 */

/** The length of a text in UTF-8 bytes, as Go's `len` counts. */
export const byteLength = (text: string): number => {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit > 0x7f) bytes++
    if (unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff)) bytes++
  }
  return bytes
}

/** `msg (e.g. 'a', or 'b', regex used for validation is '…')`. */
const regexText = (message: string, regex: string, ...examples: ReadonlyArray<string>): string =>
  `${message} (e.g. ${examples.map((example) => `'${example}', `).join(" or ")}regex used for validation is '${regex}')`

/** For names, DNS labels and subdomains: the message says "characters" for bytes. */
export const longName = (value: string, max: number): ReadonlyArray<string> =>
  byteLength(value) > max ? [`must be no more than ${max} characters`] : []

/** For keys and values of labels, whose rules are more recent: the message says "bytes". */
const longLabel = (value: string, max: number): ReadonlyArray<string> =>
  byteLength(value) > max ? [`must be no more than ${max} bytes`] : []

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`
const dns1035Format = "[a-z]([-a-z0-9]*[a-z0-9])?"
const keyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
const valueFormat = `(${keyFormat})?`

const whole = (format: string): RegExp => new RegExp(`^(?:${format})$`)
const labelPattern = whole(labelFormat)
const subdomainPattern = whole(subdomainFormat)
const dns1035Pattern = whole(dns1035Format)
const keyPattern = whole(keyFormat)
const valuePattern = whole(valueFormat)

/** An RFC 1123 label, such as the name of a Namespace: at most 63 bytes, no dots. */
export const dnsLabel = (value: string): ReadonlyArray<string> => {
  const faults = [...longName(value, 63)]
  if (!labelPattern.test(value)) {
    faults.push(
      subdomainPattern.test(value)
        ? "must not contain dots"
        : regexText(
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
            "with an alphanumeric character",
          labelFormat,
          "my-name",
          "123-abc"
        )
    )
  }
  return faults
}

const subdomainSyntax = (value: string): ReadonlyArray<string> =>
  subdomainPattern.test(value) ? [] : [regexText(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
      "and end with an alphanumeric character",
    subdomainFormat,
    "example.com"
  )]

/** An RFC 1123 subdomain, the rule of most names: at most 253 bytes. */
export const dnsSubdomain = (value: string): ReadonlyArray<string> => [
  ...longName(value, 253),
  ...subdomainSyntax(value)
]

/** An RFC 1035 label, the rule of Service names: starts with a letter. */
export const dns1035Label = (value: string): ReadonlyArray<string> => {
  const faults = [...longName(value, 63)]
  if (!dns1035Pattern.test(value)) {
    faults.push(regexText(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, " +
        "and end with an alphanumeric character",
      dns1035Format,
      "my-name",
      "abc-123"
    ))
  }
  return faults
}

/** Any single segment of a URL path, the rule of RBAC names. */
export const pathSegment = (value: string): ReadonlyArray<string> =>
  value === "." || value === ".." ? [`may not be '${value}'`] : pathSegmentPrefix(value)

/** As `pathSegment`, for a text to which more will be appended. */
export const pathSegmentPrefix = (value: string): ReadonlyArray<string> =>
  ["/", "%"].filter((char) => value.includes(char)).map((char) => `may not contain '${char}'`)

const keySyntax = regexText(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  keyFormat,
  "MyName",
  "my.name",
  "123-abc"
)

/** A label key, also the rule of finalizers and annotation keys: an optional DNS prefix, `/`, a name. */
export const labelKey = (value: string): ReadonlyArray<string> => {
  const parts = value.split("/")
  if (parts.length > 2) {
    return [`a valid label key ${keySyntax} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const faults: Array<string> = []
  const name = parts.at(-1)!
  if (parts.length === 2) {
    const prefix = parts[0]!
    if (prefix === "") faults.push("prefix part must be non-empty")
    else faults.push(...[...longLabel(prefix, 253), ...subdomainSyntax(prefix)].map((fault) => `prefix part ${fault}`))
  }
  if (name === "") faults.push("name part must be non-empty")
  else faults.push(...longLabel(name, 63).map((fault) => `name part ${fault}`))
  if (!keyPattern.test(name)) faults.push(`name part ${keySyntax}`)
  return faults
}

/** A label value: empty, or at most 63 bytes. */
export const labelValue = (value: string): ReadonlyArray<string> => {
  const faults = [...longLabel(value, 63)]
  if (!valuePattern.test(value)) {
    faults.push(regexText(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
        "end with an alphanumeric character",
      valueFormat,
      "MyValue",
      "my_value",
      "12345"
    ))
  }
  return faults
}
