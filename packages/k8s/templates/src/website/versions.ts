import { CustomResourceVersions } from "@effect-operator/core"
import { Webhook } from "@effect-operator/k8s"
import { Website } from "./resource.ts"
import { WebsiteV2 } from "./v2.ts"

/** From v1 to v2, and back. Data that a version cannot express is kept in an annotation and restored automatically. */
const toV2 = CustomResourceVersions.between(Website, WebsiteV2, {
  up: ({ spec, status }) => ({ spec, status }),
  down: ({ spec, status }) => ({ spec, status })
})

/** All versions, oldest first. Objects are stored in one of them, and can be read and written in each. */
export const WebsiteVersions = CustomResourceVersions.make({ steps: [toV2], storage: Website })

/** The API server calls this to convert an object to another version. */
export const conversion = Webhook.conversion(WebsiteVersions)
