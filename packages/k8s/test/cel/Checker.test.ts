import { describe } from "@effect/vitest"
import { table } from "../testing/support/cel.ts"

describe("what does not fit", () => {
  table([
    ["'abc'.x", "refused: 1:6: type 'string' does not support field selection"],
    ["has(a)", "refused: 1:5: invalid argument to has() macro"],
    [
      "has(a, b)",
      "refused: 1:4: undeclared reference to 'has' (in container ''); 1:5: undeclared reference to 'a' (in container ''); 1:8: undeclared reference to 'b' (in container '')"
    ],
    ["[1].all(1, true)", "refused: 1:9: argument must be a simple name"],
    ["[1].map(1, true)", "refused: 1:9: argument is not an identifier"],
    ["[1].all(__result__, true)", "refused: 1:9: iteration variable overwrites accumulator variable"],
    ["1u + 1", "refused: 1:4: found no matching overload for '_+_' applied to '(uint, int)'"],
    [".a", "refused: 1:2: undeclared reference to '.a' (in container '')"],
    ["null.a", "refused: 1:5: type 'null' does not support field selection"],
    ["b\"\\u00ff\"", "refused: 1:1: unable to unescape string"],
    ["Foo{a: 1}", "refused: 1:4: undeclared reference to 'Foo' (in container '')"],
    ["dyn('a').startsWith(1)", "refused: 1:20: found no matching overload for 'startsWith' applied to 'dyn.(int)'"],
    ["timestamp('x')", "refused: 1:11: invalid timestamp argument"],
    ["duration('x')", "refused: 1:10: invalid duration argument"],
    ["duration('1y')", "refused: 1:10: invalid duration argument"],
    ["'a'.matches('(')", "refused: 1:13: invalid matches argument"],
    ["timestamp('2020-02-30T00:00:00Z')", "refused: 1:11: invalid timestamp argument"],
    ["[1, 'a']", "refused: 1:5: expected type 'int' but found 'string'"],
    ["[1, 1u]", "refused: 1:5: expected type 'int' but found 'uint'"],
    [
      "{'a': 1, 2: 'b'}",
      "refused: 1:10: expected type 'string' but found 'int'; 1:13: expected type 'int' but found 'string'"
    ],
    ["[1, dyn('a')]", "refused: 1:8: expected type 'int' but found 'dyn'"],
    ["[null, 1]", "refused: 1:8: expected type 'null' but found 'int'"],
    ["null == 1", "refused: 1:6: found no matching overload for '_==_' applied to '(null, int)'"],
    ["1 == null", "refused: 1:3: found no matching overload for '_==_' applied to '(int, null)'"],
    ["'a' == 1", "refused: 1:5: found no matching overload for '_==_' applied to '(string, int)'"],
    ["1.0 == 1", "refused: 1:5: found no matching overload for '_==_' applied to '(double, int)'"],
    ["1u == 1", "refused: 1:4: found no matching overload for '_==_' applied to '(uint, int)'"],
    ["1 + 1.0", "refused: 1:3: found no matching overload for '_+_' applied to '(int, double)'"],
    ["1 == 'a' || true", "refused: 1:3: found no matching overload for '_==_' applied to '(int, string)'"],
    [
      "math.greatest(1,2)",
      "refused: 1:1: undeclared reference to 'math' (in container ''); 1:14: undeclared reference to 'greatest' (in container '')"
    ],
    ["'a'.reverse()", "refused: 1:12: found no matching overload for 'reverse' applied to 'string.()'"],
    [
      "base64.encode(b'a')",
      "refused: 1:1: undeclared reference to 'base64' (in container ''); 1:14: undeclared reference to 'encode' (in container '')"
    ],
    [
      "cel.bind(x, 1, x)",
      "refused: 1:1: undeclared reference to 'cel' (in container ''); 1:9: undeclared reference to 'bind' (in container ''); 1:10: undeclared reference to 'x' (in container ''); 1:16: undeclared reference to 'x' (in container '')"
    ],
    ["duration(5)", "refused: 1:10: invalid duration argument"],
    ["string(duration('100000000000h') )", "refused: 1:17: invalid duration argument"],
    [
      "'%d'.format(['a'])",
      "refused: 1:14: error during formatting: decimal clause can only be used on integers, was given string"
    ],
    ["'%s'.format([])", "refused: 1:12: index 0 out of range"],
    ["'%s'.format([1, 2])", "refused: 1:12: too many arguments supplied to string.format (expected 1, got 2)"],
    ["'%y'.format([1])", "refused: 1:12: could not parse formatting clause: unrecognized formatting clause \"y\""],
    ["'%'.format([1])", "refused: 1:11: unexpected end of string"],
    [
      "'%s'.format([quantity('1')])",
      "refused: 1:22: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity"
    ],
    [
      "[[1,[2]],[[3]]].flatten()",
      "refused: 1:5: expected type 'int' but found 'list(int)'; 1:10: expected type 'list(dyn)' but found 'list(list(int))'"
    ],
    [
      "dyn([1,[2,[3]]]).flatten(2)",
      "refused: 1:8: expected type 'int' but found 'list(dyn)'; 1:11: expected type 'int' but found 'list(int)'"
    ],
    [
      "[1,2].existsOne(v, v > 1)",
      "refused: 1:16: undeclared reference to 'existsOne' (in container ''); 1:17: undeclared reference to 'v' (in container ''); 1:20: undeclared reference to 'v' (in container '')"
    ],
    ["[1,2].transformList(i, i, i)", "refused: 1:24: duplicate variable name: i"],
    ["[1,2].transformList(1, i, i)", "refused: 1:21: argument must be a simple name"],
    ["{1: 'a'}[1u]", "refused: 1:9: found no matching overload for '_[_]' applied to '(map(int, string), uint)'"],
    ["[1,2][1.0]", "refused: 1:6: found no matching overload for '_[_]' applied to '(list(int), double)'"],
    ["1 in [1.0]", "refused: 1:3: found no matching overload for '@in' applied to '(int, list(double))'"],
    ["1 / 0.0", "refused: 1:3: found no matching overload for '_/_' applied to '(int, double)'"],
    ["[1] + ['a']", "refused: 1:5: found no matching overload for '_+_' applied to '(list(int), list(string))'"],
    ["'a' + 1", "refused: 1:5: found no matching overload for '_+_' applied to '(string, int)'"],
    ["!1", "refused: 1:1: found no matching overload for '!_' applied to '(int)'"],
    ["-'a'", "refused: 1:1: found no matching overload for '-_' applied to '(string)'"],
    ["1 ? 2 : 3", "refused: 1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"],
    ["true ? 1 : 'a'", "refused: 1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ["1 && true", "refused: 1:1: expected type 'bool' but found 'int'"],
    [
      "'a' || 'b'",
      "refused: 1:1: expected type 'bool' but found 'string'; 1:8: expected type 'bool' but found 'string'"
    ],
    ["x", "refused: 1:1: undeclared reference to 'x' (in container '')"],
    ["x.y.z", "refused: 1:1: undeclared reference to 'x' (in container '')"],
    ["x()", "refused: 1:2: undeclared reference to 'x' (in container '')"],
    ["'a'.x()", "refused: 1:6: undeclared reference to 'x' (in container '')"],
    ["'a'.size(1)", "refused: 1:9: found no matching overload for 'size' applied to 'string.(int)'"],
    ["size()", "refused: 1:5: found no matching overload for 'size' applied to '()'"],
    ["size(1)", "refused: 1:5: found no matching overload for 'size' applied to '(int)'"],
    ["has(self)", "refused: 1:5: invalid argument to has() macro"],
    ["has(self.l[0])", "refused: 1:11: invalid argument to has() macro"],
    ["self.l.all(x, y)", "refused: 1:15: undeclared reference to 'y' (in container '')"],
    [
      "self.l.all(x, x, x, x)",
      "refused: 1:11: undeclared reference to 'all' (in container ''); 1:12: undeclared reference to 'x' (in container ''); 1:15: undeclared reference to 'x' (in container ''); 1:18: undeclared reference to 'x' (in container ''); 1:21: undeclared reference to 'x' (in container '')"
    ],
    [
      "self.l.map(x)",
      "refused: 1:11: undeclared reference to 'map' (in container ''); 1:12: undeclared reference to 'x' (in container '')"
    ],
    [
      "1.all(x, x)",
      "refused: 1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"
    ],
    [
      "'abc'.all(x, true)",
      "refused: 1:1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"
    ],
    ["duration('1d')", "refused: 1:10: invalid duration argument"],
    ["duration('')", "refused: 1:10: invalid duration argument"],
    ["duration('1')", "refused: 1:10: invalid duration argument"],
    ["timestamp('2020-01-01')", "refused: 1:11: invalid timestamp argument"],
    ["timestamp('2020-01-01t00:00:00z')", "refused: 1:11: invalid timestamp argument"],
    ["timestamp('2020-01-01T00:00:00')", "refused: 1:11: invalid timestamp argument"],
    ["timestamp('2020-01-01T24:00:00Z')", "refused: 1:11: invalid timestamp argument"],
    ["timestamp('2020-01-01T00:00:60Z')", "refused: 1:11: invalid timestamp argument"],
    ["timestamp(253402300800)", "refused: 1:11: invalid timestamp argument"],
    ["optional.of(1).optMap(1, 2)", "refused: 1:23: optMap() variable name must be a simple identifier"],
    ["{?'a': 1}", "refused: 1:8: expected type 'optional_type(int)' but found 'int'"],
    ["[?1]", "refused: 1:3: expected type 'optional_type(int)' but found 'int'"],
    ["dyn", "refused: 1:1: undeclared reference to 'dyn' (in container '')"]
  ])
})
