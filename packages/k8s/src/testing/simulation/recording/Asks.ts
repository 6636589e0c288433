/** `Asks`: outside calls that only read. Their names begin with a verb such as `list` or `get`. */

const asking = /^(?:list|find|look|get|read|search|describe|query|fetch)/i

/** Whether an outside call of this name only reads. */
export const asks = (name: string): boolean => asking.test(name)
