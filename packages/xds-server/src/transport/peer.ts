import type { X509Certificate } from "node:crypto";
import type { IncomingHttpHeaders, ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import { createContextKey } from "@connectrpc/connect";
import type { Peer, PeerTls } from "../source.js";

const unknownPeer: Peer = { address: "", port: 0, headers: {} };

/** Context key of the client of a call, for the handlers of additional services: `context.values.get(peerKey)`. */
export const peerKey = createContextKey<Peer>(unknownPeer, { description: "the client of the call" });

type Endpoint = Omit<Peer, "headers">;
const endpoints = new WeakMap<ServerHttp2Session, Endpoint>();

/** Returns the client of a request on an HTTP/2 session. */
export function peerOf(session: ServerHttp2Session | undefined, headers: IncomingHttpHeaders): Peer {
  const endpoint = session === undefined ? unknownPeer : endpointOf(session);
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(":")) plain[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return { ...endpoint, headers: plain };
}

function endpointOf(session: ServerHttp2Session): Endpoint {
  let endpoint = endpoints.get(session);
  if (endpoint === undefined) {
    const { socket } = session;
    endpoint = {
      address: socket.remoteAddress ?? "",
      port: socket.remotePort ?? 0,
      ...(session.encrypted === true && { tls: tlsOf(socket as TLSSocket) }),
    };
    endpoints.set(session, endpoint);
  }
  return endpoint;
}

function tlsOf(socket: TLSSocket): PeerTls {
  const certificates: Uint8Array[] = [];
  const seen = new Set<string>();
  let certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  while (certificate !== undefined && !seen.has(certificate.fingerprint256)) {
    seen.add(certificate.fingerprint256);
    certificates.push(certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  const serverName = (socket as TLSSocket & { servername?: string | false }).servername;
  return {
    certificates,
    verified: socket.authorized,
    ...(typeof serverName === "string" && { serverName }),
  };
}
