import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as TlsMode,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isHttp, parseProtocol } from "@istiod/service-discovery";

/** What the kinds of servers are told apart by; source: pkg/config/gateway. */
export interface ServerTraits {
  readonly port: { readonly protocol: string };
  readonly tls?: ServerTLSSettings;
}

/** Whether TLS is handed on undecrypted, by SNI. */
export function isPassThroughServer(server: ServerTraits): boolean {
  return (
    server.tls !== undefined &&
    (server.tls.mode === TlsMode.PASSTHROUGH || server.tls.mode === TlsMode.AUTO_PASSTHROUGH)
  );
}

/** Whether requests are seen: plain HTTP, or HTTPS that is terminated here. */
export function isHttpServer(server: ServerTraits): boolean {
  const protocol = parseProtocol(server.port.protocol);
  return isHttp(protocol) || (protocol === "HTTPS" && !isPassThroughServer(server));
}

/** Whether it is HTTPS, terminated here. */
export function isHttpsServerWithTlsTermination(server: ServerTraits): boolean {
  return server.tls !== undefined && parseProtocol(server.port.protocol) === "HTTPS" && !isPassThroughServer(server);
}

/** Whether it has TLS settings that mean TLS: on a plain HTTP port they only redirect. */
export function isTlsServer(server: ServerTraits): boolean {
  return server.tls !== undefined && !isHttp(parseProtocol(server.port.protocol));
}

/** Whether bytes, not requests, are what follows TLS here. */
export function isTcpServerWithTlsTermination(server: ServerTraits): boolean {
  const protocol = parseProtocol(server.port.protocol);
  return !isPassThroughServer(server) && !isHttp(protocol) && protocol !== "HTTPS";
}
