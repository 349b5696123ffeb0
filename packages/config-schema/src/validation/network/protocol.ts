import type { Place } from "../place.js";

const http = ["http", "http2", "http_proxy", "grpc", "grpc-web"];
const tls = ["https", "tls"];
const plainTcp = ["tcp", "mongo", "redis", "mysql"];
const known = new Set([...http, ...tls, ...plainTcp, "udp"]);

/** Reports whether a protocol is HTTP. Names are case-insensitive. */
export function isHttp(protocol: string): boolean {
  return http.includes(protocol.toLowerCase());
}

export function isTls(protocol: string): boolean {
  return tls.includes(protocol.toLowerCase());
}

/** Reports whether a protocol is TCP other than plain HTTP: connections are distinguished by address or SNI only. */
export function isTcp(protocol: string): boolean {
  return plainTcp.includes(protocol.toLowerCase()) || isTls(protocol);
}

export function isKnownProtocol(protocol: string): boolean {
  return known.has(protocol.toLowerCase());
}

/** Checks a protocol name. An absent protocol is detected from the traffic. */
export function checkProtocol(protocol: string, place: Place): void {
  if (protocol !== "" && !isKnownProtocol(protocol))
    place.error(`is ${JSON.stringify(protocol)}, expected one of ${protocolNames}`);
}

export const protocolNames = "HTTP, HTTP2, GRPC, GRPC-WEB, HTTP_PROXY, HTTPS, TLS, TCP, MONGO, REDIS, MYSQL, UDP";
