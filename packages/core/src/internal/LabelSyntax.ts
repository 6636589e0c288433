/**
 * The syntax of label keys and label values, with the API server's messages.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation (IsQualifiedName, IsValidLabelValue), release 1.35.
 */

const keyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
const prefixFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
const whole = (format: string): RegExp => new RegExp(`^(?:${format})$`)
const keyPattern = whole(keyFormat)
const prefixPattern = whole(prefixFormat)
const valuePattern = whole(`(${keyFormat})?`)
const characters =
  "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const keySyntax = `must ${characters} (e.g. 'MyName',  or 'my.name',  or '123-abc', ` +
  `regex used for validation is '${keyFormat}')`

/** What is wrong with a label key, which is an optional DNS prefix with `/`, and a name. */
export const keyFault = (key: string): string | undefined => {
  const parts = key.split("/")
  if (parts.length > 2) {
    return `a valid label key ${keySyntax} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
  }
  const [prefix, name] = parts.length === 2 ? parts as [string, string] : [undefined, key]
  const faults: Array<string> = []
  if (prefix === "") faults.push("prefix part must be non-empty")
  else if (prefix !== undefined) {
    if (prefix.length > 253) faults.push("prefix part must be no more than 253 bytes")
    if (!prefixPattern.test(prefix)) {
      faults.push(
        "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
          "must start and end with an alphanumeric character (e.g. 'example.com', " +
          `regex used for validation is '${prefixFormat}')`
      )
    }
  }
  if (name === "") faults.push("name part must be non-empty")
  else if (name.length > 63) faults.push("name part must be no more than 63 bytes")
  if (!keyPattern.test(name)) faults.push(`name part ${keySyntax}`)
  return faults.length === 0 ? undefined : faults.join("; ")
}

/** What is wrong with a label value, which is empty or has at most 63 bytes. */
export const valueFault = (value: string): string | undefined => {
  const faults: Array<string> = []
  if (value.length > 63) faults.push("must be no more than 63 bytes")
  if (!valuePattern.test(value)) {
    faults.push(
      `a valid label must be an empty string or ${characters} (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
        `regex used for validation is '(${keyFormat})?')`
    )
  }
  return faults.length === 0 ? undefined : faults.join("; ")
}
