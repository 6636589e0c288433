/**
 * `OwnerLabel`: ownership where owner references do not reach, across namespaces.
 *
 * The dependent carries the owner's uid as a label (a uid is always a legal label value, a `namespace/name` is not) and
 * the owner's `namespace/name` as an annotation with the same key. So both the owner's dependents and a dependent's
 * owner are found without a request. The garbage collector does not know these labels: clean up in `finalize`.
 */
import { keyString, type KubeObject, type ObjectKey, parseKey, type PartialObjectMeta } from "./KubeObject.ts"
import { fromLabels, type LabelSelector } from "./Selector.ts"

export interface OwnerLabel {
  /** Key of the label and of the annotation, such as `test.skuber.io/autoscaler`. */
  readonly key: string
}

export const make = (key: string): OwnerLabel => ({ key })

/** Labels and annotations that make an object a dependent of `owner`. */
export const metadata = (label: OwnerLabel, owner: KubeObject) => ({
  labels: { [label.key]: owner.metadata.uid },
  annotations: { [label.key]: keyString(owner) }
})

/** Selects the dependents of `owner`. */
export const selector = (label: OwnerLabel, owner: KubeObject): LabelSelector =>
  fromLabels({ [label.key]: owner.metadata.uid })

/** The key of the owner a dependent names. */
export const ownerKey = (
  label: OwnerLabel,
  dependent: { readonly metadata: PartialObjectMeta }
): ObjectKey | undefined => {
  const text = dependent.metadata.annotations?.[label.key]
  return text === undefined || text === "" ? undefined : parseKey(text)
}
