import { ServerTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { IstioIngressListener as IngressListener } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import {
  checkIpAddress,
  checkPort,
  checkUnixSocket,
  isPort,
  splitHostPort,
} from "../../../validation/network/addresses.js";
import { checkConnectionPool } from "../../../validation/traffic/connection-pool.js";
import { checkPortName } from "../../../validation/network/names.js";
import { each, type Place } from "../../../validation/place.js";
import { checkProtocol, isHttp, isTls } from "../../../validation/network/protocol.js";
import { checkServerTls } from "../../../validation/traffic/server-tls.js";

const unix = "unix://";
const localHosts = ["", "127.0.0.1", "0.0.0.0", "::1", "::"];

/** Checks ingress listeners: one for each port. */
export function checkIngress(listeners: readonly IngressListener[], place: Place): void {
  const ports = new Set<number>();
  each(listeners, place, (listener, at) => {
    const { port } = listener;
    if (port === undefined) return;
    if (port.name !== "") checkPortName(port.name, at.at("port", "name"));
    checkProtocol(port.protocol, at.at("port", "protocol"));
    checkPort(port.number, at.at("port", "number"));
    if (port.targetPort > 0)
      at.at("port", "targetPort").error("is set, expected none on a Sidecar, where it has no effect");
    if (ports.has(port.number)) at.at("port", "number").error(`is ${port.number} a second time, expected unique ports`);
    ports.add(port.number);
    if (listener.bind !== "") checkIpAddress(listener.bind, at.at("bind"));
    if (listener.defaultEndpoint !== "") checkDefaultEndpoint(listener.defaultEndpoint, at.at("defaultEndpoint"));
    checkTls(listener, at.at("tls"));
    checkConnectionPool(listener.connectionPool, at.at("connectionPool"));
    if (listener.connectionPool?.http !== undefined && !isHttp(port.protocol))
      at.at("connectionPool", "http").warning(
        `has no effect with ${port.protocol === "" ? "no protocol" : `protocol ${port.protocol}`}`,
      );
  });
}

function checkDefaultEndpoint(endpoint: string, place: Place): void {
  if (endpoint.startsWith(unix)) {
    checkUnixSocket(endpoint.slice(unix.length), place);
    return;
  }
  const parts = splitHostPort(endpoint);
  if (
    parts === undefined ||
    !localHosts.includes(parts.host) ||
    !/^\d+$/.test(parts.port) ||
    !isPort(Number(parts.port))
  ) {
    place.error(
      `is ${JSON.stringify(endpoint)}, expected 127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT, [::]:PORT, :PORT or unix://PATH`,
    );
  }
}

function checkTls({ tls, port }: IngressListener, place: Place): void {
  if (tls === undefined) return;
  for (const field of ["subjectAltNames", "credentialName", "credentialNames", "tlsCertificates"] as const) {
    if (tls[field].length > 0) place.at(field).error("is set, expected none: it is not supported on a Sidecar");
  }
  if (tls.httpsRedirect) place.at("httpsRedirect").error("is true, expected false: it is not supported on a Sidecar");
  if (tls.mode === Mode.ISTIO_MUTUAL || tls.mode === Mode.AUTO_PASSTHROUGH)
    place.at("mode").error(`is ${Mode[tls.mode]}, expected another mode on a Sidecar`);
  if (!isTls(port?.protocol ?? ""))
    place.error(`is set for protocol ${JSON.stringify(port?.protocol ?? "")}, expected HTTPS or TLS`);
  checkServerTls(tls, place);
}
