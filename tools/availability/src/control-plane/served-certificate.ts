import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import type { Endpoint } from "@istiod/e2e";

const timeoutMs = 10_000;

/** Returns the certificate that a TLS server presents to new connections. */
export function servedCertificate({ host, port }: Endpoint): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: timeoutMs }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(new X509Certificate(raw));
    });
    socket.on("timeout", () => socket.destroy(new Error(`${host}:${port}: no TLS within ${timeoutMs} ms`)));
    socket.on("error", reject);
  });
}
