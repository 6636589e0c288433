/** The in-memory API server, its simulated controllers, and the layers that put a program on it. */
export {}
