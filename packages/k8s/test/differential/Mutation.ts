/**
 * `Mutation`: how a good document becomes a bad one.
 *
 * One place of the document is taken and given a value of a wrong type, out of range, too long, empty, null, or a field
 * is added that nobody knows. What the right answer is, nobody has to say: the other server does.
 */
import type { Chance } from "./Chance.ts"
import { at, paths } from "./Path.ts"
import type { Edit } from "./Step.ts"

const scalars: ReadonlyArray<unknown> = [null, "", "x", -1, 0, 1.5, 99999, true, [], {}]

const texts: ReadonlyArray<unknown> = [
  "",
  "UPPER",
  "under_score",
  "-dash",
  "a/b",
  "a..b",
  " ",
  "é",
  "x".repeat(64),
  "y".repeat(254),
  7,
  null,
  {}
]

const numbers: ReadonlyArray<unknown> = [-1, 0, 65536, 1.5, "1", null]

/** `custom`: without empty strings, which the older server takes for null in objects of a custom kind. */
const unfit = (chance: Chance, value: unknown, custom: boolean): unknown => {
  const found = unfitOrEmpty(chance, value)
  // Nor with nulls in lists, which its merge patches drop.
  return custom && (found === "" || (Array.isArray(found) && found.includes(null))) ? "x" : found
}

const unfitOrEmpty = (chance: Chance, value: unknown): unknown => {
  if (chance.chance(0.3)) return chance.pick(scalars)
  if (typeof value === "string") return chance.pick(texts)
  if (typeof value === "number") return chance.pick(numbers)
  if (Array.isArray(value)) return chance.pick<unknown>([[], [null], [...value, ...value], {}, "x", null])
  return chance.pick<unknown>([{}, [], "x", null, 5])
}

/**
 * Names of environment variables may be more since 1.30, those that a driver has for Nodes longer since 1.22; addresses
 * of Services are checked otherwise since 1.23.
 */
const later = (path: ReadonlyArray<string>): boolean =>
  (path.includes("env") && path.at(-1) === "name") ||
  (path.includes("envFrom") && path.at(-1) === "prefix") ||
  path.includes("clusterIP") ||
  path.includes("nodeID") ||
  // A version without a group is refused since 1.27.
  path.includes("scaleTargetRef")

/** An edit of a document that most likely makes it unfit. */
export const mutation = (chance: Chance, document: unknown, custom = false): Edit => {
  const all = paths(document).filter((path) => path[0] !== "apiVersion" && path[0] !== "kind" && !later(path))
  const path = all.length === 0 ? ["spec"] : chance.pick(all)
  const value = at(document, path)
  if (chance.chance(0.12) && typeof value === "object" && value !== null && !Array.isArray(value)) {
    return { path: [...path, "bogus"], value: 1 }
  }
  const found = unfit(chance, value, custom)
  // Null bytes are stored as empty ones, which a later patch without effect may write anew.
  const fit = found === null && path[0] === "binaryData" ? "" : found
  return chance.chance(0.1) ? { path } : { path, value: fit }
}

/** Metadata that is wrong in one field. */
export const badMetadata = (chance: Chance): Edit =>
  chance.pick<Edit>([
    {
      path: ["metadata", "labels"],
      value: chance.pick<unknown>([{ "bad key!": "v" }, { ok: "bad value!" }, { a: 1 }, "x"])
    },
    {
      path: ["metadata", "annotations"],
      value: chance.pick<unknown>([{ "bad key!": "v" }, { a: 1 }, { "A/b/c": "" }, []])
    },
    { path: ["metadata", "finalizers"], value: chance.pick<unknown>([["bad"], ["a/b/c"], [1], "x"]) },
    {
      path: ["metadata", "ownerReferences"],
      value: chance.pick<unknown>([
        [{ apiVersion: "v1", kind: "Pod", name: "x" }],
        [{ apiVersion: "", kind: "Pod", name: "x", uid: "u" }],
        [{ apiVersion: "v1", kind: "Event", name: "x", uid: "u" }],
        [{}],
        [
          { apiVersion: "v1", kind: "Pod", name: "x", uid: "u", controller: true },
          { apiVersion: "v1", kind: "Pod", name: "y", uid: "v", controller: true }
        ]
      ])
    },
    {
      path: ["metadata", "name"],
      value: chance.pick<unknown>(["UPPER", "a_b", "a..b", "-a", "", "x".repeat(254), 5, null])
    },
    { path: ["metadata", "namespace"], value: chance.pick(["other", ""]) },
    { path: ["metadata", "uid"], value: "not-mine" },
    { path: ["metadata", "resourceVersion"], value: chance.pick<unknown>(["abc", "0", "", "99999999", 5]) },
    { path: ["metadata", "generation"], value: chance.pick<unknown>([77, "x"]) },
    { path: ["metadata", "creationTimestamp"], value: chance.pick<unknown>(["2020-01-01T00:00:00Z", "never", null]) },
    { path: ["metadata", "deletionTimestamp"], value: "2020-01-01T00:00:00Z" },
    { path: ["metadata", "clusterName"], value: "c" },
    { path: ["metadata", "bogus"], value: 1 },
    { path: ["metadata"], value: chance.pick<unknown>([null, "x", [], {}]) },
    { path: ["apiVersion"], value: chance.pick<unknown>(["v1", "apps/v1", "nope/v1", 5]) },
    { path: ["kind"], value: chance.pick<unknown>(["ConfigMap", "Nope"]) }
  ])

/** Texts that are no JSON document of any kind. */
export const garbage: ReadonlyArray<string> = ["", "{", "[]", "\"text\"", "5", "{\"a\":}", "{\"metadata\":[]}", "---"]

/** Texts that are no JSON at all. */
export const broken: ReadonlyArray<string> = ["{", "{\"a\":}", "---"]
