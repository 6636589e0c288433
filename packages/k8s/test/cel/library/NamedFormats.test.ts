import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("named formats", () => {
  table([
    ["format.dns1123Label().validate('a.b').value()", "[\"must not contain dots\"]", 10],
    ["format.dns1123Label().validate('abc')", "none", 9],
    [
      "format.dns1123Label().validate('Abc').value()",
      "[\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"]",
      10
    ],
    ["format.dns1123LabelPrefix().validate('abc-')", "none", 9],
    [
      "format.dns1123Subdomain().validate('a_b').value()",
      "[\"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\"]",
      17
    ],
    [
      "format.dns1035Label().validate('1a').value()",
      "[\"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')\"]",
      10
    ],
    [
      "format.qualifiedName().validate('a/b/c').value()",
      "[\"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')\"]",
      17
    ],
    [
      "format.labelValue().validate('a b').value()",
      "[\"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\"]",
      12
    ],
    ["format.uri().validate('a b').value()", "[\"parse \\\"a b\\\": invalid URI for request\"]", 278],
    ["format.uuid().validate('x').value()", "[\"does not match the UUID format\"]", 20],
    ["format.byte().validate('*').value()", "[\"invalid base64\"]", 23],
    ["format.date().validate('2020-13-01').value()", "[\"invalid date\"]", 38],
    ["format.datetime().validate('2020-01-01T00:00:00Z')", "none", 55],
    ["format.named('dns1123Label').hasValue()", "true", 2],
    ["format.named('x').hasValue()", "false", 2],
    ["format.named('uri').value().validate('http://x')", "none", 278],
    [
      "format.dns1123Label().validate('a'.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')).value()",
      "[\"must be no more than 63 characters\"]",
      59
    ],
    [
      "format.dns1123Subdomain().validate(lists.range(300).map(x, 'a').join('')).value()",
      "[\"must be no more than 253 characters\"]",
      1439
    ],
    [
      "format.dns1035Label().validate(lists.range(70).map(x, 'a').join('')).value()",
      "[\"must be no more than 63 characters\"]",
      302
    ],
    [
      "format.qualifiedName().validate(lists.range(70).map(x, 'a').join('')).value()",
      "[\"name part must be no more than 63 bytes\"]",
      358
    ],
    [
      "format.labelValue().validate(lists.range(70).map(x, 'a').join('')).value()",
      "[\"must be no more than 63 bytes\"]",
      318
    ],
    [
      "format.dns1123LabelPrefix().validate('-').value()",
      "[\"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\"]",
      10
    ],
    ["format.dns1123LabelPrefix().validate('a-')", "none", 9],
    ["format.dns1123LabelPrefix().validate('a--')", "none", 9],
    ["format.dns1123LabelPrefix().validate('A-').value()", "fault: optional.none() dereference"]
  ])
})
