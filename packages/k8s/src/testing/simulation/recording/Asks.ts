/** `Asks`: outside calls that ask how things are, and change nothing: their names begin with a word for that. */

const asking = /^(?:list|find|look|get|read|search|describe|query|fetch)/i

/** Whether an outside call of this name asks. */
export const asks = (name: string): boolean => asking.test(name)
