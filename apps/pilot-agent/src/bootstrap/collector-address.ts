import type { JsonObject } from "@bufbuild/protobuf";
import { AgentError } from "../errors.js";
import { splitAddress } from "../proxy-config/load.js";

/**
 * Parses a collector's `host:port` into Envoy's address message. `$(HOST_IP)` is replaced by the node's address.
 *
 * @param collector the collector's name, for errors
 * @throws AgentError `configuration`
 */
export function collectorAddress(address: string, collector: string, hostIp: string | undefined): JsonObject {
  const parts = splitAddress(address);
  if (!parts)
    throw new AgentError(
      "configuration",
      `proxy configuration: address of ${collector}: ${JSON.stringify(address)}: must be host:port`,
    );
  const host = parts.host === "$(HOST_IP)" && hostIp ? hostIp : parts.host;
  return { socket_address: { address: host, port_value: parts.port } };
}
