/** `Precious`: kinds whose objects are not the same again when they were made anew. */
export const precious: ReadonlySet<string> = new Set([
  "PersistentVolumeClaim",
  "PersistentVolume",
  "Namespace",
  "CustomResourceDefinition",
  "VolumeSnapshot"
])
