/** What a response body is, judged by its shape: a proxy may have written it. */
import type { KubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"
import type { Bookmark } from "../WatchEvent.ts"

export const isObject = (body: unknown): body is KubeObject => {
  const metadata = (body as { readonly metadata?: unknown } | null | undefined)?.metadata
  return typeof metadata === "object" && metadata !== null
}

export const hasVersion = (body: unknown): body is Bookmark["object"] =>
  isObject(body) && typeof body.metadata.resourceVersion === "string"

/** Whether a value is an object with a name, which may be all that is known of one that a server computes. */
export const isNamed = (body: unknown): body is KubeObject => isObject(body) && typeof body.metadata.name === "string"

/** Whether a value is an object as a server stores it, with all that caches and queues need. */
export const isStored = (body: unknown): body is KubeObject => hasVersion(body) && isNamed(body)

export const noObject: Resource.Invalid = { issues: ["metadata: missing: the value is not a Kubernetes object"] }

/** Whether a value is a list: of one version, or at least one that says that it is of this kind. */
export const isList = (body: unknown, listKind: string): body is {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string }
  readonly items?: ReadonlyArray<Partial<KubeObject>> | null
} =>
  isObject(body) && (body.kind === listKind || hasVersion(body)) && "items" in body &&
  ((body as { readonly items: unknown }).items === null || Array.isArray((body as { readonly items: unknown }).items))
