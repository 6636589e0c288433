import { ConversionProof } from "@effect-operator/k8s/testing"
import { it } from "@effect/vitest"
import { WebsiteVersions } from "../src/website/versions.ts"

it.effect(
  "a Website is converted to every other version and back unchanged",
  () => ConversionProof.prove(WebsiteVersions),
  // A thousand objects of each version.
  60_000
)
