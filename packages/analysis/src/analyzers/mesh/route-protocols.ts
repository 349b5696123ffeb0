import { type FieldPath, virtualServiceKind, type VirtualServiceObject, virtualServices } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import type { Destination } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features, meshGateway, resolveGateway, resolveHost } from "@istiod/push-context";
import { isHttp, isTls } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import {
  gatewayRoutePorts,
  meshRoutePorts,
  portsOfHost,
  type RouteKind,
  routeKinds,
  type RoutePort,
} from "../../queries/route-places.js";
import { originatesTls } from "../../queries/tls-origination.js";
import { listNames } from "../../suggestions.js";

export const routeProtocolAnalyzer: Analyzer = {
  name: "mesh.RouteProtocolAnalyzer",
  description: "Checks that routes are of a protocol, and their matches of a port, that their hosts and gateways have",
  codes: ["MESH0040", "MESH0041", "MESH0043"],
  rules: [rule(virtualServiceKind, virtualServices, checkRoutes)],
};

function checkRoutes(object: VirtualServiceObject, context: AnalysisContext): void {
  const { spec } = object;
  const ports = portsOf(context.q, object);
  for (const kind of routeKinds) {
    if (spec[kind].length === 0) continue;
    if (ports?.some(({ kinds }) => kinds.includes(kind)) === false) {
      reportKind(object, kind, ports, context);
      continue;
    }
    if (ports !== undefined) checkMatches(object, kind, ports, context);
    if (kind === "http" && ports !== undefined) checkRedirects(object, ports, context);
    if (kind !== "tcp") checkDestinations(object, kind, context);
  }
  checkHosts(object, context);
}

/** Returns the ports at which routes may apply; undefined if a host or a Gateway is not known. */
function portsOf(q: QueryContext, { namespace, spec }: VirtualServiceObject): readonly RoutePort[] | undefined {
  const bound = spec.gateways.length === 0 ? [meshGateway] : spec.gateways;
  const found: RoutePort[] = [];
  for (const name of bound) {
    if (spec.hosts.length === 0) return undefined;
    const of =
      name === meshGateway
        ? spec.hosts.map((host) => meshRoutePorts(q, hostnameOf(q, host, namespace)))
        : [gatewayRoutePorts(q, resolveGateway(name, namespace), spec.hosts, namespace)];
    for (const ports of of) {
      if (ports === undefined) return undefined;
      found.push(...ports);
    }
  }
  return found.length === 0 ? undefined : found;
}

function hostnameOf(q: QueryContext, host: string, namespace: string): string {
  return resolveHost(host, { namespace, domain: features.domainSuffix(q) });
}

/** Reports routes for whose protocol there is no port. */
function reportKind(
  { spec }: VirtualServiceObject,
  kind: RouteKind,
  ports: readonly RoutePort[],
  { report }: AnalysisContext,
): void {
  const fitting = routeKinds.filter((other) => ports.some(({ kinds }) => kinds.includes(other)));
  const isMesh = ports.every(({ gateway }) => gateway === meshGateway);
  const others = fitting.filter((other) => spec[other].length > 0);
  const consequence =
    others.length > 0
      ? ""
      : isMesh
        ? `: connections to ${listNames(spec.hosts)} are balanced over all of its endpoints, as if there were no VirtualService`
        : ports.some(({ kinds }) => kinds.includes("http"))
          ? ": requests get 404"
          : ": connections are closed";
  const fix = fitting.length === 0 ? "" : `; write ${fitting.join(" or ")} routes, or ${correction(kind, isMesh)}`;
  report(
    "MESH0040",
    ["spec", kind],
    `${kind} routes have no effect, because there is no port for them (${describe(ports)})${consequence}${fix}`,
  );
}

function correction(kind: RouteKind, isMesh: boolean): string {
  if (isMesh) return `declare a port of that protocol (a Service's port by its name, ${kind}-…)`;
  if (kind === "http") return "set the protocol of the server to HTTP, or to HTTPS with TLS mode SIMPLE";
  return kind === "tls"
    ? "set the TLS mode of the server to PASSTHROUGH"
    : "set the protocol of the server to TCP or TLS";
}

/** Describes ports, with the Gateway if there are several places: `9080 HTTP of Gateway shop/front`. */
function describe(ports: readonly RoutePort[]): string {
  const texts = ports.map(
    ({ gateway, number, protocol }) =>
      `${number} ${protocol}${gateway === meshGateway ? "" : ` of Gateway ${gateway}`}`,
  );
  return listNames([...new Set(texts)]);
}

/** Reports matches of a port or a gateway that has no port for the protocol. */
function checkMatches(
  { namespace, spec }: VirtualServiceObject,
  kind: RouteKind,
  ports: readonly RoutePort[],
  { report }: AnalysisContext,
): void {
  const bound = new Set(ports.map(({ gateway }) => gateway));
  for (const [i, { match }] of spec[kind].entries()) {
    for (const [j, { port, gateways }] of match.entries()) {
      const named = gateways.map((name) => resolveGateway(name, namespace));
      // A gateway that the VirtualService does not name is reported elsewhere.
      if (named.some((name) => !bound.has(name))) continue;
      const places = named.length === 0 ? ports : ports.filter(({ gateway }) => named.includes(gateway));
      const path: FieldPath = ["spec", kind, i, "match", j];
      const numbered = port === 0 ? places : places.filter(({ number }) => number === port);
      if (numbered.length === 0) {
        const message = `port ${port} is not among those of ${placesText(spec.hosts, places)} (${describe(places)}), so that the match never applies; name one of these`;
        report("MESH0041", [...path, "port"], message);
      } else if (!numbered.some(({ kinds }) => kinds.includes(kind))) {
        const message = `the match never applies: ${kind} routes have no effect at port ${describe(numbered)}; name a port for ${kind} routes (${describe(ports.filter(({ kinds }) => kinds.includes(kind)))})`;
        report("MESH0040", [...path, port === 0 ? "gateways" : "port"], message);
      }
    }
  }
}

function placesText(hosts: readonly string[], places: readonly RoutePort[]): string {
  const gateways = [...new Set(places.map(({ gateway }) => gateway))].filter((name) => name !== meshGateway);
  const isMesh = places.some(({ gateway }) => gateway === meshGateway);
  return [
    ...(isMesh ? [listNames(hosts)] : []),
    ...(gateways.length > 0 ? [`the servers of Gateway ${listNames(gateways)}`] : []),
  ].join(" and ");
}

/** Reports hosts of sidecars to which no route applies, while routes apply to others. */
function checkHosts({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (spec.hosts.length < 2 || (spec.gateways.length > 0 && spec.gateways.some((name) => name !== meshGateway))) return;
  const given = routeKinds.filter((kind) => spec[kind].length > 0);
  const ofHosts = spec.hosts.map((host) => meshRoutePorts(q, hostnameOf(q, host, namespace)) ?? []);
  const applies = ofHosts.map((ports) => ports.some(({ kinds }) => kinds.some((kind) => given.includes(kind))));
  if (!applies.includes(true)) return;
  for (const [i, host] of spec.hosts.entries()) {
    const ports = ofHosts[i] ?? [];
    if (ports.length === 0 || applies[i] === true) continue;
    const message = `none of the ${given.join(" and ")} routes applies to ${host}, which has no port for them (${describe(ports)}): its connections are balanced as if there were no VirtualService`;
    report("MESH0040", ["spec", "hosts", i], message);
  }
}

/** Reports redirects to a scheme at servers of that scheme, which redirect again. */
function checkRedirects(
  { spec }: VirtualServiceObject,
  ports: readonly RoutePort[],
  { report }: AnalysisContext,
): void {
  for (const [i, { redirect, match }] of spec.http.entries()) {
    if (redirect === undefined || redirect.scheme === "" || redirect.redirectPort.case !== undefined) continue;
    if (redirect.uri !== "" || redirect.prefixRewrite !== "" || redirect.authority !== "") continue;
    if (match.some(({ scheme, headers, port }) => scheme ?? (port || Object.keys(headers).length > 0))) continue;
    const same = ports.filter(
      ({ gateway, kinds, protocol }) =>
        gateway !== meshGateway &&
        kinds.includes("http") &&
        (protocol.startsWith("HTTPS") ? "https" : "http") === redirect.scheme,
    );
    if (same.length === 0) continue;
    const message = `requests to port ${describe(same)} are redirected to the ${redirect.scheme} that they have already, without an end; set httpsRedirect on the HTTP server instead, or match its port`;
    report("MESH0043", ["spec", "http", i, "redirect", "scheme"], message, "Error");
  }
}

/** Reports HTTP routes to ports with TLS, and TLS routes to ports with HTTP. */
function checkDestinations(
  { namespace, spec }: VirtualServiceObject,
  kind: "http" | "tls",
  { q, report }: AnalysisContext,
): void {
  for (const [i, { route }] of spec[kind].entries())
    for (const [j, { destination }] of route.entries()) {
      const message = destination && mismatch(q, kind, destination, namespace);
      const field = destination?.port === undefined ? ["host"] : ["port", "number"];
      if (message !== undefined) report("MESH0040", ["spec", kind, i, "route", j, "destination", ...field], message);
    }
}

function mismatch(
  q: QueryContext,
  kind: "http" | "tls",
  { host, port }: Destination,
  namespace: string,
): string | undefined {
  const hostname = hostnameOf(q, host, namespace);
  const ports = portsOfHost(q, hostname) ?? [];
  const found =
    port === undefined ? (ports.length === 1 ? ports : []) : ports.filter(({ number }) => number === port.number);
  const [first] = found;
  if (first === undefined) return undefined;
  const is = `port ${first.number} of ${hostname} is ${first.protocol}`;
  if (kind === "tls")
    return found.every(({ protocol }) => isHttp(protocol))
      ? `${is}, and TLS is forwarded to it as it is, so that the handshake fails; name a port with TLS, or terminate TLS at the gateway and write http routes`
      : undefined;
  const isEncrypted = found.every(({ protocol }) => isTls(protocol));
  return isEncrypted && !originatesTls(q, hostname)
    ? `${is}, and requests are sent to it without TLS, which it rejects; add a DestinationRule with tls.mode SIMPLE, or name a port without TLS`
    : undefined;
}
