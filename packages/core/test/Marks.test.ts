import { Marks } from "@effect-operator/core/internal/Marks"
import { assert, describe, it } from "@effect/vitest"

const never = () => false

describe("Marks", () => {
  it("keeps the newest resourceVersion of a key, whatever the order of responses", () => {
    const marks = new Marks(10)
    marks.changed("a", { resourceVersion: "12", uid: "u", absent: true })
    marks.changed("a", { resourceVersion: "11", uid: "u", absent: true })
    assert.deepStrictEqual(marks.due("a"), { resourceVersion: "12", uid: "u", absent: true })
    marks.seen("a", "11", "u", false)
    assert.isDefined(marks.due("a"))
    marks.seen("a", "12", "u", false)
    assert.isUndefined(marks.due("a"))
  })

  it("ends what the watch has passed, and nothing else", () => {
    const marks = new Marks(10)
    marks.changed("a", { resourceVersion: "11", uid: "u", absent: true })
    marks.changed("b", { resourceVersion: "13", uid: "v", absent: true })
    marks.passed("12")
    assert.deepStrictEqual([...marks.keys()], ["b"])
  })

  it("ends a deletion when its incarnation ends, not when another does", () => {
    const marks = new Marks(10)
    marks.deleting("a", "u", never)
    marks.seen("a", "20", "other", true)
    marks.seen("a", "20", "u", false)
    assert.isTrue(marks.isDeleting("a", "u"))
    marks.seen("a", "21", "u", true)
    assert.strictEqual(marks.size, 0)
  })

  it("gives up a guess after two bookmarks or on request, and a named incarnation never", () => {
    const marks = new Marks(10)
    for (const key of "ab") marks.guess(key, undefined)
    marks.deleting("c", "w", never)
    marks.bookmark()
    assert.isTrue(marks.isDeleting("a", "whichever"))
    marks.giveUp("b")
    assert.isFalse(marks.isDeleting("b", "whichever"))
    marks.bookmark()
    assert.deepStrictEqual([...marks.keys()], ["c"])
  })

  it("a guess ends with the current incarnation, or else with the next one", () => {
    const marks = new Marks(10)
    for (const uid of [undefined, "u"]) {
      marks.guess("a", uid)
      marks.seen("a", "20", "u", false)
      assert.isTrue(marks.isDeleting("a", "u"))
      assert.strictEqual(marks.isDeleting("a", "v"), uid === undefined)
      if (uid !== undefined) marks.seen("a", "20", "v", true)
      assert.isTrue(marks.isDeleting("a", "u"))
      marks.seen("a", "21", "u", true)
      assert.strictEqual(marks.size, 0)
    }
  })

  it("forgets the oldest deletions beyond the limit, unless they are needed", () => {
    const marks = new Marks(2)
    for (const uid of "uvwxy") marks.deleting(uid, uid, (_, uid) => uid === "u")
    assert.deepStrictEqual([..."uvwxy"].filter((uid) => marks.isDeleting("", uid)), ["u", "x", "y"])
  })
})
