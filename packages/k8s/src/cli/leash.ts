/**
 * Loaded before an operator that `dev` runs: asks it to stop when `dev` is gone, which holds the other end of its standard
 * input. Nobody else would: it is in a process group of its own.
 */
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"))
process.stdin.resume()
// It keeps nobody alive. A pipe can be unreferenced; the type knows that of sockets alone.
if ("unref" in process.stdin) process.stdin.unref()
