import { constants } from "node:crypto";
import type { SecureServerOptions } from "node:http2";
import { DEFAULT_CIPHERS } from "node:tls";
import type { TlsOptions } from "../api.js";

/**
 * Options of TLS sessions. Sessions are not resumed: a resumed session lacks the client's certificate chain and is not
 * verified against the current roots. A client that prefers ChaCha20, as one without AES instructions does, gets it.
 */
const sessionOptions = constants.SSL_OP_NO_TICKET | constants.SSL_OP_PRIORITIZE_CHACHA;

/** The first choices of TLS 1.3 and 1.2, as in BoringSSL and Go: AES-128 is faster than AES-256, ECDSA than RSA. */
const preferredSuites = ["TLS_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"];

/** Returns the options of an HTTP/2 server that requests client certificates. */
export function secureServerOptions(tls: TlsOptions): SecureServerOptions {
  return { ...contextOptions(tls), requestCert: true, rejectUnauthorized: false, ALPNProtocols: ["h2"] };
}

/** Returns the options of a secure context, for a new server and for `setSecureContext`. */
export function contextOptions(options: TlsOptions): SecureServerOptions {
  const { cert, key, fallback, clientCa, minVersion, maxVersion, ciphers, curves } = options;
  return {
    cert: fallback === undefined ? cert : [cert, fallback.cert],
    key: fallback === undefined ? key : [key, fallback.key],
    minVersion: minVersion ?? "TLSv1.2",
    secureOptions: sessionOptions,
    ciphers: ciphers ?? preferred(DEFAULT_CIPHERS),
    ...(clientCa !== undefined && { ca: clientCa }),
    ...(maxVersion !== undefined && { maxVersion }),
    ...(curves !== undefined && { ecdhCurve: curves }),
  };
}

/** Moves the preferred suites of an OpenSSL cipher list to its front. */
function preferred(ciphers: string): string {
  const suites = ciphers.split(":");
  const first = preferredSuites.filter((suite) => suites.includes(suite));
  return [...first, ...suites.filter((suite) => !first.includes(suite))].join(":");
}
