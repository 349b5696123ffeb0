import { isIPv6 } from "node:net";
import { fetchAdmin } from "../envoy/admin.js";
import { AgentError } from "../errors.js";

/** Ports of this machine that may be asked: Envoy's administration, its debugging, the agent's status, health. */
const PORTS = [15000, 15004, 15020, 15021];

/**
 * Asks a port of the proxy on this machine.
 *
 * @param path a path of the administration port, or a URL of one of the ports above
 * @param address where the proxy's own ports listen: AGENT_BIND_ADDRESS, else loopback of either family
 * @throws AgentError `option` for another port or method, `envoy` where there is no answer
 */
export function requestAdmin(method: string, path: string, adminPort: number, address = "localhost"): Promise<string> {
  const verb = method.toUpperCase();
  if (verb !== "GET" && verb !== "POST")
    throw new AgentError("option", `method ${JSON.stringify(method)} is not known; expected GET or POST`);
  if (!/^https?:/.test(path))
    return fetchAdmin({ address, port: adminPort }, verb, path.startsWith("/") ? path : `/${path}`, 60_000);
  const { hostname, port, pathname, search } = new URL(path);
  const hosts = ["localhost", "127.0.0.1", "[::1]", isIPv6(address) ? `[${address}]` : address];
  if (!hosts.includes(hostname) || ![...PORTS, adminPort].includes(Number(port))) {
    throw new AgentError(
      "option",
      `${path} is not a port of the proxy on this machine; expected one of ${PORTS.join(", ")} on localhost or AGENT_BIND_ADDRESS`,
    );
  }
  return fetchAdmin(
    { address: hostname.replace(/^\[|\]$/g, ""), port: Number(port) },
    verb,
    `${pathname}${search}`,
    60_000,
  );
}
