/**
 * Freezes a cached object when it is first read. Deeply freezing costs about what parsing costs, so that objects nobody
 * looks at are left as they came.
 */
export const freeze = <A extends object>(object: A): A => {
  // The outermost object may be frozen by somebody who did not go deeper; anything further in was frozen here.
  for (const part of Object.values(object)) {
    if (typeof part === "object" && part !== null && !Object.isFrozen(part)) freeze(part as object)
  }
  return Object.isFrozen(object) ? object : Object.freeze(object)
}
