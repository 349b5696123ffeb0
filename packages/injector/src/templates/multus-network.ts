import { asObject } from "../go-types/json.js";

/**
 * Adds a network to the value of the annotation `k8s.v1.cni.cncf.io/networks`, which is a list of names or of JSON
 * objects. A value that is neither stays as it is.
 */
export function appendMultusNetwork(existing: string, network: string): string {
  if (existing === "") return network;
  const end = existing.lastIndexOf("]");
  if (end >= 0) return appendJson(existing, end, network);
  const names = existing.split(",").map((name) => name.trim());
  return names.includes(network) ? existing : `${existing}, ${network}`;
}

function appendJson(existing: string, end: number, network: string): string {
  const networks = parseNetworks(existing);
  if (networks === undefined) return existing;
  const slash = network.indexOf("/");
  const namespace = slash < 0 ? "" : network.slice(0, slash);
  const name = network.slice(slash + 1);
  const isListed = networks.some((item) => {
    const object = asObject(item);
    return object?.["name"] === name && (object["namespace"] ?? "") === namespace;
  });
  if (isListed) return existing;
  const added = `{"name": "${name}"${namespace === "" ? "" : `, "namespace": "${namespace}"`}}`;
  return `${existing.slice(0, end)}, ${added}${existing.slice(end)}`;
}

function parseNetworks(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(asObject) ? (value as readonly unknown[]) : undefined;
  } catch {
    return undefined;
  }
}
