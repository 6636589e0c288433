/**
 * Loaded before an operator that `dev` runs: asks it to stop when `dev`, which holds the other end of its standard
 * input, is gone. Nothing else would, since the operator has its own process group.
 */
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"))
process.stdin.resume()
// Must not keep the process alive. A pipe can be unreferenced, but its type does not say so.
if ("unref" in process.stdin) process.stdin.unref()
