import {
  gatewayKind,
  gatewayName,
  type GatewayObject,
  gateways,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import type { HTTPRoute } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { ServerTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import {
  explicitHosts,
  hostsForNamespace,
  hostsOverlap,
  mergeServers,
  type RejectedServer,
} from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { listNames } from "../../suggestions.js";

export const gatewayAnalyzer: Analyzer = {
  name: "mesh.GatewayAnalyzer",
  description: "Checks for servers of Gateways that conflict or have no route, and for routes that others shadow",
  codes: ["MESH0004", "MESH0012", "MESH0013", "MESH0053"],
  rules: [
    rule(gatewayKind, gateways, checkServers),
    rule(gatewayKind, gateways, checkHosts),
    rule(virtualServiceKind, virtualServices, checkRoutes),
  ],
};

const gatewaysBySelector = index(gateways, "bySelector", ({ spec }) => [selectorKey(spec.selector)]);

function selectorKey(selector: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(selector).sort());
}

/** The servers that are omitted when the Gateways of one selector are merged, oldest first. */
const rejectedServers = query("analysis.rejectedServers", (q, selector: string): readonly RejectedServer[] => {
  const merged = [...q.read(gatewaysBySelector, selector)].sort(byAge);
  return mergeServers(
    merged.map(({ namespace, name, spec }) => ({ namespace, name, servers: spec.servers, listenOn: (port) => [port] })),
  ).rejected;
});

type Aged = Pick<GatewayObject, "creationTimestamp" | "namespace" | "name">;

function byAge(a: Aged, b: Aged): number {
  return (
    a.creationTimestamp - b.creationTimestamp || (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1)
  );
}

function checkServers({ namespace, name, spec }: GatewayObject, { q, report }: AnalysisContext): void {
  for (const { gateway, index: at, reason, conflictsWith } of q.call(rejectedServers, selectorKey(spec.selector))) {
    if (gateway !== `${namespace}/${name}` || conflictsWith === undefined) continue;
    const by =
      conflictsWith.gateway === gateway
        ? `servers[${conflictsWith.index}]`
        : `servers[${conflictsWith.index}] of Gateway ${conflictsWith.gateway}`;
    report("MESH0012", ["spec", "servers", at], `the server is left out: ${reason}; it is overridden by ${by}`);
  }
}

/** Reports namespaces of hosts that do not exist, and servers without a route at a Gateway of which others have one. */
function checkHosts({ namespace, name, spec }: GatewayObject, { q, report }: AnalysisContext): void {
  for (const [i, { hosts, port, tls }] of spec.servers.entries()) {
    for (const [j, host] of hosts.entries()) {
      const owner = host.slice(0, Math.max(0, host.indexOf("/"))).replace(/^[.*]$/, "");
      const fault = owner === "" ? undefined : faultOfNamespace(q, owner);
      if (fault !== undefined) report("MESH0004", ["spec", "servers", i, "hosts", j], fault);
    }
    if (tls?.httpsRedirect === true || tls?.mode === Mode.AUTO_PASSTHROUGH) continue;
    if (!isUnrouted(q, `${namespace}/${name}`, namespace, hosts)) continue;
    const isWeb = /^(http|grpc)/i.test(port?.protocol ?? "") && tls?.mode !== Mode.PASSTHROUGH;
    const message = `no VirtualService of the Gateway routes ${listNames(hosts)}: ${isWeb ? "requests get 404" : "connections are closed"}; add the hosts to a VirtualService that names the Gateway`;
    report("MESH0053", ["spec", "servers", i, "hosts"], message);
  }
}

/** Reports whether a Gateway has VirtualServices, but none for hosts of a server. */
function isUnrouted(q: QueryContext, gateway: string, namespace: string, hosts: readonly string[]): boolean {
  const own = explicitHosts(hosts, namespace);
  const routes = ({ namespace: from, spec }: VirtualServiceObject): boolean => {
    const served = hostsForNamespace(own, from);
    return spec.hosts.some((host) => served.some((each) => hostsOverlap(each, host)));
  };
  // Most hosts have a VirtualService of their own name, so that the others of the Gateway need not be read.
  const ofSameName = own.flatMap((host) =>
    q.read(virtualServicesByHost, hostAtGateway(gateway, host.slice(host.indexOf("/") + 1))),
  );
  if (ofSameName.some(routes)) return false;
  const bound = q.read(virtualServicesByGateway, gateway);
  return bound.length > 0 && !bound.some(routes);
}

const virtualServicesByGateway = index(virtualServices, "byGateway", ({ namespace, spec }) =>
  gatewaysOf(spec.gateways, namespace),
);

const virtualServicesByHost = index(virtualServices, "byHostAtGateway", ({ namespace, spec }) =>
  gatewaysOf(spec.gateways, namespace).flatMap((gateway) => spec.hosts.map((host) => hostAtGateway(gateway, host))),
);

function gatewaysOf(gateways: readonly string[], namespace: string): readonly string[] {
  return gateways.filter((gateway) => gateway !== "mesh").map((gateway) => gatewayName(gateway, namespace));
}

/**
 * Reports catch-all routes that are never reached. A gateway merges the routes of several VirtualServices for one host,
 * oldest first, so that a catch-all route shadows all later routes.
 */
function checkRoutes({ namespace, name, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  const catchAll = spec.http.findIndex(matchesEverything);
  if (catchAll < 0) return;
  const key = `${namespace}/${name}`;
  for (const gateway of gatewaysOf(spec.gateways, namespace)) {
    for (const host of new Set(spec.hosts)) {
      const first = q.call(firstCatchAll, hostAtGateway(gateway, host));
      if (first === undefined || first === key) continue;
      report(
        "MESH0013",
        ["spec", "http", catchAll],
        `the route for every request of ${host} at Gateway ${gateway} is never reached: it is shadowed by one of VirtualService ${first}, which comes first`,
      );
    }
  }
}

/** VirtualServices with a catch-all route, by each host at each gateway that they name. */
const catchAllsByHost = index(virtualServices, "catchAllsByHostAtGateway", ({ namespace, spec }) =>
  spec.http.some(matchesEverything)
    ? gatewaysOf(spec.gateways, namespace).flatMap((gateway) => spec.hosts.map((host) => hostAtGateway(gateway, host)))
    : [],
);

const hostAtGateway = (gateway: string, host: string): string => `${gateway} ${host}`;

/**
 * The oldest VirtualService with a catch-all route for a host at a gateway, as `namespace/name`. A query of its own, so
 * that a change of one route of a host does not reanalyze the host's others.
 */
const firstCatchAll = query("analysis.firstCatchAll", (q, host: string): string | undefined => {
  const [first] = [...q.read(catchAllsByHost, host)].sort(byAge);
  return first && `${first.namespace}/${first.name}`;
});

function matchesEverything({ match }: HTTPRoute): boolean {
  return (
    match.length === 0 ||
    match.some(
      ({ uri, ...rest }) => uri?.matchType.case === "prefix" && uri.matchType.value === "/" && isOtherwiseEmpty(rest),
    )
  );
}

function isOtherwiseEmpty(match: Omit<HTTPRoute["match"][number], "uri">): boolean {
  const { scheme, method, authority, headers, withoutHeaders, queryParams, port, gateways: at } = match;
  const maps = [headers, withoutHeaders, queryParams];
  return (
    scheme === undefined &&
    method === undefined &&
    authority === undefined &&
    port === 0 &&
    at.length === 0 &&
    maps.every((map) => Object.keys(map).length === 0)
  );
}
