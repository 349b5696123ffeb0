import type { EndpointSlice, Service } from "../kube/objects.js";

const SUFFIX = ".svc.cluster.local";

/** The records of a name: addresses, or the name that it is an alias of. */
export type Answer = { readonly addresses: readonly string[] } | { readonly alias: string };

/**
 * Looks up a name of the cluster by the rules of Kubernetes' DNS: cluster IPs, the addresses of headless Services and
 * of their pods by host name, and ExternalName.
 *
 * @returns `undefined` if the name does not exist
 */
export function lookUp(
  name: string,
  serviceOf: (key: string) => Service | undefined,
  slicesOf: (key: string) => readonly EndpointSlice[],
): Answer | undefined {
  if (!name.endsWith(SUFFIX)) return undefined;
  const labels = name.slice(0, -SUFFIX.length).split(".");
  const [service = "", namespace = ""] = labels.slice(-2);
  const key = `${namespace}/${service}`;
  const found = labels.length === 2 || labels.length === 3 ? serviceOf(key) : undefined;
  if (!found) return undefined;
  const { type, externalName, clusterIP } = found.spec;
  const [hostname] = labels.length === 3 ? labels : [undefined];
  if (type === "ExternalName") return hostname === undefined ? { alias: externalName ?? "" } : undefined;
  if (clusterIP !== "None") return hostname === undefined ? { addresses: clusterIP ? [clusterIP] : [] } : undefined;
  const addresses = slicesOf(key)
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter((endpoint) => endpoint.conditions?.ready !== false)
    .filter((endpoint) => hostname === undefined || endpoint.hostname === hostname)
    .flatMap((endpoint) => endpoint.addresses);
  return addresses.length > 0 || hostname === undefined ? { addresses: [...new Set(addresses)] } : undefined;
}
