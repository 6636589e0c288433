import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Http from "node:http"
import * as Net from "node:net"
import { defaults, HttpResponse, HttpResponseError } from "../../src/live/HttpResponse.ts"

interface Outcome {
  readonly status: number | undefined
  readonly headers: unknown
  readonly body: string
  readonly fault: string | undefined
  readonly isReusable: boolean
}

/** What an answer is read as that comes in these pieces, the connection closed behind it. */
const read = (pieces: ReadonlyArray<string | Buffer>, method?: string): Outcome => {
  const response = new HttpResponse(method)
  const body: Array<string> = []
  let fault: string | undefined
  try {
    // A copy, as what is read is lost.
    for (const piece of pieces) body.push(response.read(Buffer.from(piece as string, "latin1")).toString("latin1"))
    if (!response.isDone) response.end()
  } catch (error) {
    assert.instanceOf(error, HttpResponseError)
    fault = (error as Error).message
  }
  const { head, isReusable } = response
  return { status: head?.status, headers: { ...head?.headers }, body: body.join(""), fault, isReusable }
}

/** Pieces of a text between places, which may be anywhere. */
const cut = (text: string, at: ReadonlyArray<number>): ReadonlyArray<string> => {
  const places = [...new Set(at.map((place) => place % (text.length + 1)))].sort((a, b) => a - b)
  return [...places, text.length].map((place, index) => text.slice(index === 0 ? 0 : places[index - 1], place))
}

const chunk = (text: string, extension = "") => `${text.length.toString(16)}${extension}\r\n${text}\r\n`
const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

describe("HttpResponse", () => {
  it("reads a body of a given length, in chunks, and up to the end of the connection", () => {
    const given = read(["HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello"])
    assert.deepStrictEqual(given, {
      status: 200,
      headers: { "content-type": "application/json", "content-length": "5" },
      body: "hello",
      fault: undefined,
      isReusable: true
    })
    const inChunks = `${chunked}${chunk("hel", ";a=b")}${chunk("lo", "  ; c")}0\r\nX-Trailer: 1\r\n\r\n`
    assert.deepInclude(read([inChunks]), { body: "hello", fault: undefined, isReusable: true })
    assert.deepInclude(read(["HTTP/1.0 200 OK\r\n\r\nhel", "lo"]), {
      body: "hello",
      fault: undefined,
      isReusable: false
    })
  })

  it("reads every digit of a length, and a length or a coding however it is written", () => {
    const long = "x".repeat(0xabcdef)
    for (const digits of ["abcdef", "ABCDEF", "0abcdef"]) {
      assert.deepInclude(read([`${chunked}${digits}\r\n${long}\r\n0\r\n\r\n`]), { body: long, fault: undefined })
    }
    const text = "x".repeat(0x91a)
    assert.strictEqual(read([`${chunked}91a\t\r\n`]).fault?.includes("not a number"), true)
    assert.strictEqual(read([`${chunked}91a\t;\r\n${text}\r\n0\r\n\r\n`]).body, text)
    const coded = chunked.replace("chunked", "Chunked")
    assert.strictEqual(read([`${coded}${chunk("hi")}0\r\n\r\n`]).body, "hi")
    for (const length of ["2, 2", "2 ,2", "2\r\nContent-Length: 2"]) {
      assert.strictEqual(read([`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nhi`]).body, "hi")
    }
  })

  it("knows answers that have no body, and passes over interim ones", () => {
    const early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
    assert.deepInclude(read([`${early}HTTP/1.1 204 No Content\r\n\r\n`]), { status: 204, body: "", isReusable: true })
    assert.deepInclude(read(["HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"]), { body: "", isReusable: true })
    assert.deepInclude(read(["HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"], "HEAD"), { body: "", isReusable: true })
    assert.deepInclude(read(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]), { body: "", isReusable: true })
  })

  it("gives another request to no connection that is to be closed, or says more than was asked", () => {
    const answer = (head: string, body = "hi") => `${head}\r\nContent-Length: 2\r\n\r\n${body}`
    assert.isFalse(read([answer("HTTP/1.1 200 OK\r\nConnection: Keep-Alive, Close")]).isReusable)
    assert.isTrue(read([answer("HTTP/1.1 200 OK\r\nConnection: keep-alive")]).isReusable)
    assert.isFalse(read([answer("HTTP/1.0 200 OK\r\nConnection: keep-alive")]).isReusable)
    const more = read([answer("HTTP/1.1 200 OK", "hi HTTP/1.1 200 OK")])
    assert.deepInclude(more, { body: "hi", fault: undefined, isReusable: false })
  })

  it("refuses what is no answer, or of no certain length, without quoting it", () => {
    const faults: ReadonlyArray<readonly [answer: string, fault: string]> = [
      ["<html>s3cret\r\n\r\n", "it does not begin with a status line"],
      ["HTTP/2 200 OK\r\n\r\n", "it does not begin with a status line"],
      ["HTTP/1.1 099 s3cret\r\n\r\n", "it does not begin with a status line"],
      ["HTTP/1.1 101 Switching Protocols\r\n\r\n", "it switches protocols, which was not requested"],
      ["HTTP/1.1 200 OK\r\nX-Token s3cret\r\n\r\n", "it has a malformed header line"],
      ["HTTP/1.1 200 OK\r\nX-Token : s3cret\r\n\r\n", "it has a malformed header line"],
      ["HTTP/1.1 200 OK\r\nX-Token: a\r\n s3cret: b\r\n\r\n", "it has a malformed header line"],
      ["HTTP/1.1 200 OK\r\nX-Token: s3cret\0\r\n\r\n", "it has a malformed header line"],
      ["HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", `its Content-Length is "-1"`],
      ["HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", `its Content-Length is "1, 2"`],
      ["HTTP/1.1 200 OK\r\nContent-Length: 1, 1, 2\r\n\r\n", `its Content-Length is "1, 1, 2"`],
      ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", `its Content-Length is ["1","2"]`],
      ["HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\n", `its Content-Length is "99999999999999999"`],
      ["HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", `its Transfer-Encoding is "gzip", not chunked`],
      [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        "it has both a Transfer-Encoding and a Content-Length"
      ],
      [`${chunked}\r\n`, "it has a chunk without a length"],
      [`${chunked}-1\r\n`, "it has a chunk without a length"],
      [`${chunked}5 5\r\n`, "it has a chunk whose length is not a number"],
      [`${chunked}5 \r\n`, "it has a chunk whose length is not a number"],
      [`${chunked}5x\r\n`, "it has a chunk whose length is not a number"],
      [`${chunked}fffffffffffffffff\r\n`, "it has a chunk whose length is not a number"],
      [`${chunked}2\nhi`, "it has a chunk whose length is not a number"],
      [`${chunked}2\rhi`, "a line end is missing"],
      [`${chunked}2\r\nhiX`, "a line end is missing"],
      [`${chunked}2\r\nhi\rX`, "a line end is missing"],
      ...["g", ":", "/", "`", "@"].map((none) =>
        [`${chunked}1${none}\r\n`, "it has a chunk whose length is not a number"] as const
      ),
      [`${chunked}0\r\n\rX`, "a line end is missing"],
      [`HTTP/1.1 200 OK\r\nX-A: ${"x".repeat(defaults.maxHeadBytes)}`, "its head is longer than 16384 bytes"],
      [`${chunked}2;${"x".repeat(defaults.maxLineBytes)}`, "its line before a chunk is longer than 16384 bytes"],
      [`${chunked}0\r\n${"X-A: b\r\n".repeat(3_000)}`, "its trailer is longer than 16384 bytes"]
    ]
    for (const [answer, fault] of faults) {
      assert.strictEqual(
        read([answer]).fault,
        `the answer is not HTTP/1.1: ${fault}`,
        JSON.stringify(answer.slice(0, 99))
      )
      assert.notInclude(read([answer]).fault!, "s3cret")
    }
  })

  it("tells where a connection was closed too soon", () => {
    for (const answer of ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n"]) {
      assert.strictEqual(read([answer]).fault, "the server closed the connection before it answered")
    }
    const length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"
    for (const answer of [length, chunked, `${chunked}2\r\nhi`, `${chunked}2\r\nhi\r\n0\r\n`]) {
      assert.strictEqual(read([answer]).fault, "the server closed the connection in the middle of its answer")
    }
  })

  const Answer = {
    early: Schema.Boolean,
    chunks: Schema.Array(Schema.String),
    framing: Schema.Literals(["length", "chunks", "close"]),
    extension: Schema.Literals(["", " ;b", ";a", ";name=\"v;\""]),
    trailer: Schema.Literals(["", "X-Sum: 1\r\n", "A: 1\r\nB: 2\r\n"]),
    broken: Schema.Literals(["", "", "", "\r", "x", "0"]),
    cuts: Schema.Array(Schema.Natural)
  }
  type Answer = { readonly [K in keyof typeof Answer]: (typeof Answer)[K]["Type"] }

  const written = ({ broken, chunks, early, extension, framing, trailer }: Answer): string => {
    const parts = chunks.map((text) => Buffer.from(text).toString("latin1")).filter((text) => text !== "")
    const begin = `${early ? "HTTP/1.1 102 Processing\r\n\r\n" : ""}HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a:  2 \r\n`
    const all = parts.join("")
    switch (framing) {
      case "length":
        return `${begin}content-length: ${all.length}\r\n\r\n${all}`
      case "chunks":
        return `${begin}Transfer-Encoding: chunked\r\n\r\n${
          parts.map((part, index) => chunk(part, extension) + (index === 0 ? broken : "")).join("")
        }0\r\n${trailer}\r\n`
      case "close":
        return `${begin}\r\n${all}`
    }
  }

  it.prop(
    "reads the same however the network cuts it",
    Answer,
    (answer) => {
      const text = written(answer)
      const { body: all, ...whole } = read([text])
      for (const pieces of [cut(text, answer.cuts), Array.from(text)]) {
        const { body, ...rest } = read(pieces)
        assert.deepStrictEqual(rest, whole)
        // Before a fault more of the body may have been handed over in smaller pieces.
        if (whole.fault === undefined) assert.strictEqual(body, all)
        else assert.isTrue(body.startsWith(all))
      }
    },
    { arbitrary: { runs: 500, seed: 41 } }
  )

  it.live("reads what Node's own client reads", () =>
    Effect.gen(function*() {
      const answers = Answer.framing.literals.flatMap((framing) =>
        // Node takes no blanks there, though section 7.1.1 has them.
        Answer.extension.literals.filter((extension) => !extension.startsWith(" ")).flatMap((extension) =>
          Answer.trailer.literals.flatMap((trailer) =>
            [true, false].map((early) =>
              written({
                framing,
                extension,
                trailer,
                early,
                chunks: ["a", "Zoë 🚀", "x".repeat(300)],
                broken: "",
                cuts: []
              })
            )
          )
        )
      )
      const server = yield* Effect.acquireRelease(
        Effect.callback<Net.Server>((resume) => {
          const server = Net.createServer((socket) => {
            socket.once("data", (request) => {
              const index = Number(/^GET \/(\d+) /.exec(request.toString("latin1"))![1])
              socket.end(Buffer.from(answers[index]!, "latin1"))
            })
          })
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.promise(() => new Promise((resolve) => server.close(resolve)))
      )
      const { port } = server.address() as Net.AddressInfo
      const node = (index: number) =>
        Effect.callback<Pick<Outcome, "status" | "headers" | "body">>((resume) => {
          Http.get({ port, host: "127.0.0.1", path: `/${index}`, agent: false }, (answer) => {
            let body = ""
            answer.setEncoding("latin1").on("data", (text: string) => {
              body += text
            }).on("end", () => {
              resume(Effect.succeed({ status: answer.statusCode, headers: answer.headersDistinct, body }))
            })
          }).on("error", (error) => resume(Effect.die(error)))
        })
      for (const [index, answer] of answers.entries()) {
        const { body, headers, status } = read([answer])
        const distinct = Object.fromEntries(
          Object.entries(headers as object).map(([name, value]) => [name, typeof value === "string" ? [value] : value])
        )
        const { headers: theirs, ...rest } = yield* node(index)
        assert.deepStrictEqual({ status, body }, rest)
        assert.deepStrictEqual(distinct, { ...theirs as object })
      }
    }))
})
