import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type ContextValues, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { Credentials } from "../identity/authenticator.js";

/** What a handler is told of the connection beneath a request. */
export type Connection = Pick<Credentials, "encrypted" | "peer" | "verifiedCertificate">;

/** Under this key a handler finds the connection; set by `connectionValues`. */
export const connectionKey = createContextKey<Connection>({ encrypted: false }, { description: "connection" });

/**
 * For `connectNodeAdapter({ contextValues })`: without it client certificates are not seen and every request counts as
 * plaintext.
 */
export function connectionValues(request: IncomingMessage | Http2ServerRequest): ContextValues {
  return createContextValues().set(connectionKey, connectionOf(request));
}

/** The connection beneath a request. The client certificate is given only if TLS has verified its chain. */
export function connectionOf(request: IncomingMessage | Http2ServerRequest): Connection {
  const socket = "stream" in request ? (request.stream.session?.socket as Socket | undefined) : request.socket;
  const peer = socket?.remoteAddress === undefined ? {} : { peer: `${socket.remoteAddress}:${socket.remotePort}` };
  // An HTTP/2 session gives a proxy of its socket, so instanceof does not see a TLSSocket.
  if (!socket || !("encrypted" in socket) || !socket.encrypted) return { encrypted: false, ...peer };
  const tls = socket as TLSSocket;
  const certificate = tls.authorized ? tls.getPeerX509Certificate()?.raw : undefined;
  return { encrypted: true, ...peer, ...(certificate ? { verifiedCertificate: certificate } : {}) };
}

/** The credentials of a call. */
export function credentialsOf(context: HandlerContext): Credentials {
  return { ...context.values.get(connectionKey), header: (name) => context.requestHeader.get(name) ?? undefined };
}
