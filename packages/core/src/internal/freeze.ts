/**
 * Freezes a cached object when it is first read. Freezing deeply costs about as much as parsing, so objects that nobody
 * reads are left as they are.
 */
export const freeze = <A extends object>(object: A): A => {
  // The outermost object may have been frozen elsewhere, but not deeply; any inner part was frozen here.
  for (const part of Object.values(object)) {
    if (typeof part === "object" && part !== null && !Object.isFrozen(part)) freeze(part as object)
  }
  return Object.isFrozen(object) ? object : Object.freeze(object)
}
