import { virtualServices } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { features, isSubsetOfHost, meshGateway, resolveHost } from "@istiod/push-context";
import { routeDestinations } from "../analyzers/virtual-service/destinations.js";
import { gatewaysWith } from "./clients.js";
import type { CredentialReader } from "./credentials.js";

/** VirtualServices of gateways, indexed by each host as a route names it. */
const byDestination = index(virtualServices, "gatewayRoutesByHost", ({ spec }) =>
  spec.gateways.some((name) => name !== meshGateway)
    ? [...new Set(routeDestinations(spec).map(({ host }) => host))]
    : [],
);

/** The places of the gateways that route to a host, or to one that a wildcard host matches. */
export const gatewaysRoutingTo = query("gatewaysRoutingTo", (q, host: string): readonly CredentialReader[] => {
  const names = host.startsWith("*") ? q.keys(byDestination) : namesOf(q, host);
  const found = names.flatMap((name) =>
    q
      .read(byDestination, name)
      .filter(({ namespace }) => isSubsetOfHost(resolved(q, name, namespace), host))
      .flatMap(({ namespace, name: own }) => gatewaysWith(q, `${namespace}/${own}`)),
  );
  return [
    ...new Map(found.map(({ namespace, cluster }) => [`${cluster}/${namespace}`, { namespace, cluster }])).values(),
  ];
});

/** Returns the names by which routes may refer to a host: its full name, and the short name in its own namespace. */
function namesOf(q: QueryContext, host: string): readonly string[] {
  const suffix = `.svc.${features.domainSuffix(q)}`;
  const [name = "", , ...more] = host.endsWith(suffix) ? host.slice(0, -suffix.length).split(".") : ["", "", ""];
  return more.length === 0 && name !== "" ? [host, name] : [host];
}

function resolved(q: QueryContext, host: string, namespace: string): string {
  return resolveHost(host, { namespace, domain: features.domainSuffix(q) });
}
