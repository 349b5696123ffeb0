import {
  grpcRouteKind,
  grpcRoutes,
  httpRouteKind,
  httpRoutes,
  type HttpRouteObject,
  type KubernetesGatewayObject,
  kubernetesGatewayKind,
  kubernetesGateways,
  namespaces,
  type ReferenceGrantObject,
  referenceGrantKind,
  referenceGrants,
  tcpRouteKind,
  tcpRoutes,
  tlsRouteKind,
  tlsRoutes,
  servicesByNamespace,
} from "@istiod/config-schema";
import { overriddenRules, routeListeners } from "@istiod/gateway-api";
import type { QueryContext } from "@istiod/incremental";
import { isHttp, kubernetesPortProtocol, type Protocol } from "@istiod/service-discovery";
import { nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";
import { listNames, quotedNearest } from "../../suggestions.js";
import { matchesSelector } from "../webhooks/selector.js";

/** Checks what the statuses of the Gateway API do not show. */
export const gatewayApiMistakeAnalyzer: Analyzer = {
  name: "k8sgateway.MistakeAnalyzer",
  description: "Checks that rules of routes, listeners and grants of the Gateway API have an effect",
  codes: ["IST0125", "MESH0004", "MESH0043", "MESH0047", "MESH0065"],
  rules: [
    rule(httpRouteKind, httpRoutes, (route, context) => {
      checkRules(route.spec.rules, context);
      checkHeaders(route, context);
      checkRedirects(route, context);
      checkOtherRoutes(route, "HTTPRoute", context);
      checkMeshParents(route, "HTTPRoute", context);
    }),
    rule(grpcRouteKind, grpcRoutes, (route, context) => {
      checkRules(route.spec.rules, context);
      checkOtherRoutes(route, "GRPCRoute", context);
      checkMeshParents(route, "GRPCRoute", context);
    }),
    rule(tcpRouteKind, tcpRoutes, (route, context) => checkMeshParents(route, "TCPRoute", context)),
    rule(tlsRouteKind, tlsRoutes, (route, context) => checkMeshParents(route, "TLSRoute", context)),
    rule(kubernetesGatewayKind, kubernetesGateways, (gateway, context) => {
      checkServiceType(gateway, context);
      checkListeners(gateway, context);
    }),
    rule(referenceGrantKind, referenceGrants, checkGrant),
  ],
};

interface Rule {
  readonly matches: readonly unknown[];
  readonly backendRefs: readonly { readonly weight: number }[];
}

/** Reports rules that an earlier one takes everything from, and rules that send nothing to their backends. */
function checkRules(rules: readonly Rule[], { report }: AnalysisContext): void {
  const first = new Map<string, number>();
  for (const [i, { matches, backendRefs }] of rules.entries()) {
    const path = ["spec", "rules", i];
    const texts = matches.map((match) => JSON.stringify(match));
    const before = texts.map((text) => first.get(text));
    if (texts.length > 0 && before.every((at) => at !== undefined))
      report("MESH0065", path, `is never reached: rules[${before[0]}] has the same matches and comes first`);
    for (const text of texts) if (!first.has(text)) first.set(text, i);
    if (backendRefs.length > 0 && backendRefs.every(({ weight }) => weight === 0))
      report("MESH0065", [...path, "backendRefs"], "have weight 0, so that every request gets status 500");
  }
}

/** Reports rules that another route takes everything from, at all gateways and hosts. */
function checkOtherRoutes(
  { namespace, name }: Pick<HttpRouteObject, "namespace" | "name">,
  kind: "HTTPRoute" | "GRPCRoute",
  { q, report }: AnalysisContext,
): void {
  for (const { rule: i, by } of q.call(overriddenRules, { kind, key: `${namespace}/${name}` })) {
    const names = listNames(by.map(({ key }) => key));
    const others =
      by.length === 1
        ? `${kind} ${names}, which is older or first by its name, has`
        : `${kind}s ${names}, which are older or first by their names, have`;
    report(
      "MESH0065",
      ["spec", "rules", i],
      `is never reached: ${others} the same matches for the same hosts; merge the rules, with weights for their backends`,
    );
  }
}

/** The ports to which redirects to a scheme lead: they do not keep that of the request. */
const portsOfSchemes: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** Reports redirects to the scheme and port of a listener that the route is attached to, which redirects again. */
function checkRedirects({ namespace, name, spec }: HttpRouteObject, { q, report }: AnalysisContext): void {
  for (const [i, { filters, matches }] of spec.rules.entries())
    for (const [j, filter] of filters.entries()) {
      if (filter.type !== "RequestRedirect") continue;
      const { scheme, hostname, path, port } = filter.requestRedirect;
      if (scheme === undefined || hostname !== undefined || path !== undefined || port !== undefined) continue;
      if (matches.every(({ headers }) => headers.length > 0)) continue;
      const same = q
        .call(routeListeners, { kind: "HTTPRoute", key: `${namespace}/${name}` })
        .find((listener) => listener.protocol === scheme.toUpperCase() && listener.port === portsOfSchemes[scheme]);
      if (same === undefined) continue;
      const message = `requests to listener ${same.sectionName} are redirected to the ${scheme} that they have already, without an end; attach the route to a listener of the other scheme by sectionName`;
      report("MESH0043", ["spec", "rules", i, "filters", j, "requestRedirect", "scheme"], message, "Error");
    }
}

function checkHeaders({ spec }: HttpRouteObject, { report }: AnalysisContext): void {
  for (const [i, { matches }] of spec.rules.entries())
    for (const [j, { headers }] of matches.entries()) {
      const seen = new Set<string>();
      for (const [k, { name }] of headers.entries()) {
        const lower = name.toLowerCase();
        if (seen.has(lower))
          report(
            "MESH0065",
            ["spec", "rules", i, "matches", j, "headers", k],
            `has no effect: only the first match of header ${JSON.stringify(name)} counts, whose case does not matter; write one regular expression`,
          );
        seen.add(lower);
      }
    }
}

type RouteKind = "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute";

interface MeshRoute {
  readonly namespace: string;
  readonly spec: Pick<HttpRouteObject["spec"], "parentRefs">;
}

/** Reports parents in the mesh at whose ports proxies apply routes of another protocol. */
function checkMeshParents({ namespace, spec }: MeshRoute, kind: RouteKind, { q, report }: AnalysisContext): void {
  for (const [i, { group, kind: parent, namespace: other, name, port }] of spec.parentRefs.entries()) {
    if (group !== "" || parent !== "Service") continue;
    const ports = q
      .read(servicesByNamespace, other ?? namespace)
      .filter((service) => service.name === name)
      .flatMap((service) => service.spec.ports.filter((each) => port === undefined || each.port === port));
    const protocols = ports.map((each) => kubernetesPortProtocol(each));
    if (protocols.length === 0 || protocols.some((each) => applies(kind, each))) continue;
    const fitting = kind === "TCPRoute" || kind === "TLSRoute" ? "; write an HTTPRoute, or correct" : "; correct";
    report(
      "MESH0065",
      ["spec", "parentRefs", i],
      `parent Service ${name}: has no effect, because sidecars treat its ${port === undefined ? "ports" : `port ${port}`} as ${[...new Set(protocols)].join(" and ")}${fitting} the name or appProtocol of the port`,
    );
  }
}

/** Reports whether sidecars apply routes of a kind at a port of a protocol. */
function applies(kind: RouteKind, protocol: Protocol): boolean {
  if (protocol === "UnsupportedProtocol") return true;
  return kind === "TCPRoute" || kind === "TLSRoute" ? !isHttp(protocol) : isHttp(protocol);
}

const serviceTypeAnnotation = "networking.istio.io/service-type";
const serviceTypes = ["ClusterIP", "LoadBalancer", "NodePort"];

function checkServiceType({ annotations }: KubernetesGatewayObject, { report }: AnalysisContext): void {
  const type = annotations[serviceTypeAnnotation];
  if (type === undefined || serviceTypes.includes(type)) return;
  report(
    "IST0125",
    ["metadata", "annotations", serviceTypeAnnotation],
    `annotation ${serviceTypeAnnotation} is invalid: it is ${JSON.stringify(type)}, expected ${serviceTypes.join(", ")}, so that the API server rejects the Service of the Gateway`,
  );
}

function checkListeners({ spec }: KubernetesGatewayObject, { q, report }: AnalysisContext): void {
  for (const [i, { name, port, protocol, tls, allowedRoutes }] of spec.listeners.entries()) {
    const path = ["spec", "listeners", i];
    if (protocol === "HTTPS" && tls === undefined)
      report(
        "MESH0065",
        path,
        `listener ${name}: has protocol HTTPS and no tls, so that no connection succeeds; add tls.certificateRefs`,
        "Error",
      );
    if (protocol === "HTTP" && port === 443)
      report(
        "MESH0047",
        [...path, "protocol"],
        `listener ${name}: is HTTP, so that clients that send TLS to port 443 fail; write HTTPS with tls`,
      );
    const { from, selector } = allowedRoutes?.namespaces ?? {};
    if (from !== "Selector") continue;
    const at = [...path, "allowedRoutes", "namespaces"];
    if (selector === undefined)
      report(
        "MESH0065",
        at,
        `listener ${name}: allows routes of no namespace: from is Selector, and selector is missing`,
      );
    else if (isEmptySelection(q, selector))
      report(
        "MESH0065",
        [...at, "selector"],
        `listener ${name}: allows routes of no namespace: no Namespace has the labels`,
      );
  }
}

function isEmptySelection(q: QueryContext, selector: Parameters<typeof matchesSelector>[0]): boolean {
  const all = q.all(namespaces);
  return (
    all.length > 0 &&
    !all.some(({ name, labels }) => matchesSelector(selector, { "kubernetes.io/metadata.name": name, ...labels }))
  );
}

const gatewayApi = "gateway.networking.k8s.io";
/** Kinds that refer to objects of other namespaces, with their groups. */
const granted: Readonly<Record<string, string>> = Object.fromEntries(
  ["Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"].map((kind) => [
    kind,
    gatewayApi,
  ]),
);

function checkGrant({ spec }: ReferenceGrantObject, { q, report }: AnalysisContext): void {
  for (const [i, { group, kind, namespace }] of spec.from.entries()) {
    const at = ["spec", "from", i];
    const expected = granted[kind];
    if (expected !== undefined && group !== expected)
      report("MESH0065", [...at, "group"], `is ${JSON.stringify(group)}, which has no ${kind}; write ${expected}`);
    if (expected === undefined && group === gatewayApi)
      report(
        "MESH0065",
        [...at, "kind"],
        `is ${JSON.stringify(kind)}, whose references need no grant${quotedNearest(nearestNames(kind, Object.keys(granted)))}`,
      );
    const fault = faultOfNamespace(q, namespace);
    if (fault !== undefined) report("MESH0004", [...at, "namespace"], fault);
  }
}
