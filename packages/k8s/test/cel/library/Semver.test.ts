import { describe } from "@effect/vitest"
import { table } from "../../testing/support/cel.ts"

describe("versions", () => {
  table([
    ["type(semver('1.2.3'))", "type(kubernetes.Semver)", 2],
    ["semver('1.2.3').major()", "1", 2],
    ["semver('1.2')", "fault: No Major.Minor.Patch elements found"],
    ["semver('v1.0')", "fault: No Major.Minor.Patch elements found"],
    ["semver('v1.0', true).minor()", "0", 2],
    ["semver('01.2.3')", "fault: Major number must not contain leading zeroes \"01\""],
    ["semver('01.2.3', true).major()", "1", 2],
    ["semver('1.2.x')", "fault: Invalid character(s) found in patch number \"x\""],
    ["semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "true", 3],
    ["semver('1.2.3-rc.2').compareTo(semver('1.2.3-rc.10'))", "-1", 4],
    ["semver('1.2.3-alpha').compareTo(semver('1.2.3-1'))", "1", 4],
    ["semver('1.2.3+a').compareTo(semver('1.2.3+b'))", "0", 3],
    ["semver('1.2.3+a') == semver('1.2.3+b')", "true", 3],
    ["semver('1.2.3-')", "fault: Prerelease is empty"],
    ["semver('1.2.3-01')", "fault: Numeric PreRelease version must not contain leading zeroes \"01\""],
    ["semver('1.2.3-a_b')", "fault: Invalid character(s) found in prerelease \"a_b\""],
    ["semver('1.2.3+')", "fault: Build meta data is empty"],
    ["semver('')", "fault: Version string empty"],
    ["semver('1-x', true)", "fault: short version cannot contain PreRelease/Build meta data"],
    ["isSemver('1.2.3')", "true", 1],
    ["isSemver('1.2')", "false", 1],
    ["isSemver('v1', true)", "true", 1]
  ])
})
