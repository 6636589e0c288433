import { describe } from "@effect/vitest"
import { table } from "../testing/support/cel.ts"

describe("macros", () => {
  table([
    ["has(self.b)", "true", 1],
    ["has(self.b.c)", "true", 2],
    ["self.l.all(x, x > 0)", "true", 18],
    ["self.l.exists(x, x == 2)", "true", 18],
    ["self.l.map(x, x + 1)", "[2, 3, 4]", 45],
    ["self.l.filter(x, x > 1)", "[2, 3]", 35],
    ["self.l.exists_one(x, x > 1)", "false", 14],
    ["self.m.all(k, self.m[k] == 'v')", "true", 10],
    ["self.l.map(x, x)[0]", "1", 44],
    ["self.l.transformList(i, v, i + v)", "[1, 3, 5]", 48],
    ["{'a':1}.transformMap(k, v, v + 1)", "{\"a\": 2}", 6],
    ["self.l.map(x, {'a': x}).map(y, y.a)", "[1, 2, 3]", 175],
    ["self.l.all(i, x, x > i)", "true", 21],
    ["has({'a':1}.a)", "true", 1],
    ["has(self.zz)", "false", 1],
    ["has(self.zz.y)", "fault: no such key: zz"],
    ["dyn(1).all(x, x)", "fault: got 'types.Int', expected iterable type"],
    ["self.l.all(x, x)", "fault: no such overload"],
    ["self.l.all(x, x + 'a' == 'b')", "fault: no such overload"],
    ["self.l.exists(x, x.y == 1)", "fault: no such key: y"],
    ["self.l.exists(x, x / (x - 1) > 0)", "true", 24],
    ["self.l.all(x, x / (x - 1) < 0)", "false", 21],
    ["{'a':1,'b':2}.transformList(k, v, v)", "[1, 2]", 27],
    ["{'a':1,'b':2}.transformMap(k, v, v > 1, v * 2)", "{\"b\": 4}", 10],
    ["[1,2].transformMap(i, v, v)", "{0: 1, 1: 2}", 9],
    ["[1,2].transformMapEntry(i, v, {v: i})", "{1: 0, 2: 1}", 69],
    ["[1,1].transformMapEntry(i, v, {v: i})", "fault: insert failed: key 1 already exists"],
    ["[1,2].exists(i, v, i == v)", "false", 15],
    ["[1,2].existsOne(i, v, v > i)", "false", 12],
    ["[1,2].exists_one(i, v, v > 1)", "true", 8],
    ["{'a':1}.all(k, v, k == 'a' && v == 1)", "true", 8],
    ["{'a':1}.map(k, k)", "[\"a\"]", 14],
    ["{'a':1}.exists(k, k == 'b')", "false", 7],
    ["has(self.b.c.d)", "false", 3]
  ])
})
