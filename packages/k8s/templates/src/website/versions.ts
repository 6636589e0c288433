import { CustomResourceVersions } from "@effect-operator/core"
import { Webhook } from "@effect-operator/k8s"
import { Website } from "./resource.ts"
import { WebsiteV2 } from "./v2.ts"

/** From v1 to v2, and back. What one of them cannot say is kept in an annotation, and comes back by itself. */
const toV2 = CustomResourceVersions.between(Website, WebsiteV2, {
  up: ({ spec, status }) => ({ spec, status }),
  down: ({ spec, status }) => ({ spec, status })
})

/** All versions, from the oldest to the newest; objects are stored in one of them, and read and written in each. */
export const WebsiteVersions = CustomResourceVersions.make({ steps: [toV2], storage: Website })

/** What the API server asks for an object in another version than it has. */
export const conversion = Webhook.conversion(WebsiteVersions)
