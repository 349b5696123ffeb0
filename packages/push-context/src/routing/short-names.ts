import { isIP } from "node:net";

/** Where a name is written: the object's namespace, and the DNS suffix of Kubernetes services. */
export interface NameScope {
  readonly namespace: string;
  readonly domain: string;
}

/** The gateway by which a route applies to sidecars rather than to a gateway proxy. */
export const meshGateway = "mesh";

/**
 * The full name of a host as an object wrote it: a name without a dot is a service of the object's namespace. Names
 * with a dot, `*` and addresses stand for themselves (pilot/pkg/model/config.go, ResolveShortnameToFQDN).
 */
export function resolveHost(host: string, { namespace, domain }: NameScope): string {
  if (host === "" || host === "*" || isIP(host) !== 0 || host.includes(".")) {
    return host;
  }
  const qualified = namespace === "" ? host : `${host}.${namespace}`;
  return domain === "" ? qualified : `${qualified}.svc.${domain}`;
}

/**
 * `namespace/name` of a gateway that a route names: `name` and `./name` are of the route's namespace, and so the old
 * forms `name.namespace` and `name.namespace.svc.…` are read; `mesh` stands for itself.
 */
export function resolveGateway(gateway: string, namespace: string): string {
  if (gateway === meshGateway) {
    return gateway;
  }
  const slash = gateway.indexOf("/");
  if (slash >= 0) {
    return gateway.slice(0, slash) === "." ? `${namespace}${gateway.slice(1)}` : gateway;
  }
  const [name = gateway, declared] = gateway.split(".");
  return `${declared ?? namespace}/${name}`;
}
