import type { QueryContext } from "@istiod/incremental";
import type { L4MatchAttributes, TLSMatchAttributes } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { clientAddress, hasDnsDomain, inNamespace, ipMode, kubernetesDnsSuffix, namespaceOfHostname, type ScopeListener, scopedAliases, type ScopedService, selects } from "@istiod/push-context";
import { isTls, type Service, splitKey } from "@istiod/service-discovery";
import { otherNames } from "../routes/domains.js";
import { wildcards } from "./listener-address.js";
import type { TcpChainPlan } from "./outbound-plan.js";
import { isDynamic, layer4RoutesFor, type ListenerPort, routedProxy, serviceProxy } from "./tcp-destinations.js";

/** A service at an outbound listener. */
export interface OutboundTarget {
  readonly at: ScopeListener;
  readonly scoped: ScopedService;
  readonly service: Service;
  readonly port: ListenerPort;
  /** The primary address listened on. */
  readonly bind: string;
  /** The service's own addresses, where they are ranges and the listener takes all addresses. */
  readonly destinations: readonly string[];
  /** `destinations` are addresses of single pods, so nothing else needs to tell the service apart. */
  readonly ofPods: boolean;
}

/** The chains for connections to a service that are no HTTP: of its VirtualServices, else its own. */
export function tcpChains(q: QueryContext, target: OutboundTarget): readonly TcpChainPlan[] {
  return isTls(target.port.protocol) ? tlsChains(q, target) : plainChains(q, target);
}

/** Told apart by SNI. Source: pilot/pkg/networking/core/tls.go, buildSidecarOutboundTLSFilterChainOpts. */
function tlsChains(q: QueryContext, target: OutboundTarget): readonly TcpChainPlan[] {
  const { at, service, port } = target;
  const chains: TcpChainPlan[] = [];
  const handled = new Set<string>();
  let destinations = target.destinations;
  for (const { key, tls } of layer4RoutesFor(q, at, service.hostname)) {
    for (const { match: matches, route } of tls) {
      for (const match of route.length === 0 ? [] : matches) {
        if (!concernsClient(q, match, port.number)) continue;
        if (match.destinationSubnets.length > 0 && port.number > 0) destinations = match.destinationSubnets;
        const seenAtRunTime = `${match.sniHosts.join(",")}|${match.destinationSubnets.join(",")}`;
        const proxy = routedProxy(q, at.scope, route, key, port);
        if (!handled.has(seenAtRunTime) && proxy !== undefined) {
          chains.push({ kind: "tcp", match: { sniHosts: match.sniHosts, destinations }, virtualService: key, proxy });
        }
        handled.add(seenAtRunTime);
      }
    }
  }
  if (chains.length > 0) return chains;
  const sniHosts = needsSni(q, target, destinations) ? [service.hostname, ...scopedAliases(q, target.scoped).flatMap((alias) => aliasNames(q, splitKey(alias)[1]))] : [];
  return [{ kind: "tcp", match: { sniHosts, destinations }, proxy: serviceProxy(q, service, port) }];
}

/** The forms in which the client may name an ExternalName service. */
function aliasNames(q: QueryContext, hostname: string): readonly string[] {
  const namespace = namespaceOfHostname(hostname);
  const suffix = q.ask(kubernetesDnsSuffix);
  const local = namespace !== undefined && suffix !== undefined && q.ask(hasDnsDomain, `${namespace}${suffix}`);
  return [hostname, ...otherNames(q, hostname, local ? { localNamespace: namespace } : {})];
}

/** Whether the address that is listened on does not tell which service is meant. */
function needsSni(q: QueryContext, { service, bind, ofPods }: OutboundTarget, destinations: readonly string[]): boolean {
  if (ofPods) return false;
  const mode = q.ask(ipMode);
  const all = mode === "IPv6" ? "::" : wildcards.IPv4[0];
  const declared = clientAddress(q, service);
  const own = declared.includes("/") ? "" : service.registry === "External" && mode === "IPv6" && declared === "0.0.0.0" ? "::" : declared;
  return destinations.length > 0 || own === "" || (own === all && bind === all) || isDynamic(service);
}

/** Told apart by address alone. Source: pilot/pkg/networking/core/tls.go, buildSidecarOutboundTCPFilterChainOpts. */
function plainChains(q: QueryContext, { at, service, port, destinations }: OutboundTarget): readonly TcpChainPlan[] {
  const chains: TcpChainPlan[] = [];
  let covered = false;
  for (const { key, tcp } of layer4RoutesFor(q, at, service.hostname)) {
    for (const { match: matches, route } of tcp) {
      const proxy = routedProxy(q, at.scope, route, key, port);
      if (proxy === undefined) continue;
      const mine = matches.filter((match) => concernsClient(q, match, port.number));
      const terminal = matches.length === 0 || mine.some((match) => match.destinationSubnets.length === 0 || port.number === 0);
      if (terminal) return [...chains, { kind: "tcp", match: { destinations }, virtualService: key, proxy }];
      const subnets = mine.flatMap((match) => match.destinationSubnets);
      if (subnets.length === 0) continue;
      chains.push({ kind: "tcp", match: { destinations: subnets }, proxy });
      covered ||= sameTexts(subnets, destinations);
    }
  }
  return covered ? chains : [...chains, { kind: "tcp", match: { destinations }, proxy: serviceProxy(q, service, port) }];
}

/** Whether what is known beforehand of a match fits the client and the port. */
function concernsClient(q: QueryContext, match: L4MatchAttributes | TLSMatchAttributes, port: number): boolean {
  return (
    (match.gateways.length === 0 || match.gateways.includes("mesh")) &&
    (match.port === 0 || match.port === port) &&
    (match.sourceNamespace === "" || q.ask(inNamespace, match.sourceNamespace)) &&
    selects(q, match.sourceLabels)
  );
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  const [x, y] = [[...a].sort(), [...b].sort()];
  return x.length === y.length && x.every((text, i) => text === y[i]);
}
