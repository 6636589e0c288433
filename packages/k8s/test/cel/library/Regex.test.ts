import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("regular expressions", () => {
  table([
    ["self.s.matches('h.*')", "true", 3],
    ["matches('a', '(')", "no program: error parsing regexp: missing closing ): `(`"],
    ["'a'.matches(self.s + '(')", "fault: error parsing regexp: missing closing ): `hello(`"],
    ["'abc'.find('[a-b]+')", "\"ab\"", 2],
    ["'abc'.find('x')", "\"\"", 1],
    ["'abc'.find(self.s + '(')", "fault: Illegal regex: error parsing regexp: missing closing ): `hello(`"],
    ["'a1b22c333'.findAll('[0-9]+')", "[\"1\", \"22\", \"333\"]", 2],
    ["'a1b22c333'.findAll('[0-9]+', 2)", "[\"1\", \"22\"]", 2],
    ["'a1b22c333'.findAll('[0-9]+', 0)", "[]", 2],
    ["'abc'.findAll('')", "[\"\", \"\", \"\", \"\"]", 0],
    ["'abc'.findAll('x*')", "[\"\", \"\", \"\", \"\"]", 1],
    ["'baaac'.findAll('a*')", "[\"\", \"aaa\", \"\"]", 1],
    ["'abc'.find('(')", "no program: error parsing regexp: missing closing ): `(`"],
    ["'abc'.matches('^a.c$')", "true", 2],
    ["'abc'.matches('B')", "false", 1],
    ["'abc'.matches('(?i)B')", "true", 2]
  ])
})
