import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as TlsMode,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { isHttp, parseProtocol } from "@istiod/service-discovery";

/** Fields that determine the kind of a server; source: pkg/config/gateway. */
export interface ServerTraits {
  readonly port: { readonly protocol: string };
  readonly tls?: ServerTLSSettings;
}

/** Reports whether TLS is forwarded by SNI without termination. */
export function isPassThroughServer(server: ServerTraits): boolean {
  return (
    server.tls !== undefined &&
    (server.tls.mode === TlsMode.PASSTHROUGH || server.tls.mode === TlsMode.AUTO_PASSTHROUGH)
  );
}

/** Reports whether the server handles HTTP: plain HTTP, or HTTPS that is terminated. */
export function isHttpServer(server: ServerTraits): boolean {
  const protocol = parseProtocol(server.port.protocol);
  return isHttp(protocol) || (protocol === "HTTPS" && !isPassThroughServer(server));
}

/** Reports whether the server is HTTPS and terminates TLS. */
export function isHttpsServerWithTlsTermination(server: ServerTraits): boolean {
  return server.tls !== undefined && parseProtocol(server.port.protocol) === "HTTPS" && !isPassThroughServer(server);
}

/** Reports whether the server has TLS settings and is not a plain HTTP port, where they only redirect. */
export function isTlsServer(server: ServerTraits): boolean {
  return server.tls !== undefined && !isHttp(parseProtocol(server.port.protocol));
}

/** Reports whether the server is neither HTTP nor passthrough: plain TCP, or TLS terminated to TCP. */
export function isTcpServerWithTlsTermination(server: ServerTraits): boolean {
  const protocol = parseProtocol(server.port.protocol);
  return !isPassThroughServer(server) && !isHttp(protocol) && protocol !== "HTTPS";
}
