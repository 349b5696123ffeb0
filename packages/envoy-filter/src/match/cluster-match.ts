import type { Patch } from "../patch.js";
import { parseClusterName } from "./cluster-name.js";

/**
 * Reports whether a patch matches a cluster.
 *
 * @param hosts the hosts of an inbound cluster, which its name does not have
 */
export function clusterMatches({ match }: Patch, name: string, hosts: readonly string[]): boolean {
  if (match?.objectTypes.case !== "cluster") return true;
  const { name: wanted, subset, service, portNumber } = match.objectTypes.value;
  if (wanted !== "") return wanted === name;
  const parsed = parseClusterName(name);
  const own = parsed.direction === "inbound" && hosts.length > 0 ? hosts : [parsed.host];
  return (
    (subset === "" || subset === parsed.subset) &&
    (service === "" || own.includes(service)) &&
    (portNumber === 0 || portNumber === parsed.port)
  );
}
