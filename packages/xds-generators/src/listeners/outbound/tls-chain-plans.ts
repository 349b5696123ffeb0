import type { QueryContext } from "@istiod/incremental";
import type { RouteDestination, TLSMatchAttributes } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import {
  clientAddress,
  hasDnsDomain,
  ipMode,
  kubernetesDnsSuffix,
  namespaceOfHostname,
  scopedAliases,
} from "@istiod/push-context";
import { splitKey } from "@istiod/service-discovery";
import { alternateHosts } from "../../routes/domains.js";
import { wildcards } from "../listener-address.js";
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import { tcpAndTlsRoutesFor } from "../tcp/tcp-and-tls-routes.js";
import { isDynamicDnsWildcard, routeProxyPlan } from "../tcp/tcp-proxy-plan.js";
import { appliesToClient, type ChainTarget, serviceChain } from "./chain-target.js";
import type { TcpChainPlan } from "./outbound-plan.js";

/** Chains that match by SNI. Source: pilot/pkg/networking/core/tls.go, buildSidecarOutboundTLSFilterChainOpts. */
export function tlsRoutedChains(
  q: QueryContext,
  target: ChainTarget,
  recorder?: ConflictRecorder,
): readonly TcpChainPlan[] {
  const { at, service, port } = target;
  const chains = new Map<string, TcpChainPlan | undefined>();
  let destinations = target.destinations;
  for (const { key, route, match, source } of tlsMatchesOf(q, target)) {
    if (match.destinationSubnets.length > 0 && port.number > 0) destinations = match.destinationSubnets;
    const runtimeMatch = `${match.sniHosts.join(",")}|${match.destinationSubnets.join(",")}`;
    if (chains.has(runtimeMatch)) {
      const reason = `only the first match for SNI ${match.sniHosts.join(", ")} at port ${port.number} applies`;
      recorder?.recordConflict(target.bind, source, recorder.sourceOf(chains.get(runtimeMatch)), reason);
      continue;
    }
    const proxy = routeProxyPlan(q, at.scope, route, key, port);
    const chain: TcpChainPlan | undefined = proxy && {
      kind: "tcp",
      match: { sniHosts: match.sniHosts, destinations },
      virtualService: key,
      proxy,
    };
    chains.set(runtimeMatch, chain);
    if (chain !== undefined) recorder?.recordSource(chain, source);
  }
  const routed = [...chains.values()].filter((chain) => chain !== undefined);
  if (routed.length > 0) return routed;
  const sniHosts = needsSni(q, target, destinations)
    ? [service.hostname, ...scopedAliases(q, target.scoped).flatMap((alias) => aliasNames(q, splitKey(alias)[1]))]
    : [];
  return [serviceChain(q, target, { sniHosts, destinations }, recorder)];
}

interface TlsMatchOfTarget {
  /** The VirtualService, `namespace/name`. */
  readonly key: string;
  readonly route: readonly RouteDestination[];
  readonly match: TLSMatchAttributes;
  readonly source: ChainSource;
}

/** The matches of TLS routes for the target's host that apply to the client and the port, in order of precedence. */
function* tlsMatchesOf(q: QueryContext, { at, service, port }: ChainTarget): Generator<TlsMatchOfTarget> {
  for (const { key, tls } of tcpAndTlsRoutesFor(q, at, service.hostname)) {
    for (const [i, { match: matches, route }] of tls.entries()) {
      for (const [j, match] of (route.length === 0 ? [] : matches).entries()) {
        if (!appliesToClient(q, match, port.number)) continue;
        const source = { kind: "route", virtualService: key, field: `spec.tls[${i}].match[${j}]` } as const;
        yield { key, route, match, source };
      }
    }
  }
}

/** Reports whether the address that is listened on does not identify the service, so that SNI must. */
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

/** The forms of an ExternalName service's name that the client may use. */
function aliasNames(q: QueryContext, hostname: string): readonly string[] {
  const namespace = namespaceOfHostname(hostname);
  const suffix = q.ask(kubernetesDnsSuffix);
  const local = namespace !== undefined && suffix !== undefined && q.ask(hasDnsDomain, `${namespace}${suffix}`);
  return [hostname, ...alternateHosts(q, hostname, local ? { localNamespace: namespace } : {})];
}
