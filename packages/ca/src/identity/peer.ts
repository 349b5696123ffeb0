import type { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Credentials } from "./authenticator.js";

/** The client of a request, as the server sees it. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** Headers or gRPC metadata by their lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Absent on plaintext connections. */
  readonly tls?: {
    /** Reports whether TLS has verified the client certificate against the server's roots. */
    readonly verified: boolean;
    /** DER, leaf first; empty if the client has sent none. */
    readonly certificates: readonly Uint8Array[];
  };
}

/** Returns the credentials that a peer presents. Excludes client certificates that TLS has not verified. */
export function credentialsOf({ address, port, headers, tls }: Peer): Credentials {
  const hasCertificate = tls !== undefined && tls.certificates.length > 0;
  return {
    encrypted: tls !== undefined,
    header: (name) => [headers[name]].flat()[0],
    ...(address !== "" && { address, peer: `${address}:${port}` }),
    ...(hasCertificate && (tls.verified ? { verifiedChain: tls.certificates } : { hasUnverifiedCertificate: true })),
  };
}

/** Returns the client of a request to a server of Node. */
export function peerOf(request: IncomingMessage | Pick<Http2ServerRequest, "stream" | "headers">): Peer {
  const socket = "stream" in request ? (request.stream.session?.socket as Socket | undefined) : request.socket;
  const peer = { address: socket?.remoteAddress ?? "", port: socket?.remotePort ?? 0, headers: request.headers };
  // The socket of an HTTP/2 session is a proxy, not an instance of TLSSocket.
  if (!socket || !("encrypted" in socket) || !socket.encrypted) return peer;
  const tls = socket as TLSSocket;
  return { ...peer, tls: { verified: tls.authorized, certificates: presentedChain(tls) } };
}

/** Returns the certificates of a TLS client in DER, leaf first. */
function presentedChain(tls: TLSSocket): Uint8Array[] {
  const chain = new Map<string, Uint8Array>();
  let certificate: X509Certificate | undefined = tls.getPeerX509Certificate();
  while (certificate !== undefined && !chain.has(certificate.fingerprint256)) {
    chain.set(certificate.fingerprint256, certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  return [...chain.values()];
}
