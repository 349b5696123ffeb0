import { query } from "@istiod/incremental";
import { listenerKey, scopedAliases, scopedService, type ScopeListener, listenerServices } from "@istiod/push-context";
import { isHttpOrDetected, portNumbered } from "@istiod/service-discovery";

/** A port of an egress listener; 0: all ports. */
export interface EgressPort extends ScopeListener {
  readonly port: number;
}

/** Returns a key, equal for equal ports of equal listeners. */
export function egressPortKey(at: EgressPort): string {
  return `${at.port} ${listenerKey(at)}`;
}

/** A service in the virtual hosts of one port. */
export interface PortService {
  /** In lower case if ports are distinguished. */
  readonly hostname: string;
  readonly service: string;
  readonly namespace: string;
  readonly aliases: readonly string[];
  /** Ports that are HTTP or undeclared. */
  readonly httpPorts: readonly number[];
  /** True if it is an ExternalName alias of another service. */
  readonly isAlias: boolean;
}

/** The services of an egress listener with a port, in order. Of several with one host, the last. */
export const portServices = query(
  "portServices",
  (q, { port, ...at }: EgressPort): readonly PortService[] => {
    const out = new Map<string, PortService>();
    for (const scoped of q.call(listenerServices, at)) {
      const found = q.call(scopedService, scoped);
      const only = found && port !== 0 ? portNumbered(found, port) : undefined;
      if (found === undefined || (port !== 0 && only === undefined)) {
        continue;
      }
      const ports = only === undefined ? found.ports : [only];
      const hostname = port === 0 ? found.hostname : found.hostname.toLowerCase();
      out.set(hostname, {
        hostname,
        service: found.id,
        namespace: found.namespace,
        aliases: scopedAliases(q, scoped),
        httpPorts: ports.filter(({ protocol }) => isHttpOrDetected(protocol)).map(({ number }) => number),
        isAlias: found.resolution === "Alias",
      });
    }
    return [...out.values()];
  },
  { key: egressPortKey },
);

/** The services of a port by host. */
export const portServiceIndex = query(
  "portServiceIndex",
  (q, at: EgressPort): Readonly<Record<string, PortService>> =>
    Object.fromEntries(q.call(portServices, at).map((found) => [found.hostname, found])),
  { key: egressPortKey },
);
