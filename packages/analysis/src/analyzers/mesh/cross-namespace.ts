import {
  gatewayKind,
  type GatewayObject,
  gateways,
  pods,
  serviceEntries,
  serviceEntryKind,
  type ServiceEntryObject,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import { exportScope, features, mesh, meshGateway, resolveHost, rootNamespace } from "@istiod/push-context";
import { canonicalAddress, isHttp, parseProtocol, visibilityLimit } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { servicesByAddress } from "../../queries/addresses.js";
import { isServiceOf, namespacesOfHost } from "../../queries/destination-hosts.js";
import { hasWorkload, namespacesWithWorkloads } from "../../queries/workloads.js";

/** Effects of objects on other namespaces that Istio allows. Objects of the root namespace are meant to have them. */
export const crossNamespaceAnalyzer: Analyzer = {
  name: "mesh.CrossNamespaceAnalyzer",
  description: "Finds objects that change the traffic to or through workloads of other namespaces",
  codes: ["MESH0023"],
  rules: [
    rule(virtualServiceKind, virtualServices, checkVirtualService),
    rule(serviceEntryKind, serviceEntries, checkServiceEntry),
    rule(gatewayKind, gateways, checkGateway),
  ],
};

const podAddresses = index(pods, "byCanonicalAddress", ({ status }) => (status?.podIPs ?? []).map(canonicalAddress));

function checkVirtualService({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  const isOfMesh = spec.gateways.length === 0 || spec.gateways.includes(meshGateway);
  const exportTo = spec.exportTo.length > 0 ? spec.exportTo : mesh(q).defaultVirtualServiceExportTo;
  if (!isOfMesh || namespace === rootNamespace(q) || !reachesOthers(exportTo, namespace)) return;
  for (const [i, host] of spec.hosts.entries()) {
    const hostname = resolvedHost(q, host, namespace);
    const owners = isServiceOf(q, hostname, namespace) ? [] : othersOf(q.call(namespacesOfHost, hostname), namespace);
    if (owners.length === 0) continue;
    report(
      "MESH0023",
      ["spec", "hosts", i],
      `routes the requests of sidecars of other namespaces for ${host}, a host of namespace ${owners.join(", ")}; exportTo ["."], defaultVirtualServiceExportTo, or Sidecars of the clients limit it`,
    );
  }
}

function checkServiceEntry({ cluster, namespace, spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  const exportTo = spec.exportTo.length > 0 ? spec.exportTo : mesh(q).defaultServiceExportTo;
  if (namespace === rootNamespace(q) || !reachesOthers(exportTo, namespace)) return;
  if (mesh(q).serviceEntryVisibility?.applyToSidecars === true && visibilityLimit(q, cluster, namespace) !== "public")
    return;
  const limits = 'exportTo ["."], defaultServiceExportTo, serviceEntryVisibility, or Sidecars of the clients limit it';
  for (const [i, host] of spec.hosts.entries()) {
    const owners = othersOf(q.call(namespacesOfHost, host), namespace);
    if (owners.length === 0) continue;
    const message = `declares ${host}, a host of namespace ${owners.join(", ")}, for other namespaces; ${limits}`;
    report("MESH0023", ["spec", "hosts", i], message);
  }
  const addresses = [
    ...spec.addresses.map((address, i) => ({ address, path: ["spec", "addresses", i] })),
    ...spec.endpoints.map(({ address }, i) => ({ address, path: ["spec", "endpoints", i, "address"] })),
  ];
  for (const { address, path } of addresses) {
    const owner = ownerOfAddress(q, address, namespace);
    if (owner === undefined) continue;
    report("MESH0023", path, `has the address of ${owner} for clients of other namespaces; ${limits}`);
  }
}

/** Returns the Service or Pod of another namespace with an address; undefined if there is none, or an own one. */
function ownerOfAddress(q: QueryContext, address: string, namespace: string): string | undefined {
  const key = canonicalAddress(address);
  const found = [...q.read(servicesByAddress, key), ...q.read(podAddresses, key)];
  const [first] = found;
  if (first === undefined || found.some((object) => object.namespace === namespace)) return undefined;
  return `${first.kind} ${first.namespace}/${first.name}`;
}

/** Ports of the proxy itself. Source: `istio.io/latest/docs/ops/deployment/application-requirements`. */
const proxyPorts: ReadonlySet<number> = new Set([15000, 15001, 15004, 15006, 15008, 15020, 15021, 15053, 15090]);

function checkGateway({ namespace, spec }: GatewayObject, { q, report }: AnalysisContext): void {
  if (namespace === rootNamespace(q) || features.scopeGatewayToNamespace(q)) return;
  const others = q
    .call(namespacesWithWorkloads)
    .filter((other) => other !== namespace && q.call(hasWorkload, { namespace: other, labels: spec.selector }));
  if (others.length === 0) return;
  const of = `the gateway of namespace ${others.join(", ")}`;
  const limits = "PILOT_SCOPE_GATEWAY_TO_NAMESPACE=true limits it";
  for (const [i, { port, tls }] of spec.servers.entries()) {
    if (tls?.httpsRedirect === true && isHttp(parseProtocol(port?.protocol ?? "")))
      report(
        "MESH0023",
        ["spec", "servers", i, "tls", "httpsRedirect"],
        `redirects requests at port ${port?.number ?? 0} of ${of}, which other Gateways may share; ${limits}`,
      );
    if (proxyPorts.has(port?.number ?? 0))
      report(
        "MESH0023",
        ["spec", "servers", i, "port", "number"],
        `opens port ${port?.number ?? 0} of the proxy itself at ${of}; ${limits}`,
      );
  }
}

function resolvedHost(q: QueryContext, host: string, namespace: string): string {
  return resolveHost(host, { namespace, domain: features.domainSuffix(q) });
}

function reachesOthers(exportTo: readonly string[], namespace: string): boolean {
  const { everyone, namespaces } = exportScope(exportTo, namespace);
  return everyone || namespaces.some((other) => other !== namespace);
}

/** Returns the namespaces that declare a host if the own one does not. */
function othersOf(namespaces: readonly string[], own: string): readonly string[] {
  return namespaces.includes(own) ? [] : namespaces;
}
