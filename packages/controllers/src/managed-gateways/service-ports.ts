import type { GatewayPort } from "@istiod/injector";
import type { Listener } from "./observed-gateway.js";

const maxLength = 63;

export interface PortOptions {
  /** HTTPS ports are also opened for UDP (`PILOT_ENABLE_QUIC_LISTENERS`). */
  readonly hasQuic: boolean;
}

/** Returns the ports of a Gateway's Service: that of the health checks, and one for each port of its listeners. */
export function servicePorts(listeners: readonly Listener[], { hasQuic }: PortOptions): readonly GatewayPort[] {
  const ports: GatewayPort[] = [{ name: "status-port", port: 15021, protocol: "TCP", appProtocol: "tcp" }];
  const names = new Set(["status-port"]);
  const numbers = new Set<number>();
  for (const [at, listener] of listeners.entries()) {
    const port = portOf(listener);
    if (port === undefined || numbers.has(port)) continue;
    numbers.add(port);
    const appProtocol = (listener.protocol ?? "").toLowerCase();
    // Names of listeners may have dots, and may be longer.
    const wanted = (listener.name ?? "").replaceAll(".", "-").slice(0, maxLength) || `${appProtocol}-${at}`;
    const name = uniqueName(wanted, port, names);
    ports.push({ name, port, protocol: "TCP", appProtocol });
    if (hasQuic && appProtocol === "https")
      ports.push({ name: uniqueName(`${name}-quic`, port, names), port, protocol: "UDP", appProtocol });
  }
  return ports;
}

/** Returns the port of a listener. Those of ListenerSets need none for HTTP and HTTPS. */
function portOf({ port = 0, protocol }: Listener): number | undefined {
  if (port !== 0) return port;
  return protocol === "HTTP" ? 80 : protocol === "HTTPS" ? 443 : undefined;
}

/**
 * Returns a name that no other port has, and adds it to the names: several names of listeners can become equal, and a
 * Service whose ports share a name is invalid as a whole.
 */
function uniqueName(wanted: string, port: number, names: Set<string>): string {
  let name = wanted.slice(0, maxLength);
  for (let suffix = `-${port}`; names.has(name); suffix += "x")
    name = wanted.slice(0, maxLength - suffix.length) + suffix;
  names.add(name);
  return name;
}
