import { assert, describe, it } from "@effect/vitest"
import * as JsonPath from "../../src/api/JsonPath.ts"

const object = {
  s: "text",
  l: ["a", "b", "c"],
  n: null,
  m: { "x.y/z": 1, x: 2 },
  o: [{ k: "a", v: 1 }, { k: "b", v: 2 }],
  f: 1.5,
  b: true
}

const found = (path: string) => JsonPath.find(object, JsonPath.parse(path)!)

// What a real server showed in the columns of a custom resource.
describe("a path", () => {
  it.each<[string, ReadonlyArray<unknown>]>([
    [".s", ["text"]],
    [".n", [null]],
    [".none.deep", []],
    [".s.t", []],
    [".s }.x", ["text"]],
    [". s", []],
    ["['s']", ["text"]],
    [".['s']", []],
    [".m.x\\.y/z", [1]],
    [".m['x\\.y/z']", [1]],
    [".m['x.y/z']", []],
    [".m.*", [1, 2]],
    ["..s", ["text"]],
    ["..v", [1, 2]],
    // All that has something in it, from the outside in.
    [".o..", [object.o, ...object.o]],
    ["['s','f']", ["text", 1.5]],
    ["['s', 'none']", ["text"]]
  ])("%s", (path, expected) => assert.deepStrictEqual(found(path), expected))

  it.each<[string, ReadonlyArray<unknown>]>([
    [".l[0]", ["a"]],
    [".l[-1]", ["c"]],
    [".l[-3]", ["a"]],
    [".l[*]", ["a", "b", "c"]],
    [".l[0:2]", ["a", "b"]],
    [".l[1:]", ["b", "c"]],
    [".l[:]", ["a", "b", "c"]],
    [".l[::2]", ["a", "c"]],
    [".l[1:1]", []],
    [".l[9]", []],
    [".l[-4]", []],
    [".l[0:9]", []],
    [".s[0]", []],
    [".n[0]", []],
    [".o[0].v", [1]],
    [".o[*].v", [1, 2]],
    [".o.v", []]
  ])("into a list: %s", (path, expected) => assert.deepStrictEqual(found(path), expected))

  it.each<[string, ReadonlyArray<unknown>]>([
    [".o[?(@.k==\"b\")].v", [2]],
    [".o[?(@.k=='b')].v", [2]],
    [".o[?( @.k == \"b\")].v", [2]],
    [".o[?(@.k!='b')].v", [1]],
    [".o[?(@.v>1)].k", ["b"]],
    [".o[?(@.v<=1)].k", ["a"]],
    [".o[?(@.v)].k", ["a", "b"]],
    [".o[?(@.z)].k", []],
    [".o[?(@.z==1)].k", []],
    // Of another type, a word that is no text, and what is no list.
    [".o[?(@.k==1)].v", []],
    [".o[?(@.v<1.5)].k", []],
    [".o[?(@.k==b)].v", []],
    [".m[?(@.k=='b')].v", []]
  ])("with a filter: %s", (path, expected) => assert.deepStrictEqual(found(path), expected))

  it.each([".[", ".o[x]", ".o[", ".o[-]", ".o[?(@.a", ".o[?(@.a)", ".m[\"x\"]", ".s,", ".....s", ".o[?(@.a=='x)]"])(
    "that nobody can read: %s",
    (path) => assert.isUndefined(JsonPath.parse(path))
  )
})
