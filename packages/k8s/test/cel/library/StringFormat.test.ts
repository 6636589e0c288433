import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("formatted strings", () => {
  table([
    ["'%d-%s'.format([1,'x'])", "\"1-x\"", 1],
    ["'%s %s %s'.format([1.0, 1e21, 2.5])", "\"1 1e+21 2.5\"", 1],
    [
      "'%.2f %e %b %x %X %o %d%%'.format([1.234, 1234.5, 5, 255, 'hi', 8, 3])",
      "\"1.23 1.234500×10⁰³ 101 ff 6869 10 3%\"",
      3
    ],
    ["'%f'.format([1.0])", "\"1.000000\"", 1],
    ["'%f'.format([1234567.891])", "\"1,234,567.891000\"", 1],
    ["'%.1f'.format([1e21])", "\"1,000,000,000,000,000,000,000.0\"", 1],
    ["'%e'.format([1.0])", "\"1.000000×10⁰⁰\"", 1],
    ["'%.0f'.format([2.5])", "\"2\"", 1],
    [
      "'%s'.format([[1,'a',2.0,null,true,{'k':b'x'}]])",
      "\"[1, \\\"a\\\", 2.000000, null, true, {\\\"k\\\":b\\\"x\\\"}]\"",
      1
    ],
    ["'%s'.format([duration('1h')])", "\"3600s\"", 1],
    ["'%s'.format([timestamp('2020-01-01T00:00:00Z')])", "\"2020-01-01T00:00:00Z\"", 1],
    ["'%s'.format([type(1)])", "\"int\"", 1],
    ["'%x'.format([-1])", "\"-1\"", 1],
    ["'%b'.format([true])", "\"1\"", 1],
    ["'%s'.format([[duration('1s')]])", "\"[duration(\\\"1s\\\")]\"", 1],
    [
      "'%d'.format([dyn('a')])",
      "fault: error during formatting: decimal clause can only be used on integers, was given string"
    ],
    ["'%.3e'.format([0.00012345])", "\"1.234500×10⁻⁰⁴\"", 1],
    ["'%f'.format(['NaN'])", "\"NaN\"", 1],
    [
      "'%f'.format([dyn('x')])",
      "fault: error during formatting: fixed-point clause can only be used on doubles, was given string"
    ]
  ])
})
