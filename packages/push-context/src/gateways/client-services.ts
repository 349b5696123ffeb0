import { query, type QueryContext } from "@istiod/incremental";
import { aliasedHost, keyOfId } from "@istiod/service-discovery";
import { applicableJwtRules } from "../authentication/request-authentications.js";
import { servicesOfPatches } from "../envoy-filters/applicable-patches.js";
import { features } from "../mesh/features.js";
import { mesh } from "../mesh/mesh-config.js";
import { providerAddress, type ProviderService, serviceOfProvider } from "../mesh/provider-address.js";
import { proxyType } from "../proxy/facts.js";
import { meshGateway } from "../routing/short-names.js";
import { routedHosts, virtualServicesBoundTo } from "../routing/virtual-service-index.js";
import { scopeOf } from "../visibility/scope.js";
import type { ScopedService } from "../visibility/scoped-service.js";
import { scopeServices } from "../visibility/scoped-services.js";
import { mergedGateway } from "./merged-gateway.js";

/**
 * The services for which the client receives clusters: those of its scope; for a gateway under
 * `PILOT_FILTER_GATEWAY_CLUSTER_CONFIG`, only those that its routes or policies refer to. Source:
 * pilot/pkg/model/push_context.go, GatewayServices.
 */
export const clientServices = query("clientServices", (q): readonly ScopedService[] => {
  const all = q.call(scopeServices, scopeOf(q));
  if (!features.filterGatewayClusters(q) || q.ask(proxyType) !== "router") return all;
  const referenced = new Set([
    ...(q.call(mergedGateway)?.gatewayNames ?? []).flatMap((gateway) => q.call(gatewayDestinations, gateway)),
    ...policyServices(q),
    ...servicesOfPatches(q),
  ]);
  return all.filter(({ service, hostname }) => referenced.has(hostname) || referenced.has(keyOfId(service)));
});

/** Hosts that the VirtualServices bound to a Gateway (`namespace/name`) route to, regardless of exportTo. */
const gatewayDestinations = query("gatewayDestinations", (q, gateway: string): readonly string[] => {
  if (gateway === meshGateway) return [];
  const [namespace] = gateway.split("/");
  const from = features.scopeGatewayToNamespace(q) ? { namespace } : {};
  const hosts = q
    .call(virtualServicesBoundTo, gateway)
    .flatMap((virtualService) =>
      q.call(routedHosts, { virtualService, ...from }).map(({ host }) => q.call(aliasedHost, host) ?? host),
    );
  return [...new Set(hosts)].sort();
});

/**
 * Returns the services of the mesh's extension providers (`hostname` or `namespace/hostname`) and the hosts from which
 * the proxy fetches keys.
 */
function policyServices(q: QueryContext): readonly string[] {
  const providerServices = mesh(q).extensionProviders.flatMap((provider) => {
    const reference = serviceOfProvider(provider);
    if (reference === undefined) return [];
    const address = q.call(providerAddress, reference);
    return address === undefined || address.hostname === hostOf(reference) ? [reference.service] : [address.hostname];
  });
  if (["istiod", "false"].includes(features.remoteJwks(q))) return providerServices;
  const keyServers = q
    .call(applicableJwtRules)
    .flatMap(({ jwksUri }) => (URL.canParse(jwksUri) ? [new URL(jwksUri).hostname] : []))
    .map((host) => q.call(aliasedHost, host) ?? host);
  return [...providerServices, ...keyServers];
}

function hostOf({ service }: ProviderService): string {
  return service.slice(service.indexOf("/") + 1);
}
