import type { QueryContext } from "@istiod/incremental";
import type { L4MatchAttributes } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { isTls } from "@istiod/service-discovery";
import type { ChainSource, ConflictRecorder } from "../listener-conflicts.js";
import { tcpAndTlsRoutesFor } from "../tcp/tcp-and-tls-routes.js";
import { routeProxyPlan, type TcpProxyPlan } from "../tcp/tcp-proxy-plan.js";
import { appliesToClient, type ChainTarget, serviceChain } from "./chain-target.js";
import type { TcpChainPlan } from "./outbound-plan.js";
import { tlsRoutedChains } from "./tls-chain-plans.js";

/** The filter chains for non-HTTP connections to a service: those of its VirtualServices, or else its own. */
export function tcpChainPlans(
  q: QueryContext,
  target: ChainTarget,
  recorder?: ConflictRecorder,
): readonly TcpChainPlan[] {
  return isTls(target.port.protocol) ? tlsRoutedChains(q, target, recorder) : tcpRoutedChains(q, target, recorder);
}

/**
 * Chains that match by destination address only. Source: pilot/pkg/networking/core/tls.go,
 * buildSidecarOutboundTCPFilterChainOpts.
 */
function tcpRoutedChains(q: QueryContext, target: ChainTarget, recorder?: ConflictRecorder): readonly TcpChainPlan[] {
  const { service, port, destinations } = target;
  const chains: TcpChainPlan[] = [];
  const add = (chain: TcpChainPlan, source: ChainSource): TcpChainPlan => {
    recorder?.recordSource(chain, source);
    chains.push(chain);
    return chain;
  };
  let covered = false;
  let catchAll: TcpChainPlan | undefined;
  for (const { key, proxy, source, matches, applicable } of tcpRoutesOf(q, target)) {
    if (catchAll !== undefined) {
      if (matches.length === 0 || applicable.length > 0) {
        const reason = `its route matches every connection to ${service.hostname}:${port.number}`;
        recorder?.recordConflict(target.bind, source, recorder.sourceOf(catchAll), reason);
      }
      continue;
    }
    if (
      matches.length === 0 ||
      applicable.some(({ destinationSubnets }) => destinationSubnets.length === 0 || port.number === 0)
    ) {
      catchAll = add({ kind: "tcp", match: { destinations }, virtualService: key, proxy }, source);
      if (recorder === undefined) return chains;
      continue;
    }
    const subnets = applicable.flatMap((match) => match.destinationSubnets);
    if (subnets.length === 0) continue;
    add({ kind: "tcp", match: { destinations: subnets }, proxy }, source);
    covered ||= haveSameElements(subnets, destinations);
  }
  return covered || catchAll !== undefined ? chains : [...chains, serviceChain(q, target, { destinations }, recorder)];
}

interface TcpRouteOfTarget {
  /** The VirtualService, `namespace/name`. */
  readonly key: string;
  readonly proxy: TcpProxyPlan;
  readonly source: ChainSource;
  readonly matches: readonly L4MatchAttributes[];
  /** The matches that apply to the client and the port. */
  readonly applicable: readonly L4MatchAttributes[];
}

/** The TCP routes with destinations for the target's host, in order of precedence. */
function* tcpRoutesOf(q: QueryContext, { at, service, port }: ChainTarget): Generator<TcpRouteOfTarget> {
  for (const { key, tcp } of tcpAndTlsRoutesFor(q, at, service.hostname)) {
    for (const [i, { match: matches, route }] of tcp.entries()) {
      const proxy = routeProxyPlan(q, at.scope, route, key, port);
      if (proxy === undefined) continue;
      const source: ChainSource = { kind: "route", virtualService: key, field: `spec.tcp[${i}]` };
      const applicable = matches.filter((match) => appliesToClient(q, match, port.number));
      yield { key, proxy, source, matches, applicable };
    }
  }
}

function haveSameElements(a: readonly string[], b: readonly string[]): boolean {
  const [x, y] = [[...a].sort(), [...b].sort()];
  return x.length === y.length && x.every((text, i) => text === y[i]);
}
