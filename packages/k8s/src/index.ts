/** Kubernetes for `@effect-operator/core`. */
export {}
