import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "../../src/schema/Schema.ts"
import * as DeclaredTypes from "../../src/cel/DeclaredTypes.ts"
import * as Environment from "../../src/cel/Environment.ts"
import * as StaticCost from "../../src/cel/StaticCost.ts"
import * as Types from "../../src/cel/Types.ts"

const environment = Environment.make({ self: Types.dyn })

/** Expression, and what it can cost at least and at most. */
const rows: ReadonlyArray<readonly [expression: string, min: number, max: number]> = [
  ["true", 0, 0],
  ["self.b.c", 1, 1],
  ["self.l[0]", 2, 2],
  ["1 in [1,2,3]", 13, 13],
  ["self.a > 0 ? self.b.c : self.s", 3, 3],
  ["[1,2,3]", 10, 10],
  ["{'a':self.a}", 31, 31],
  ["duration('1h') > duration('1m')", 3, 3],
  ["self.b.?c.hasValue()", 3, 3],
  ["{'a':1}.transformMap(k, v, v + 1)", 66, 66],
  ["int('3')", 1, 1],
  ["(self.a == 1 || self.a == 2) ? self.b : self.m", 3, 5],
  ["[1,2,3].sum()", 13, 13],
  ["[{'a':1}][0].a", 42, 42],
  ["[[1],[2]].flatten()", 43, 43],
  ["self.l[7]", 2, 2],
  ["self.b.z || true", 1, 1],
  ["r'a\\b' == 'a\\\\b'", 1, 1],
  ["{'a':1,}", 30, 30],
  ["--1", 0, 0],
  ["self.if", 1, 1],
  ["has(self.zz)", 1, 1],
  ["self.b[self.s]", 3, 3],
  ["dyn(1) + 'a'", 2, 2],
  ["dyn(1).size()", 2, 2],
  ["self.a.startsWith('x')", 2, 2],
  ["self.a ? 1 : 2", 1, 1],
  ["self.a || self.a", 1, 2],
  ["matches('a', '(')", 1, 1],
  ["uint(-1)", 1, 1],
  ["bool('T')", 1, 1],
  ["int(-1.9)", 1, 1],
  ["string(1e21)", 1, 1],
  ["string(0.00001)", 1, 1],
  ["string(b'\\xff')", 1, 1],
  ["string(timestamp('2020-01-01T00:00:00+02:00'))", 2, 2],
  ["int(duration('1s'))", 2, 2],
  ["duration('2562047h') + duration('2562047h')", 3, 3],
  ["timestamp('2020-01-01T00:00:00Z').getHours('-02:30')", 2, 2],
  ["duration('3730s').getHours()", 2, 2],
  ["{1: 1, 1: 2}", 30, 30],
  ["[{}, {'a': 1}]", 70, 70],
  ["1u < 2", 1, 1],
  ["type(b'')", 1, 1],
  ["type(quantity('1'))", 2, 2],
  ["type(ip('1.2.3.4'))", 2, 2],
  ["optional.none().value()", 2, 2],
  ["optional.ofNonZeroValue('')", 1, 1],
  ["[1,?optional.of(2)]", 11, 11],
  ["{'a': 1}.?a", 31, 31],
  ["[1][?0]", 11, 11],
  ["{'a': {'b': 1}}.?x.b", 61, 61],
  ["optional.of(1) == optional.of(1)", 3, 3],
  ["[optional.of(1), optional.none()].unwrapOpt()", 13, 13],
  ["string(100000.0)", 1, 1],
  ["string(1e15)", 1, 1],
  ["string(1.0e22)", 1, 1],
  ["string(1.0/0.0)", 2, 2],
  ["dyn('a').lowerAscii()", 2, 2],
  ["dyn(['a']).sum()", 12, 12],
  ["string(duration('1.5s'))", 2, 2],
  ["'%s %s %s'.format([1.0, 1e21, 2.5])", 11, 11],
  ["'%f'.format([1234567.891])", 11, 11],
  ["'%s'.format([[1,'a',2.0,null,true,{'k':b'x'}]])", 51, 51],
  ["'%s'.format([type(1)])", 12, 12],
  ["'%s'.format([[duration('1s')]])", 22, 22],
  ["'%.3e'.format([0.00012345])", 11, 11],
  ["'hello'.charAt(0)", 1, 1],
  ["'hello'.charAt(-1)", 1, 1],
  ["'hello'.indexOf('l')", 1, 1],
  ["'hello'.indexOf('z', 9)", 1, 1],
  ["'hello'.lastIndexOf('')", 1, 1],
  ["'hello'.lastIndexOf('l', 20)", 1, 1],
  ["'heLLo é'.upperAscii()", 1, 1],
  ["'a.b.c'.split('.', 2)", 1, 1],
  ["'a.b.c'.split('.', 1)", 1, 1],
  ["'hello hello'.replace('he', 'we', 0)", 3, 3],
  ["'abc'.replace('', '_', 9)", 1, 1],
  ["'tacocat'.substring(-1)", 1, 1],
  ["'tacocat'.substring(0, 40)", 1, 1],
  ["[].join('-')", 10, 10],
  ["'abc'.find('x')", 1, 1],
  ["'a1b22c333'.findAll('[0-9]+', 0)", 2, 2],
  ["'baaac'.findAll('a*')", 1, 1],
  ["'abc'.matches('B')", 1, 1],
  ["[3,1].isSorted()", 12, 12],
  ["[].min()", 10, 10],
  ["[1u,2u].sum()", 12, 12],
  ["[1,2,1].lastIndexOf(1)", 13, 13],
  ["[1,2,3,4].slice(1,30)", 50, 50],
  ["[3,1,2].sort()", 39, 39],
  ["[1,1,2].distinct()", 39, 39],
  ["[].last()", 11, 11],
  ["sets.intersects([1],[2])", 22, 22],
  ["url('https://user:pw@example.com:80/a%20b?x=1').getHostname()", 5, 5],
  ["url('https://[::1]:80/').getHost()", 3, 3],
  ["url('/path').getHost()", 2, 2],
  ["url('https://example.com').getEscapedPath()", 3, 3],
  ["url('https://example.com/path?key with spaces=value with spaces').getQuery()", 7, 7],
  ["url('relative')", 1, 1],
  ["url('https://a:b/')", 2, 2],
  ["url('http://a/%zz')", 2, 2],
  ["isURL('mailto:x@y')", 1, 1],
  ["ip('1.2.3.4')", 1, 1],
  ["ip('1.2.3.256')", 1, 1],
  ["ip('a.b.c.d')", 1, 1],
  ["ip('::1').family()", 2, 2],
  ["string(ip('1:0:0:2:0:0:0:3'))", 3, 3],
  ["ip('fe80::1%eth0')", 2, 2],
  ["ip('1:2:3')", 1, 1],
  ["ip('1:2:3:4:5:6:7:8::')", 2, 2],
  ["ip('::1.2.3.4') == ip('::102:304')", 3, 3],
  ["ip.isCanonical('x')", 1, 1],
  ["isIP('1.2.3.4/8')", 1, 1],
  ["ip('224.0.0.1').isLinkLocalMulticast()", 2, 2],
  ["ip('fe80::1').isLinkLocalUnicast()", 2, 2],
  ["ip('ff00::1').isGlobalUnicast()", 2, 2],
  ["cidr('192.168.0.0/24').containsIP('x')", 4, 7],
  ["cidr('192.168.0.0/24').containsCIDR('::/0')", 6, 10],
  ["cidr('192.168.0.1/24').prefixLength()", 3, 3],
  ["cidr('192.168.0.1/33')", 2, 2],
  ["cidr('x/8')", 1, 1],
  ["isCIDR('10.0.0.0/33')", 2, 2],
  ["quantity('1.0').isInteger()", 2, 2],
  ["quantity('9999999999999999999999999999999999999G').asInteger()", 5, 5],
  ["quantity('200M').compareTo(quantity('0.2G'))", 3, 3],
  ["quantity('1').add(quantity('500m')) == quantity('1.5')", 5, 5],
  ["quantity('1e3') == quantity('1k')", 3, 3],
  ["quantity('1Kx')", 1, 1],
  ["quantity('.5') == quantity('0.5')", 3, 3],
  ["quantity('0.0000000001') == quantity('1n')", 4, 4],
  ["isQuantity('1,3G')", 1, 1],
  ["sign(quantity('-1'))", 2, 2],
  ["quantity('8Ei').asInteger()", 2, 2],
  ["quantity('1.50k').isInteger()", 2, 2],
  ["semver('1.2.3').major()", 2, 2],
  ["semver('v1.0', true).minor()", 2, 2],
  ["semver('1.2.x')", 1, 1],
  ["semver('1.2.3-alpha').compareTo(semver('1.2.3-1'))", 4, 4],
  ["semver('1.2.3-')", 1, 1],
  ["semver('1.2.3+')", 1, 1],
  ["isSemver('1.2.3')", 1, 1],
  ["format.dns1123Label().validate('a.b').value()", 34, 34],
  ["format.dns1123LabelPrefix().validate('abc-')", 33, 33],
  ["format.qualifiedName().validate('a/b/c').value()", 34, 34],
  ["format.uuid().validate('x').value()", 34, 34],
  ["format.datetime().validate('2020-01-01T00:00:00Z')", 65, 65],
  ["format.named('uri').value().validate('http://x')", 34, 34],
  ["{'a':1,'b':2}.transformMap(k, v, v > 1, v * 2)", 67, 75],
  ["[1,1].transformMapEntry(i, v, {v: i})", 109, 109],
  ["[1,2].exists_one(i, v, v > 1)", 18, 20],
  ["{'a':1}.exists(k, k == 'b')", 35, 37],
  ["dyn({1: 'a'})[1.0]", 32, 32],
  ["dyn([1,2])[1.0]", 12, 12],
  ["dyn([1,2])[true]", 12, 12],
  ["dyn(1) in [1.0]", 12, 12],
  ["b'\\303\\277' == b'\\xc3\\xbf'", 1, 1],
  ["r'\\d'", 0, 0],
  ["7 % -2", 1, 1],
  ["5u / 0u", 1, 1],
  ["9223372036854775807 * 2", 1, 1],
  ["-(-9223372036854775808)", 1, 1],
  ["0x1F", 0, 0],
  [".5", 0, 0],
  ["'a' < 'B'", 1, 1],
  ["'😀' > '\\uffff'", 1, 1],
  ["dyn(double('NaN')) < 1.0", 3, 3],
  ["[1] == [1, 2]", 21, 21],
  ["dyn([1]) == dyn([1.0])", 23, 23],
  ["(true ? dyn(1) : 'a') == 1", 1, 2],
  ["1 < 2 == true", 2, 2],
  ["1 in [1] && 2 in [2]", 11, 22],
  ["int('+5')", 1, 1],
  ["uint('-5')", 1, 1],
  ["double('0x1p4')", 1, 1],
  ["string(1u)", 1, 1],
  ["bool('tRUE')", 1, 1],
  ["duration('-1.5h')", 1, 1],
  ["duration('1us')", 1, 1],
  ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", 3, 3],
  ["timestamp('2020-03-01T00:00:00Z').getMonth()", 2, 2],
  ["timestamp('2020-03-01T00:00:00.123Z').getMilliseconds()", 2, 2],
  ["timestamp('2020-07-01T00:00:00Z').getHours('Europe/Paris')", 2, 2],
  ["timestamp('2020-07-01T00:00:00Z').getHours('a:b')", 2, 2],
  ["self.b == {'c': 'x'}", 32, 32],
  ["self.a == 1.0", 2, 2],
  ["optional.none().optMap(x, x + 1)", 3, 17],
  ["self.?q.value()", 3, 3],
  ["optional.of(null)", 1, 1],
  ["type(duration('1s'))", 2, 2],
  ["format.dns1123LabelPrefix().validate('a-')", 33, 33]
]

describe("what an expression can cost", () => {
  for (const [expression, min, max] of rows) {
    it(expression, () => {
      const made = Environment.compile(environment, expression)
      assert(made._tag === "Compiled")
      assert.deepStrictEqual(StaticCost.estimate(made.compiled.expr, made.compiled.checked, undefined), { min, max })
    })
  }
})

describe("what an expression can cost, as a schema limits it", () => {
  const schema = {
    type: "object",
    properties: {
      s: { type: "string", maxLength: 21 },
      l: { type: "array", maxItems: 100, items: { type: "string", maxLength: 50 } }
    }
  } as const

  const most = (schema: Schema, expression: string): number => {
    const root = DeclaredTypes.fromSchema(schema, false, "self")!
    const environment = Environment.make({ self: root.type }, DeclaredTypes.provider(root))
    const made = Environment.compile(environment, expression)
    assert(made._tag === "Compiled", expression)
    return StaticCost.estimate(made.compiled.expr, made.compiled.checked, root).max
  }

  it("parts of what comes from nowhere are as large as the whole", () => {
    const text = { type: "string", maxLength: 21 } as const
    assert.isBelow(most(text, "self.split(':')[0].matches('[0-9]+')"), 100)
    assert.isBelow(most(text, "self.split(':').all(x, x.split('.')[1].matches('[0-9]+'))"), 10_000)
    assert.isAbove(most({ type: "string" }, "self.split(':')[0].matches('[0-9]+')"), 1_000_000)
    assert.isAbove(most(schema, "self.s.split(':')[0].matches('[0-9]+')"), 0)
    assert.isBelow(most(schema, "self.l.all(x, x.matches('a'))"), 10_000)
  })
})
