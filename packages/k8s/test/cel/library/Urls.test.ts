import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("URLs", () => {
  table([
    ["type(url('http://a'))", "type(kubernetes.URL)", 2],
    ["url('https://user:pw@example.com:80/a%20b?x=1&x=2&y=%41+b#f').getHost()", "\"example.com:80\"", 7],
    ["url('https://user:pw@example.com:80/a%20b?x=1').getHostname()", "\"example.com\"", 5],
    ["url('https://example.com:80/').getPort()", "\"80\"", 4],
    ["url('https://example.com/').getPort()", "\"\"", 3],
    ["url('https://[::1]:80/').getHost()", "\"[::1]:80\"", 3],
    ["url('https://[::1]:80/').getHostname()", "\"::1\"", 3],
    ["url('https://[::1]/').getHostname()", "\"::1\"", 3],
    ["url('/path').getHost()", "\"\"", 2],
    ["url('/path with spaces/').getEscapedPath()", "\"/path%20with%20spaces/\"", 3],
    ["url('https://example.com/path with spaces/').getEscapedPath()", "\"/path%20with%20spaces/\"", 5],
    ["url('https://example.com').getEscapedPath()", "\"\"", 3],
    ["url('https://example.com/a%2Fb').getEscapedPath()", "\"/a%2Fb\"", 4],
    ["url('https://example.com/p?k1=a&k2=b&k2=c').getQuery()", "{\"k1\": [\"a\"], \"k2\": [\"b\", \"c\"]}", 5],
    [
      "url('https://example.com/path?key with spaces=value with spaces').getQuery()",
      "{\"key with spaces\": [\"value with spaces\"]}",
      7
    ],
    ["url('https://example.com/path?').getQuery()", "{}", 4],
    ["url('HTTP://A.b/').getScheme()", "\"http\"", 3],
    [
      "url('relative')",
      "fault: URL parse error during conversion from string: parse \"relative\": invalid URI for request"
    ],
    ["url('')", "fault: URL parse error during conversion from string: parse \"\": empty url"],
    [
      "url('https://a b/')",
      "fault: URL parse error during conversion from string: parse \"https://a b/\": invalid character \" \" in host name"
    ],
    [
      "url('https://a:b/')",
      "fault: URL parse error during conversion from string: parse \"https://a:b/\": invalid port \":b\" after host"
    ],
    ["url('://x')", "fault: URL parse error during conversion from string: parse \"://x\": missing protocol scheme"],
    [
      "url('1http://x')",
      "fault: URL parse error during conversion from string: parse \"1http://x\": invalid URI for request"
    ],
    [
      "url('http://a/%zz')",
      "fault: URL parse error during conversion from string: parse \"http://a/%zz\": invalid URL escape \"%zz\""
    ],
    ["isURL('https://a.b')", "true", 1],
    ["isURL('http://a.b/c#d')", "true", 1],
    ["isURL('http://a.b:80#d')", "false", 1],
    ["isURL('http://a.b#d')", "false", 1],
    ["isURL('http://a%23b/')", "false", 1],
    ["isURL('http://a<b/')", "true", 1],
    ["url('//a.b/c#d').getHost()", "\"a.b\"", 2],
    ["isURL('../x')", "false", 1],
    ["isURL('mailto:x@y')", "true", 1],
    ["url('mailto:x@y').getScheme()", "\"mailto\"", 2],
    ["url('https://a/') == url('https://a/')", "true", 3]
  ])
})
