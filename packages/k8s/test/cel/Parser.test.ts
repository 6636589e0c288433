import { describe } from "@effect/vitest"
import { table } from "../testing/support/cel.ts"

describe("errors of syntax", () => {
  table([
    [
      "1 +",
      "refused: 1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["a b", "refused: 1:3: Syntax error: extraneous input 'b' expecting <EOF>"],
    [
      "a = b",
      "refused: 1:3: Syntax error: token recognition error at: '= '; 1:5: Syntax error: extraneous input 'b' expecting <EOF>"
    ],
    [
      "a & b",
      "refused: 1:3: Syntax error: token recognition error at: '& '; 1:5: Syntax error: extraneous input 'b' expecting <EOF>"
    ],
    [
      "1 + $",
      "refused: 1:5: Syntax error: token recognition error at: '$'; 1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "*@a | b",
      "refused: 1:1: Syntax error: extraneous input '*' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}; 1:2: Syntax error: token recognition error at: '@'; 1:5: Syntax error: token recognition error at: '| '; 1:7: Syntax error: extraneous input 'b' expecting <EOF>"
    ],
    ["(1", "refused: 1:3: Syntax error: missing ')' at '<EOF>'"],
    ["(1 + 2", "refused: 1:7: Syntax error: missing ')' at '<EOF>'"],
    ["[1, 2", "refused: 1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}"],
    ["[1 2]", "refused: 1:4: Syntax error: extraneous input '2' expecting {']', ','}"],
    ["[1,,2]", "refused: 1:4: Syntax error: mismatched input ',' expecting ']'"],
    ["{'a': 1", "refused: 1:8: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"],
    ["{'a'}", "refused: 1:5: Syntax error: mismatched input '}' expecting ':'"],
    ["{'a' 1}", "refused: 1:6: Syntax error: missing ':' at '1'"],
    ["{'a': 1,, 'b': 2}", "refused: 1:9: Syntax error: mismatched input ',' expecting '}'"],
    [
      "foo(",
      "refused: 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["foo(1", "refused: 1:6: Syntax error: missing ')' at '<EOF>'"],
    [
      "foo(1,",
      "refused: 1:7: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["foo(1 2)", "refused: 1:7: Syntax error: extraneous input '2' expecting ')'"],
    [
      "foo(,)",
      "refused: 1:5: Syntax error: extraneous input ',' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["a.", "refused: 1:3: Syntax error: no viable alternative at input '.'"],
    ["a.1", "refused: 1:2: Syntax error: extraneous input '.1' expecting <EOF>"],
    ["a.true", "refused: 1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"],
    ["a.b.", "refused: 1:5: Syntax error: no viable alternative at input '.'"],
    [
      "a.?",
      "refused: 1:4: Syntax error: mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}; 1:4: unsupported ident kind"
    ],
    [
      "a[",
      "refused: 1:3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["a[1", "refused: 1:4: Syntax error: missing ']' at '<EOF>'"],
    ["a[1 2]", "refused: 1:5: Syntax error: extraneous input '2' expecting ']'"],
    ["a ? b", "refused: 1:6: Syntax error: mismatched input '<EOF>' expecting ':'"],
    [
      "a ? b :",
      "refused: 1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["a ? b c", "refused: 1:7: Syntax error: missing ':' at 'c'"],
    [
      "a ? : c",
      "refused: 1:5: Syntax error: extraneous input ':' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}; 1:8: Syntax error: mismatched input '<EOF>' expecting ':'"
    ],
    [
      ")",
      "refused: 1:1: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "]",
      "refused: 1:1: Syntax error: mismatched input ']' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["1 2", "refused: 1:3: Syntax error: extraneous input '2' expecting <EOF>"],
    ["1 2 3", "refused: 1:3: Syntax error: mismatched input '2' expecting <EOF>"],
    ["1 )", "refused: 1:3: Syntax error: extraneous input ')' expecting <EOF>"],
    [
      "3 +",
      "refused: 1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "'abc",
      "refused: 1:1: Syntax error: token recognition error at: ''abc'; 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "\"abc",
      "refused: 1:1: Syntax error: token recognition error at: '\"abc'; 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "'a\\qb'",
      "refused: 1:1: Syntax error: token recognition error at: ''a\\q'; 1:6: Syntax error: token recognition error at: '''"
    ],
    ["a.b c.d", "refused: 1:5: Syntax error: mismatched input 'c' expecting <EOF>"],
    [
      "a && ",
      "refused: 1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "&& a",
      "refused: 1:1: Syntax error: extraneous input '&&' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "a == == b",
      "refused: 1:6: Syntax error: extraneous input '==' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["a..b", "refused: 1:3: Syntax error: no viable alternative at input '..'"],
    [
      "self.foo = 1",
      "refused: 1:10: Syntax error: token recognition error at: '= '; 1:12: Syntax error: extraneous input '1' expecting <EOF>"
    ],
    ["if", "refused: 1:1: reserved identifier: if"],
    ["99999999999999999999", "refused: 1:1: invalid int literal"],
    ["0x", "refused: 1:2: Syntax error: extraneous input 'x' expecting <EOF>"],
    ["9223372036854775808", "refused: 1:1: invalid int literal"],
    ["a.`b`", "refused: 1:3: unsupported syntax: '`'"],
    [
      "`b`",
      "refused: 1:1: Syntax error: mismatched input '`b`' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["{1:2}[1", "refused: 1:8: Syntax error: missing ']' at '<EOF>'"],
    ["a ! b", "refused: 1:3: Syntax error: mismatched input '!' expecting <EOF>"],
    ["a ? b : c ? d : e :", "refused: 1:19: Syntax error: extraneous input ':' expecting <EOF>"],
    [
      "x in",
      "refused: 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "x in in y",
      "refused: 1:6: Syntax error: extraneous input 'in' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["true false", "refused: 1:6: Syntax error: extraneous input 'false' expecting <EOF>"],
    ["a.null", "refused: 1:3: Syntax error: mismatched input 'null' expecting IDENTIFIER"],
    ["\"\\ud800\"", "refused: 1:1: invalid unicode code point"],
    [
      "//comment",
      "refused: 1:10: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "size(",
      "refused: 1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "a.b(",
      "refused: 1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["a.b(c", "refused: 1:6: Syntax error: missing ')' at '<EOF>'"],
    ["Foo{a 1}", "refused: 1:7: Syntax error: missing ':' at '1'"],
    [
      "Foo{1: 1}",
      "refused: 1:5: Syntax error: mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
    ],
    [
      "Foo{",
      "refused: 1:5: Syntax error: mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
    ],
    [
      "{",
      "refused: 1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "[",
      "refused: 1:2: Syntax error: mismatched input '<EOF>' expecting {'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "(",
      "refused: 1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "()",
      "refused: 1:2: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "foo(a,)",
      "refused: 1:7: Syntax error: mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    [
      "+1",
      "refused: 1:1: Syntax error: extraneous input '+' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["for", "refused: 1:1: reserved identifier: for"],
    [
      "self.in",
      "refused: 1:6: Syntax error: no viable alternative at input '.in'; 1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
    ],
    ["'''a", "refused: 1:3: Syntax error: token recognition error at: ''a'"],
    ["b'''", "refused: 1:4: Syntax error: token recognition error at: '''"]
  ])
})
