import type { Dispatcher } from "@effect/platform-node/Undici"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import type { Body, Ending } from "../../src/live/Body.ts"
import { aborted } from "../../src/live/Connections.ts"
import * as Proxied from "../../src/live/Proxied.ts"

/** A dispatcher whose answers the test gives, what it was told to do, and what was said of the request. */
const scripted = () => {
  const told: Array<unknown> = []
  const controller = {
    pause: () => void told.push("pause"),
    resume: () => void told.push("resume"),
    abort: (reason: unknown) => void told.push(reason)
  } as unknown as Dispatcher.DispatchController
  let handler: Dispatcher.DispatchHandler | undefined
  const dispatcher = {
    dispatch: (request: { readonly path: string }, given: Dispatcher.DispatchHandler) => {
      if (request.path === "/refused") throw new Error("refused")
      handler = given
      return true
    }
  } as unknown as Dispatcher
  const said: Array<unknown> = []
  let body: Body | undefined
  const ask = (path: string) =>
    Proxied.over(dispatcher, "https://k8s.example").request({ method: "GET", path, headers: {} }, {
      sent: () => said.push("sent"),
      answered: (head, given) => {
        said.push(head.status)
        body = given
      },
      failed: (cause) => said.push(cause)
    })
  const read = (more: boolean) => {
    const pieces: Array<string> = []
    let ending: Ending | undefined
    body!.read({
      bytes: (chunk) => {
        pieces.push(chunk.toString())
        return more
      },
      end: (how) => (ending = how)
    })
    return { pieces, ending: () => ending, resume: () => body!.resume() }
  }
  return {
    told,
    said,
    ask,
    read,
    begin: () => handler!.onRequestStart!(controller, undefined),
    answer: (status = 200) => handler!.onResponseStart!(controller, status, {}),
    data: (text: string) => handler!.onResponseData!(controller, Buffer.from(text)),
    end: () => handler!.onResponseEnd!(controller, {}),
    fail: (error: Error) => handler!.onResponseError!(controller, error)
  }
}

describe("Proxied", () => {
  it("stops while nobody reads or wants more, and loses nothing", () => {
    const { answer, ask, begin, data, end, read, said, told } = scripted()
    ask("/")
    begin()
    answer(103)
    answer()
    assert.deepStrictEqual(said, ["sent", 200])
    assert.deepStrictEqual(told, ["pause"])
    data("a")
    const { ending, pieces, resume } = read(false)
    data("b")
    assert.deepStrictEqual(told, ["pause", "pause"])
    resume()
    end()
    assert.deepStrictEqual(pieces, ["a", "b"])
    assert.deepStrictEqual(told, ["pause", "pause", "resume"])
    assert.deepStrictEqual(ending(), {})
  })

  it("tells who reads late how it ended", () => {
    const { answer, ask, begin, data, fail, read, said } = scripted()
    ask("/")
    begin()
    answer()
    data("a")
    const reset = new Error("reset")
    fail(reset)
    const { ending, pieces } = read(true)
    assert.deepStrictEqual(pieces, ["a"])
    assert.deepStrictEqual(ending(), { error: reset })
    assert.deepStrictEqual(said, ["sent", 200])
  })

  it("tells that there is no answer, also where nothing was sent", () => {
    const { ask, fail, said } = scripted()
    ask("/refused")
    assert.strictEqual(String(said.pop()), "Error: refused")
    ask("/")
    const reset = new Error("reset")
    fail(reset)
    assert.deepStrictEqual(said, [reset])
  })

  it("ends what is given up, once, and as soon as it begins; not what is over", () => {
    const early = scripted()
    const abort = early.ask("/")
    abort()
    abort()
    assert.deepStrictEqual(early.told, [])
    early.begin()
    assert.deepStrictEqual(early.told, [aborted])
    assert.deepStrictEqual(early.said, [])
    const over = scripted()
    const late = over.ask("/")
    over.begin()
    over.answer()
    over.end()
    late()
    assert.deepStrictEqual(over.told, ["pause"])
  })
})
