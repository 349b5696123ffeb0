import { CaptureMode, type IstioEgressListener as EgressListener } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import { productBounds } from "../../../mesh/product-bounds.js";
import { checkIpAddress, checkPort, checkUnixSocket } from "../../../validation/network/addresses.js";
import { checkPortName, checkSidecarHost } from "../../../validation/network/names.js";
import { each, type Place } from "../../../validation/place.js";
import { checkProtocol } from "../../../validation/network/protocol.js";

const unix = "unix://";

/** Checks egress listeners: one for each port or socket, and a last one for everything else. */
export function checkEgress(listeners: readonly EgressListener[], namespace: string, place: Place): void {
  const taken = new Set<string>();
  each(listeners, place, (listener, at, i) => {
    if (listener.port === undefined) {
      if (i < listeners.length - 1) at.error("has no port, expected only the last one to be without");
    } else {
      checkListenerPort(listener, at);
      const key = listener.port.number === 0 ? listener.bind : String(listener.port.number);
      if (taken.has(key)) at.at("port", "number").error(`is ${key} a second time, expected unique ports and sockets`);
      taken.add(key);
    }
    checkHosts(listener.hosts, namespace, at.at("hosts"));
  });
  checkImports(listeners, place);
}

/** Bounds listeners × services: each listener with a port repeats the services that its hosts import. */
function checkImports(listeners: readonly EgressListener[], place: Place): void {
  const own = listeners.filter(({ port }) => port !== undefined);
  const count = own.reduce((sum, { hosts }) => sum + hosts.filter((host) => host.endsWith("/*")).length, 0);
  const limit = place.bounds.imports;
  if (own.length > 1 && count > limit)
    place.error(
      `has ${count} wildcard hosts in ${own.length} listeners with a port, each of which imports all services of a namespace or of the mesh, expected at most ${limit} (raise ${productBounds.imports.variable})`,
    );
}

function checkListenerPort({ port, bind, captureMode }: EgressListener, place: Place): void {
  if (port === undefined) return;
  if (port.targetPort > 0)
    place.at("port", "targetPort").error("is set, expected none on a Sidecar, where it has no effect");
  if (port.name !== "") checkPortName(port.name, place.at("port", "name"));
  checkProtocol(port.protocol, place.at("port", "protocol"));
  if (port.number !== 0) {
    checkPort(port.number, place.at("port", "number"));
    if (bind !== "") checkIpAddress(bind, place.at("bind"));
    return;
  }
  if (bind.startsWith(unix)) checkUnixSocket(bind.slice(unix.length), place.at("bind"));
  else place.at("bind").error(`is ${bind === "" ? "missing" : JSON.stringify(bind)}, expected unix://PATH with port 0`);
  if (captureMode !== CaptureMode.DEFAULT && captureMode !== CaptureMode.NONE)
    place.at("captureMode").error(`is ${CaptureMode[captureMode]}, expected DEFAULT or NONE with a Unix socket`);
}

function checkHosts(hosts: readonly string[], namespace: string, place: Place): void {
  if (hosts.length === 0) place.error("is empty, expected at least one namespace/host");
  const seen = new Map<string, Set<string>>();
  each(hosts, place, (host, at) => {
    checkSidecarHost(host, at);
    const slash = host.indexOf("/");
    if (slash < 0 || host.startsWith("~")) return;
    const of = host.slice(0, slash) === "." ? namespace : host.slice(0, slash);
    const name = host.slice(slash + 1);
    const names = seen.get(of) ?? new Set();
    if (name === "*" ? names.size > 0 : names.has(name) || names.has("*"))
      at.warning(`is ${JSON.stringify(host)}, which another host in the list repeats or includes`);
    seen.set(of, names.add(name));
  });
  if (seen.get("*")?.has("*") === true && seen.size > 1) place.warning("has */*, which includes all others");
}
