import type { QueryContext } from "@istiod/incremental";
import type { L4MatchAttributes, TLSMatchAttributes } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  clientAddress,
  hasDnsDomain,
  inNamespace,
  ipMode,
  kubernetesDnsSuffix,
  namespaceOfHostname,
  type ScopeListener,
  scopedAliases,
  type ScopedService,
  type ScopeRef,
  selects,
} from "@istiod/push-context";
import { isTls, type Service, splitKey } from "@istiod/service-discovery";
import { alternateHosts } from "../../routes/domains.js";
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import type { ChainMatch } from "../filter-chain-match.js";
import { wildcards } from "../listener-address.js";
import type { TcpChainPlan } from "./outbound-plan.js";
import {
  isDynamicDnsWildcard,
  tcpAndTlsRoutesFor,
  type ListenerPort,
  routeProxyPlan,
  serviceProxyPlan,
} from "../tcp/tcp-destinations.js";

/** A service at an outbound listener. */
export interface ChainTarget {
  readonly at: ScopeListener;
  readonly scoped: ScopedService;
  readonly service: Service;
  readonly port: ListenerPort;
  /** The primary address listened on. */
  readonly bind: string;
  /** The service's own addresses, where they are ranges and the listener takes all addresses. */
  readonly destinations: readonly string[];
  /** `destinations` are addresses of single pods, so nothing else needs to tell the service apart. */
  readonly isPodAddress: boolean;
}

/** The chains for connections to a service that are no HTTP: of its VirtualServices, else its own. */
export function tcpChainPlans(
  q: QueryContext,
  target: ChainTarget,
  claims?: ConflictRecorder,
): readonly TcpChainPlan[] {
  return isTls(target.port.protocol) ? tlsRoutedChains(q, target, claims) : tcpRoutedChains(q, target, claims);
}

/** Told apart by SNI. Source: pilot/pkg/networking/core/tls.go, buildSidecarOutboundTLSFilterChainOpts. */
function tlsRoutedChains(q: QueryContext, target: ChainTarget, claims?: ConflictRecorder): readonly TcpChainPlan[] {
  const { at, service, port } = target;
  const chains: TcpChainPlan[] = [];
  const handled = new Map<string, TcpChainPlan | undefined>();
  let destinations = target.destinations;
  for (const { key, tls } of tcpAndTlsRoutesFor(q, at, service.hostname)) {
    for (const [i, { match: matches, route }] of tls.entries()) {
      for (const [j, match] of (route.length === 0 ? [] : matches).entries()) {
        if (!appliesToClient(q, match, port.number)) continue;
        if (match.destinationSubnets.length > 0 && port.number > 0) destinations = match.destinationSubnets;
        const seenAtRunTime = `${match.sniHosts.join(",")}|${match.destinationSubnets.join(",")}`;
        const proxy = routeProxyPlan(q, at.scope, route, key, port);
        const chain: TcpChainPlan | undefined = proxy && {
          kind: "tcp",
          match: { sniHosts: match.sniHosts, destinations },
          virtualService: key,
          proxy,
        };
        const by: ChainSource = { kind: "route", virtualService: key, field: `spec.tls[${i}].match[${j}]` };
        if (handled.has(seenAtRunTime)) {
          claims?.recordConflict(
            target.bind,
            by,
            claims.sourceOf(handled.get(seenAtRunTime)),
            `for SNI ${match.sniHosts.join(", ")} at port ${port.number} the first match counts`,
          );
          continue;
        }
        handled.set(seenAtRunTime, chain);
        if (chain === undefined) continue;
        claims?.recordSource(chain, by);
        chains.push(chain);
      }
    }
  }
  if (chains.length > 0) return chains;
  const sniHosts = needsSni(q, target, destinations)
    ? [service.hostname, ...scopedAliases(q, target.scoped).flatMap((alias) => aliasNames(q, splitKey(alias)[1]))]
    : [];
  return [serviceChain(q, at.scope, target, { sniHosts, destinations }, claims)];
}

/** The chain of a service that no route is for. */
function serviceChain(
  q: QueryContext,
  scope: ScopeRef,
  { service, port }: ChainTarget,
  match: ChainMatch,
  claims: ConflictRecorder | undefined,
): TcpChainPlan {
  const chain: TcpChainPlan = { kind: "tcp", match, proxy: serviceProxyPlan(q, scope, service, port) };
  claims?.recordSource(chain, { kind: "service", id: service.id, port: port.number });
  return chain;
}

/** The forms in which the client may name an ExternalName service. */
function aliasNames(q: QueryContext, hostname: string): readonly string[] {
  const namespace = namespaceOfHostname(hostname);
  const suffix = q.ask(kubernetesDnsSuffix);
  const local = namespace !== undefined && suffix !== undefined && q.ask(hasDnsDomain, `${namespace}${suffix}`);
  return [hostname, ...alternateHosts(q, hostname, local ? { localNamespace: namespace } : {})];
}

/** Whether the address that is listened on does not tell which service is meant. */
function needsSni(
  q: QueryContext,
  { service, bind, isPodAddress }: ChainTarget,
  destinations: readonly string[],
): boolean {
  if (isPodAddress) return false;
  const mode = q.ask(ipMode);
  const all = mode === "IPv6" ? "::" : wildcards.IPv4[0];
  const declared = clientAddress(q, service);
  const own = declared.includes("/")
    ? ""
    : service.registry === "External" && mode === "IPv6" && declared === "0.0.0.0"
      ? "::"
      : declared;
  return destinations.length > 0 || own === "" || (own === all && bind === all) || isDynamicDnsWildcard(service);
}

/** Told apart by address alone. Source: pilot/pkg/networking/core/tls.go, buildSidecarOutboundTCPFilterChainOpts. */
function tcpRoutedChains(q: QueryContext, target: ChainTarget, claims?: ConflictRecorder): readonly TcpChainPlan[] {
  const { at, service, port, destinations } = target;
  const chains: TcpChainPlan[] = [];
  let covered = false;
  let last: TcpChainPlan | undefined;
  for (const { key, tcp } of tcpAndTlsRoutesFor(q, at, service.hostname)) {
    for (const [i, { match: matches, route }] of tcp.entries()) {
      const by: ChainSource = { kind: "route", virtualService: key, field: `spec.tcp[${i}]` };
      const proxy = routeProxyPlan(q, at.scope, route, key, port);
      if (proxy === undefined) continue;
      const mine = matches.filter((match) => appliesToClient(q, match, port.number));
      const terminal =
        matches.length === 0 || mine.some((match) => match.destinationSubnets.length === 0 || port.number === 0);
      if (last !== undefined) {
        if (matches.length === 0 || mine.length > 0)
          claims?.recordConflict(
            target.bind,
            by,
            claims.sourceOf(last),
            `its route takes every connection to ${service.hostname}:${port.number}`,
          );
        continue;
      }
      if (terminal) {
        last = { kind: "tcp", match: { destinations }, virtualService: key, proxy };
        claims?.recordSource(last, by);
        chains.push(last);
        if (claims === undefined) return chains;
        continue;
      }
      const subnets = mine.flatMap((match) => match.destinationSubnets);
      if (subnets.length === 0) continue;
      const chain: TcpChainPlan = { kind: "tcp", match: { destinations: subnets }, proxy };
      claims?.recordSource(chain, by);
      chains.push(chain);
      covered ||= haveSameElements(subnets, destinations);
    }
  }
  return covered || last !== undefined
    ? chains
    : [...chains, serviceChain(q, at.scope, target, { destinations }, claims)];
}

/** Whether what is known beforehand of a match fits the client and the port. */
function appliesToClient(q: QueryContext, match: L4MatchAttributes | TLSMatchAttributes, port: number): boolean {
  return (
    (match.gateways.length === 0 || match.gateways.includes("mesh")) &&
    (match.port === 0 || match.port === port) &&
    (match.sourceNamespace === "" || q.ask(inNamespace, match.sourceNamespace)) &&
    selects(q, match.sourceLabels)
  );
}

function haveSameElements(a: readonly string[], b: readonly string[]): boolean {
  const [x, y] = [[...a].sort(), [...b].sort()];
  return x.length === y.length && x.every((text, i) => text === y[i]);
}
