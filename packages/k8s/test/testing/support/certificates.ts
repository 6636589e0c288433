/** Signing requests for tests. */

/** A request with this content, as an object of the API has it. */
export const requestPem = (content: string): string =>
  Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${content}\n-----END CERTIFICATE REQUEST-----\n`).toString("base64")

/** The request of `CN=x, O=devs, O=system:masters`. */
export const masterRequest = requestPem(
  "MIHvMIGWAgEAMDQxCjAIBgNVBAMMAXgxDTALBgNVBAoMBGRldnMxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMFkwEwYHKoZI" +
    "zj0CAQYIKoZIzj0DAQcDQgAEEUDUP56zwY1M+42/qYOO6ODI7oXYYqJ8O+phOuLOuFdnbvGAYEz+OtkVkRbUsVUqx3gptSBe" +
    "BB5gmkVwPH7zNaAAMAoGCCqGSM49BAMCA0gAMEUCIQDcB390QPr+3rPUjTiN4OAR+AbqqNoXTUzkAnawY0UQOQIgWBNKSne/" +
    "/SCbUExR46G0lqGmNBCG2pn1q5pij+5Nplg="
)
