import { isIP } from "node:net";

/** Context for resolving short names: the object's namespace and the domain suffix of Kubernetes services. */
export interface NameScope {
  readonly namespace: string;
  readonly domain: string;
}

/** Name of the reserved gateway that stands for all sidecars in the mesh. */
export const meshGateway = "mesh";

/**
 * Returns the fully qualified name of a host: a name without a dot is a service in the object's namespace. Names with a
 * dot, `*` and IP addresses are returned unchanged (pilot/pkg/model/config.go, ResolveShortnameToFQDN).
 */
export function resolveHost(host: string, { namespace, domain }: NameScope): string {
  if (host === "" || host === "*" || isIP(host) !== 0 || host.includes(".")) {
    return host;
  }
  const qualified = namespace === "" ? host : `${host}.${namespace}`;
  return domain === "" ? qualified : `${qualified}.svc.${domain}`;
}

/**
 * Returns `namespace/name` of a gateway that a route names: `name` and `./name` are in the route's namespace, and so
 * are the legacy forms `name.namespace` and `name.namespace.svc.…` parsed; `mesh` is returned unchanged.
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
