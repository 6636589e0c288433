/**
 * `CelName`: how a field is written in CEL, which allows no dots and dashes in names and reserves some words.
 *
 * `storage-size` is `storage__dash__size`, and `namespace` is `__namespace__`. A field cannot be named at all if its
 * name does not begin with a letter or `_`, or has characters other than letters, digits, `_`, `.`, `-` and `/`.
 *
 * Source:
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 * ("escaping"), and k8s.io/apiserver/pkg/cel/escaping.go.
 */

/** Reserved words of CEL. */
export const reserved: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while"
])

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__"
}

const unescapes: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(escapes).map(([plain, escaped]) => [escaped, plain])
)

/** The name of a field in CEL expressions; undefined if it cannot be named. */
export const escape = (field: string): string | undefined => {
  if (reserved.has(field)) return `__${field}__`
  if (!/^[a-zA-Z_][A-Za-z0-9_./-]*$/.test(field)) return undefined
  return field.replace(/__|[./-]/g, (match) => escapes[match]!)
}

/** The field that an escaped name stands for; undefined if there is none. */
export const unescape = (name: string): string | undefined => {
  let wrong = false
  const plain = name.replace(/__([^_]+)__/g, (escaped, word: string) => {
    const found = unescapes[escaped] ?? (escaped === name && reserved.has(word) ? word : undefined)
    if (found === undefined) wrong = true
    return found ?? ""
  })
  return wrong ? undefined : plain
}
