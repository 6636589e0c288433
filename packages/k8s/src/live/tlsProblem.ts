/**
 * `tlsProblem`: explains a TLS failure, and whose fault it is, in the terms of a kubeconfig. Node and OpenSSL only name
 * their own functions and flags.
 */

/** What is wrong, without the code; undefined if it is not about TLS, or if the message is clear enough. */
export const tlsProblem = (cause: NodeJS.ErrnoException): string | undefined => {
  const { code = "", message } = cause
  if (untrusted.has(code)) {
    return "the server's certificate is not signed by the expected CA: check certificate-authority"
  }
  if (code === "CERT_HAS_EXPIRED") return "the server's certificate has expired, according to this machine's clock"
  if (code === "CERT_NOT_YET_VALID") {
    return "the server's certificate is not yet valid, according to this machine's clock"
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const { cert, host } = cause as { readonly cert?: { readonly subjectaltname?: string }; readonly host?: string }
    return `the server's certificate is for ${cert?.subjectaltname ?? "no name"}, not for ${host ?? "this name"}: ` +
      "see tls-server-name"
  }
  if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH") return "the client's certificate does not match its key"
  // ID:error:NUMBER:library:function:reason:file:line:data
  const reason = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/.exec(message)?.[1]
  if (reason === undefined) return undefined
  if (reason === "wrong version number") return "the server does not speak TLS: should its address begin with http://?"
  const alert = /alert (.+)$/.exec(reason)?.[1]
  if (alert === undefined) return `TLS failed: ${reason}`
  return alert === "certificate required"
    ? "the server requires a client certificate, and none is configured"
    : /certificate|unknown ca/.test(alert)
    ? `the server refuses the client's certificate: ${alert}`
    : `the server ended the TLS handshake: ${alert}`
}

const untrusted: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
])
