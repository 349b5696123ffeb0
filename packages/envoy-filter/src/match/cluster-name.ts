/** The parts of a cluster's name: `direction|port|subset|host`, or `direction_.port_.subset_.host`. */
export interface ClusterName {
  readonly direction: string;
  readonly port: number;
  readonly subset: string;
  readonly host: string;
}

/** Returns the parts of a cluster's name; empty and 0 if it lacks them. Source: ParseSubsetKey in model/service.go. */
export function parseClusterName(name: string): ClusterName {
  const separator = name.startsWith("outbound_") || name.startsWith("inbound_") ? "_." : "|";
  const parts = name.split(separator);
  const [direction = "", port = "", subset = "", host = ""] = parts;
  if (parts.length < 2) return { direction: "", port: 0, subset: "", host: "" };
  return {
    direction,
    port: parts.length > 2 ? parsePort(port) : 0,
    subset: parts.length > 3 ? subset : "",
    host: parts.length === 4 ? host : "",
  };
}

/** Returns a decimal number as Go's Atoi does; 0 if it is none. */
export function parsePort(text: string): number {
  return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : 0;
}
