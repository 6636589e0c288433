import { assert, describe, it } from "@effect/vitest"
import * as SchemaFormats from "../../src/schema/SchemaFormats.ts"

/** Good and bad values, as a kube-apiserver judged them. */
const cases: Readonly<Record<string, readonly [ReadonlyArray<string>, ReadonlyArray<string>]>> = {
  "date-time": [
    ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-01-01T00:00:00.123+01:00", "2020-01-01T00:00:00+25:00"],
    ["2020-01-01T24:00:00Z", "2020-01-01T23:59:60Z", "2020-01-01T00:00:00", "2020-01-01 00:00:00Z", "2020-01-01"]
  ],
  date: [["2020-01-01", "2020-02-29"], ["2021-02-29", "2020-1-1", "2020-13-01", "2020-01-01T00:00:00Z"]],
  duration: [
    [
      "5m",
      "1h30m",
      "1.5s",
      "-1s",
      "0",
      "5 minutes",
      "22 ns",
      "3 days",
      "1w",
      "1µs",
      ".5s",
      "1.s",
      "-0",
      "1s0",
      `1.${"s0000".repeat(29)}µ`
    ],
    ["1", "s", "5 parsecs", "a", "00", "+00"]
  ],
  email: [
    ["x@y.z", "x@y", "Bob <x@y.z>", "<x@y.z>", "\"x y\"@z.com", "é@y.z"],
    ["@y", "x y@z", "x@y.z, a@b.c", "x..y@z.com", ".x@z.com", "x@z..com", "x"]
  ],
  hostname: [["localhost", "a.b.cd", "1.com", "ex😀mple.com"], ["a_b", "-a.com", "a.b1", "a.b.", "a.b.c"]],
  uri: [
    [
      "http://x/y",
      "http://x:80/",
      "x:y",
      "/abs",
      "http://[::1]/",
      "mailto:a@b",
      "*",
      "http:/x",
      "x:%zz y",
      "/a b",
      "http://a:b:80/"
    ],
    [
      "rel",
      "http://x:ab/",
      "http://x:1#2/",
      "http://[:1]/",
      "http://u>@x/",
      "/%zz",
      "http://a b",
      "%zz",
      "http://x/%zz",
      "?x",
      "#f",
      "1http://x"
    ]
  ],
  ipv4: [["1.2.3.4", "::ffff:1.2.3.4"], ["256.1.1.1", "1.2.3", "::1"]],
  ipv6: [["::1", "::", "2001:db8::1", "::ffff:1.2.3.4", "2001:db8:0:0:0:0:0:1"], [
    "1::2::3",
    "1:2:3:4:5:6:7",
    "g::1",
    "::ffff:1.2.3.04",
    "1.2.3.4"
  ]],
  cidr: [["10.0.0.0/8", "::/0"], ["10.0.0.0/33", "::/129", "10.0.0.0"]],
  mac: [["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455"], [
    "00:11-22:33:44:55",
    "0:1:2:3:4:5",
    "00:11:22:33:44:55:66"
  ]],
  uuid: [["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B8109DAD11D180B400C04FD430C8"], ["6ba7b810-9dad-11d1-80b4"]],
  uuid4: [["6ba7b810-9dad-41d1-80b4-00c04fd430c8"], [
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "6ba7b810-9dad-41d1-c0b4-00c04fd430c8"
  ]],
  isbn: [["0321751043", "978-0321751041", "978 0321751041", "080442957X"], ["0321751044", "1"]],
  creditcard: [["4111111111111111", "4111-1111-1111-1111"], ["4111111111111112"]],
  ssn: [["123-45-6789", "123 45-6789"], ["12-45-6789", "123456789"]],
  hexcolor: [["#fff", "FFFFFF"], ["#ffff"]],
  rgbcolor: [["rgb(1,2,3)", "rgb( 1 , 2,3 )"], ["rgb(256,0,0)"]],
  byte: [["YQ==", "YWI=", "YWJj"], ["YQ", "===="]],
  bsonobjectid: [["507f1f77bcf86cd799439011"], ["507f1f77bcf86cd79943901"]],
  password: [["anything"], []],
  "k8s-short-name": [["a-b"], ["a.b", "A"]],
  "k8s-long-name": [["a.b"], ["A.b"]]
}

for (const [format, [good, bad]] of Object.entries(cases)) {
  describe(format, () => {
    const rule = SchemaFormats.rule(format)!
    it("accepts", () => assert.deepStrictEqual(good.filter((text) => !rule(text)), []))
    it("refuses", () => assert.deepStrictEqual(bad.filter(rule), []))
  })
}

it("other formats mean nothing", () => {
  for (const format of ["int32", "int64", "double", "nonsense", "", "toString", undefined]) {
    assert.isUndefined(SchemaFormats.rule(format))
  }
})
