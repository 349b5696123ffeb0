import { query, type QueryContext } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import { keyOfId } from "@istiod/service-discovery";
import { applicableJwtRules } from "../authorization/request-authentications.js";
import { features } from "../mesh/features.js";
import { mesh } from "../mesh/mesh-config.js";
import { proxyType } from "../proxy/facts.js";
import { meshGateway } from "../routing/short-names.js";
import { routedHosts, virtualServicesBoundTo } from "../routing/virtual-service-index.js";
import { scopeOf } from "../visibility/scope.js";
import type { ScopedService } from "../visibility/scoped-service.js";
import { scopeServices } from "../visibility/scoped-services.js";
import { mergedGateway } from "./merged-gateway.js";

/**
 * The services that the client is given clusters for: those of its scope; for a gateway under
 * `PILOT_FILTER_GATEWAY_CLUSTER_CONFIG` only those that its routes or its policies refer to. Source:
 * pilot/pkg/model/push_context.go, GatewayServices.
 */
export const clientServices = query("clientServices", (q): readonly ScopedService[] => {
  const all = q.call(scopeServices, scopeOf(q));
  if (!features.filterGatewayClusters(q) || q.ask(proxyType) !== "router") return all;
  const wanted = new Set([
    ...(q.call(mergedGateway)?.gatewayNames ?? []).flatMap((gateway) => q.call(destinationsOfGateway, gateway)),
    ...policyServices(q),
  ]);
  return all.filter(({ service, hostname }) => wanted.has(hostname) || wanted.has(keyOfId(service)));
});

/** Hosts that the VirtualServices of a Gateway (`namespace/name`) send traffic to, whoever may use these. */
const destinationsOfGateway = query("destinationsOfGateway", (q, gateway: string): readonly string[] => {
  if (gateway === meshGateway) return [];
  const [namespace] = gateway.split("/");
  const from = features.scopeGatewayToNamespace(q) ? { namespace } : {};
  const hosts = q
    .call(virtualServicesBoundTo, gateway)
    .flatMap((virtualService) => q.call(routedHosts, { virtualService, ...from }).map(({ host }) => host));
  return [...new Set(hosts)].sort();
});

/**
 * Services of the mesh's extension providers (`hostname` or `namespace/hostname`), and hosts that the proxy fetches
 * keys from.
 */
function policyServices(q: QueryContext): readonly string[] {
  const ofProviders = mesh(q).extensionProviders.flatMap((provider) => serviceOf(provider) ?? []);
  if (["istiod", "false"].includes(features.remoteJwks(q))) return ofProviders;
  const keyServers = q
    .call(applicableJwtRules)
    .flatMap(({ jwksUri }) => (URL.canParse(jwksUri) ? [new URL(jwksUri).hostname] : []));
  return [...ofProviders, ...keyServers];
}

function serviceOf({ provider }: MeshConfig_ExtensionProvider): string | undefined {
  switch (provider.case) {
    case "envoyExtAuthzHttp":
    case "envoyExtAuthzGrpc":
    case "zipkin":
    case "datadog":
    case "skywalking":
    case "opentelemetry":
    case "envoyHttpAls":
    case "envoyTcpAls":
    case "envoyOtelAls":
    case "sds":
      return provider.value.service;
    default:
      return undefined;
  }
}
