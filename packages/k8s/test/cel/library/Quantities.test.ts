import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("quantities", () => {
  table([
    ["quantity('1Gi').isGreaterThan(quantity('1M'))", "true", 3],
    ["type(quantity('1'))", "type(kubernetes.Quantity)", 2],
    [
      "'%s'.format([dyn(quantity('1'))])",
      "fault: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity"
    ],
    ["quantity('1.5Gi').isInteger()", "false", 2],
    ["quantity('1.0').isInteger()", "false", 2],
    ["quantity('50k').asInteger()", "50000", 2],
    ["quantity('50000000G').asInteger()", "50000000000000000", 2],
    ["quantity('9999999999999999999999999999999999999G').asInteger()", "fault: cannot convert value to integer"],
    ["quantity('1Gi').asApproximateFloat()", "1.073741824e+09", 2],
    ["quantity('100m').asApproximateFloat()", "0.1", 2],
    ["quantity('200M').compareTo(quantity('0.2G'))", "0", 3],
    ["quantity('50Mi').compareTo(quantity('50M'))", "1", 3],
    ["quantity('50M').isLessThan(quantity('100M'))", "true", 3],
    ["quantity('1').add(quantity('500m')) == quantity('1.5')", "true", 5],
    ["quantity('1').sub(2) == quantity('-1')", "true", 4],
    ["quantity('1k') == quantity('1000')", "true", 3],
    ["quantity('1e3') == quantity('1k')", "true", 3],
    [
      "quantity('x')",
      "fault: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ],
    [
      "quantity('1x')",
      "fault: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ],
    [
      "quantity('1Kx')",
      "fault: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ],
    [
      "quantity('')",
      "fault: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ],
    [
      "quantity('1 ')",
      "fault: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ],
    ["quantity('.5') == quantity('0.5')", "true", 3],
    ["quantity('5.') == quantity('5')", "true", 3],
    ["quantity('+5') == quantity('5')", "true", 3],
    ["quantity('0.0000000001') == quantity('1n')", "true", 4],
    ["quantity('1ki')", "fault: unable to parse quantity's suffix"],
    ["isQuantity('1.3G')", "true", 1],
    ["isQuantity('1,3G')", "false", 1],
    ["isQuantity('1E')", "true", 1],
    ["isQuantity('1Ee')", "false", 1],
    ["sign(quantity('-1'))", "-1", 2],
    ["quantity('50k').add(20) == quantity('50020')", "true", 4],
    ["quantity('1Ei').asInteger()", "fault: cannot convert value to integer"],
    ["quantity('8Ei').asInteger()", "fault: cannot convert value to integer"],
    ["quantity('0.5Gi').asInteger()", "fault: cannot convert value to integer"],
    ["quantity('1.5k').asInteger()", "1500", 2],
    ["quantity('1.50k').isInteger()", "true", 2],
    ["quantity('123456789012345678').asInteger()", "123456789012345678", 3],
    ["quantity('1234567890123456789').isInteger()", "false", 3]
  ])
})
