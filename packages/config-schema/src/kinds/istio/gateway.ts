import { collection, index } from "@istiod/incremental";
import {
  GatewaySchema,
  ServerTLSSettings_TLSmode as Mode,
  type Gateway,
  type Server,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import { checkIpAddress, checkPort, checkUnixSocket } from "../../validation/network/addresses.js";
import { checkGatewayHost, isDnsLabel } from "../../validation/network/names.js";
import { checkResourceName } from "../../validation/envoy-text.js";
import { each, type Place } from "../../validation/place.js";
import { isHttp, isKnownProtocol, isTls, protocolNames } from "../../validation/network/protocol.js";
import { checkServerTls, serverTlsShape } from "../../validation/traffic/server-tls.js";
import { required, type Shape } from "../../validation/shape.js";
import { istioKind } from "./istio-kind.js";

export type GatewayObject = ConfigObject<Gateway>;

export const gateways = collection<GatewayObject>("Gateway", { filter: discoveryNamespacesFilter });

export const gatewaysByNamespace = index(gateways, "byNamespace", (v) => [v.namespace]);

const shape: Shape = {
  "servers[]": required("port", "hosts"),
  "servers[].port": required("number", "protocol", "name"),
  ...serverTlsShape("servers[].tls"),
};

const unix = "unix://";

export const gatewayKind = istioKind({
  kind: "Gateway",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: GatewaySchema,
  collection: gateways,
  shape,
  validate,
});

/** Validates a spec as Istio's `ValidateGateway` does. */
function validate({ spec, name }: GatewayObject, place: Place): void {
  if (!isDnsLabel(name))
    place.error(
      `belongs to a Gateway named ${JSON.stringify(name)}, expected a name of at most 63 letters, digits and inner hyphens`,
    );
  if (spec.servers.length === 0) place.at("servers").error("is empty, expected at least one server");
  const portNames = new Set<string>();
  each(spec.servers, place.at("servers"), (server, at) => {
    checkServer(server, at);
    if (server.port === undefined) return;
    if (portNames.has(server.port.name))
      at.at("port", "name").error(`is ${JSON.stringify(server.port.name)} a second time, expected unique names`);
    portNames.add(server.port.name);
    if (!isHttp(server.port.protocol) && server.tls?.httpsRedirect === true)
      at.at("tls", "httpsRedirect").warning("has no effect on a server without HTTP");
  });
}

function checkServer(server: Server, place: Place): void {
  if (server.hosts.length === 0) place.at("hosts").error("is empty, expected at least one host");
  each(server.hosts, place.at("hosts"), checkGatewayHost);
  checkBind(server, place);
  checkServerTls(server.tls, place.at("tls"));
  const { port, tls } = server;
  if (port === undefined) return;
  if (isHttp(port.protocol) && tls === undefined && (port.number === 443 || /^(https|tls)(-|$)/.test(port.name)))
    place
      .at("port", "protocol")
      .warning(
        `is ${port.protocol}, so that clients that send TLS to port ${port.number} fail, expected HTTPS and tls, unless TLS ends before the gateway`,
        "contradiction",
      );
  if (!isKnownProtocol(port.protocol)) {
    place.at("port", "protocol").error(`is ${JSON.stringify(port.protocol)}, expected one of ${protocolNames}`);
  } else if (isTls(port.protocol)) {
    if (tls === undefined) place.at("tls").error(`is missing, expected TLS settings for protocol ${port.protocol}`);
  } else if (tls !== undefined) {
    const redirects =
      isHttp(port.protocol) &&
      (tls.mode === Mode.PASSTHROUGH || tls.mode === Mode.AUTO_PASSTHROUGH) &&
      tls.caCertificates === "" &&
      tls.privateKey === "" &&
      tls.serverCertificate === "";
    if (!redirects)
      place
        .at("tls")
        .error(
          `is set for protocol ${port.protocol}, expected ${isHttp(port.protocol) ? "httpsRedirect only" : "none"}`,
        );
  }
}

function checkBind({ port, bind }: Server, place: Place): void {
  const socket = bind.startsWith(unix);
  if (socket) checkUnixSocket(bind.slice(unix.length), place.at("bind"));
  else if (bind !== "") checkIpAddress(bind, place.at("bind"));
  if (port === undefined) return;
  if (socket && port.number !== 0) place.at("port", "number").error(`is ${port.number}, expected 0 with a Unix socket`);
  else if (!socket) checkPort(port.number, place.at("port", "number"));
  if (port.targetPort > 0)
    place.at("port", "targetPort").error("is set, expected none on a Gateway, where it has no effect");
  checkResourceName(port.name, place.at("port", "name"));
  if (port.name === "") place.at("port", "name").error("is missing, expected a name");
}
