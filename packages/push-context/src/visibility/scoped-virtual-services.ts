import { query } from "@istiod/incremental";
import { meshGateway } from "../routing/short-names.js";
import { virtualServiceHeader, visibleVirtualServices } from "../routing/virtual-service-index.js";
import { isWildcard } from "../traffic-policy/host-pattern.js";
import { egressHosts, allHosts, importsVirtualService } from "./egress-hosts.js";
import { mostSpecificMatch } from "./host-names.js";
import { egressListeners, listenerKey, type ScopeListener } from "./scope.js";

/**
 * Keys of the VirtualServices that an egress listener imports, in order of precedence
 * (pilot/pkg/model/virtualservice.go, SelectVirtualServices). Gateways import all that is visible to their namespace.
 */
export const listenerVirtualServices = query(
  "listenerVirtualServices",
  (q, { scope, listener }: ScopeListener): readonly string[] => {
    const { namespace } = scope;
    const declared = q.call(egressListeners, scope)[listener];
    if (scope.gateway === true || (declared?.hosts.length === 1 && declared.hosts[0] === allHosts[0])) {
      return q.call(visibleVirtualServices, { gateway: meshGateway, namespace });
    }
    const hosts = egressHosts(declared?.hosts ?? [], namespace);
    return q.call(visibleVirtualServices, { gateway: meshGateway, namespace, owners: hosts.owners }).filter((key) => {
      const header = q.call(virtualServiceHeader, key);
      return (
        header !== undefined &&
        importsVirtualService(hosts, header.namespace, header.hosts, header.semantics === "gateway-api")
      );
    });
  },
  { key: listenerKey },
);

/** Maps the hosts of an egress listener's VirtualServices to the first VirtualService with that host. */
const virtualServiceHosts = query(
  "virtualServiceHosts",
  (q, at: ScopeListener): Readonly<Record<string, string>> => {
    const out: Record<string, string> = {};
    for (const key of q.call(listenerVirtualServices, at)) {
      for (const host of q.call(virtualServiceHeader, key)?.hosts ?? []) {
        out[host] ??= key;
      }
    }
    return out;
  },
  { key: listenerKey },
);

/** The VirtualService of an egress listener with the most specific host that matches a service's hostname, if any. */
export const mostSpecificVirtualService = query(
  "mostSpecificVirtualService",
  (q, { hostname, ...at }: ScopeListener & { readonly hostname: string }): string | undefined => {
    const byHost = q.call(virtualServiceHosts, at);
    const wildcards = q.call(wildcardHosts, at);
    const found = Object.hasOwn(byHost, hostname) ? hostname : mostSpecificMatch(hostname, wildcards);
    return found === undefined ? undefined : byHost[found];
  },
);

const wildcardHosts = query(
  "virtualServiceWildcards",
  (q, at: ScopeListener): readonly string[] => Object.keys(q.call(virtualServiceHosts, at)).filter(isWildcard),
  { key: listenerKey },
);
