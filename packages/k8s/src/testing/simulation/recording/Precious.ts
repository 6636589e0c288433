/** `Precious`: kinds whose objects are not equivalent when they are created again. */
export const precious: ReadonlySet<string> = new Set([
  "PersistentVolumeClaim",
  "PersistentVolume",
  "Namespace",
  "CustomResourceDefinition",
  "VolumeSnapshot"
])
