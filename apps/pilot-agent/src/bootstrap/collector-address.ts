import type { JsonObject } from "@bufbuild/protobuf";
import { AgentError } from "../errors.js";
import { splitAddress } from "../proxy-config/load.js";

/**
 * Address of a collector in Envoy's form. `$(HOST_IP)` stands for the machine's address.
 *
 * @param what names the collector in messages
 * @throws AgentError `configuration`
 */
export function collectorAddress(address: string, what: string, hostIp: string | undefined): JsonObject {
  const parts = splitAddress(address);
  if (!parts)
    throw new AgentError(
      "configuration",
      `proxy configuration: address of ${what}: ${JSON.stringify(address)} is not of the form host:port`,
    );
  const host = parts.host === "$(HOST_IP)" && hostIp ? hostIp : parts.host;
  return { socket_address: { address: host, port_value: parts.port } };
}
