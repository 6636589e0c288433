import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("addresses and networks", () => {
  table([
    ["type(ip('1.2.3.4'))", "type(net.IP)", 2],
    ["ip('1.2.3.4')", "net.IP(1.2.3.4)", 1],
    [
      "ip('1.2.3')",
      "fault: IP Address \"1.2.3\" parse error during conversion from string: ParseAddr(\"1.2.3\"): IPv4 address too short"
    ],
    [
      "ip('1.2.3.4.5')",
      "fault: IP Address \"1.2.3.4.5\" parse error during conversion from string: ParseAddr(\"1.2.3.4.5\"): IPv4 address too long"
    ],
    [
      "ip('1.2.3.256')",
      "fault: IP Address \"1.2.3.256\" parse error during conversion from string: ParseAddr(\"1.2.3.256\"): IPv4 field has value >255"
    ],
    [
      "ip('01.2.3.4')",
      "fault: IP Address \"01.2.3.4\" parse error during conversion from string: ParseAddr(\"01.2.3.4\"): IPv4 field has octet with leading zero"
    ],
    [
      "ip('1..3.4')",
      "fault: IP Address \"1..3.4\" parse error during conversion from string: ParseAddr(\"1..3.4\"): IPv4 field must have at least one digit (at \".3.4\")"
    ],
    [
      "ip('a.b.c.d')",
      "fault: IP Address \"a.b.c.d\" parse error during conversion from string: ParseAddr(\"a.b.c.d\"): unexpected character (at \"a.b.c.d\")"
    ],
    [
      "ip('abc')",
      "fault: IP Address \"abc\" parse error during conversion from string: ParseAddr(\"abc\"): unable to parse IP"
    ],
    ["ip('')", "fault: IP Address \"\" parse error during conversion from string: ParseAddr(\"\"): unable to parse IP"],
    ["ip('::1').family()", "6", 2],
    ["ip('1.1.1.1').family()", "4", 2],
    ["string(ip('2001:DB8:0:0:0:0:0:1'))", "\"2001:db8::1\"", 3],
    ["string(ip('1:0:0:2:0:0:0:3'))", "\"1:0:0:2::3\"", 3],
    ["string(ip('1:2:0:4:5:6:7:8'))", "\"1:2:0:4:5:6:7:8\"", 3],
    ["ip('::ffff:1.2.3.4')", "fault: IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed"],
    ["ip('fe80::1%eth0')", "fault: IP address \"fe80::1%eth0\" with zone value is not allowed"],
    [
      "ip('1::2::3')",
      "fault: IP Address \"1::2::3\" parse error during conversion from string: ParseAddr(\"1::2::3\"): multiple :: in address (at \":3\")"
    ],
    [
      "ip('1:2:3:4:5:6:7:8:9')",
      "fault: IP Address \"1:2:3:4:5:6:7:8:9\" parse error during conversion from string: ParseAddr(\"1:2:3:4:5:6:7:8:9\"): trailing garbage after address (at \"9\")"
    ],
    [
      "ip('1:2:3')",
      "fault: IP Address \"1:2:3\" parse error during conversion from string: ParseAddr(\"1:2:3\"): address string too short"
    ],
    [
      "ip('12345::')",
      "fault: IP Address \"12345::\" parse error during conversion from string: ParseAddr(\"12345::\"): each group must have 4 or less digits (at \"12345::\")"
    ],
    [
      "ip('g::')",
      "fault: IP Address \"g::\" parse error during conversion from string: ParseAddr(\"g::\"): each colon-separated field must have at least one digit (at \"g::\")"
    ],
    [
      "ip('1:2:3:4:5:6:7:8::')",
      "fault: IP Address \"1:2:3:4:5:6:7:8::\" parse error during conversion from string: ParseAddr(\"1:2:3:4:5:6:7:8::\"): the :: must expand to at least one field of zeros"
    ],
    [
      "ip('1:')",
      "fault: IP Address \"1:\" parse error during conversion from string: ParseAddr(\"1:\"): colon must be followed by more characters (at \":\")"
    ],
    [
      "ip(':1')",
      "fault: IP Address \":1\" parse error during conversion from string: ParseAddr(\":1\"): each colon-separated field must have at least one digit (at \":1\")"
    ],
    ["ip('::1.2.3.4') == ip('::102:304')", "true", 3],
    ["ip.isCanonical('2001:db8::1')", "true", 3],
    ["ip.isCanonical('2001:DB8::1')", "false", 3],
    [
      "ip.isCanonical('x')",
      "fault: IP Address \"x\" parse error during conversion from string: ParseAddr(\"x\"): unable to parse IP"
    ],
    ["isIP('1.2.3.4')", "true", 1],
    ["isIP('::ffff:1.2.3.4')", "false", 2],
    ["isIP('1.2.3.4/8')", "false", 1],
    ["ip('0.0.0.0').isUnspecified()", "true", 2],
    ["ip('127.0.0.1').isLoopback()", "true", 2],
    ["ip('224.0.0.1').isLinkLocalMulticast()", "true", 2],
    ["ip('169.254.1.1').isLinkLocalUnicast()", "true", 3],
    ["ip('ff02::1').isLinkLocalMulticast()", "true", 2],
    ["ip('fe80::1').isLinkLocalUnicast()", "true", 2],
    ["ip('255.255.255.255').isGlobalUnicast()", "false", 3],
    ["ip('8.8.8.8').isGlobalUnicast()", "true", 2],
    ["ip('ff00::1').isGlobalUnicast()", "false", 2],
    ["cidr('192.168.0.0/24').containsIP('192.168.0.1')", "true", 5],
    ["cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))", "false", 5],
    ["cidr('192.168.0.0/24').containsIP('x')", "fault: no such overload"],
    ["cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", "true", 7],
    ["cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))", "false", 7],
    ["cidr('192.168.0.0/24').containsCIDR('::/0')", "false", 6],
    ["string(cidr('192.168.0.1/24').ip())", "\"192.168.0.1\"", 4],
    ["string(cidr('192.168.0.1/24').masked())", "\"192.168.0.0/24\"", 4],
    ["cidr('192.168.0.1/24').prefixLength()", "24", 3],
    ["string(cidr('192.168.0.1/24'))", "\"192.168.0.1/24\"", 3],
    [
      "cidr('192.168.0.1')",
      "fault: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"192.168.0.1\"): no '/'"
    ],
    [
      "cidr('192.168.0.1/33')",
      "fault: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"192.168.0.1/33\"): prefix length out of range"
    ],
    [
      "cidr('192.168.0.1/x')",
      "fault: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"192.168.0.1/x\"): bad bits after slash: \"x\""
    ],
    [
      "cidr('192.168.0.1/01')",
      "fault: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"192.168.0.1/01\"): bad bits after slash: \"01\""
    ],
    [
      "cidr('x/8')",
      "fault: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"x/8\"): ParseAddr(\"x\"): unable to parse IP"
    ],
    [
      "cidr('::ffff:1.2.3.4/24')",
      "fault: network address parse error during conversion from string: IPv4-mapped IPv6 address \"::ffff:1.2.3.4/24\" is not allowed"
    ],
    ["isCIDR('10.0.0.0/8')", "true", 1],
    ["isCIDR('10.0.0.0/33')", "false", 2],
    ["cidr('10.0.0.0/8') == cidr('10.0.0.0/8')", "true", 3]
  ])
})
