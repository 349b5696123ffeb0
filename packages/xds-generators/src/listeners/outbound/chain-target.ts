import type { QueryContext } from "@istiod/incremental";
import type { L4MatchAttributes, TLSMatchAttributes } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { inNamespace, type ScopedService, type ScopeListener, selects } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import type { ChainMatch } from "../filter-chain-match.js";
import type { ConflictRecorder } from "../listener-conflicts.js";
import { type ListenerPort, serviceProxyPlan } from "../tcp/tcp-proxy-plan.js";
import type { TcpChainPlan } from "./outbound-plan.js";

/** A service at an outbound listener, for which filter chains are planned. */
export interface ChainTarget {
  readonly at: ScopeListener;
  readonly scoped: ScopedService;
  readonly service: Service;
  readonly port: ListenerPort;
  /** The listener's primary address. */
  readonly bind: string;
  /** The service's own address ranges, if the listener takes all addresses. */
  readonly destinations: readonly string[];
  /** True if `destinations` are addresses of single pods, which identify the service without SNI. */
  readonly isPodAddress: boolean;
}

/** The filter chain of a service without a matching route. */
export function serviceChain(
  q: QueryContext,
  { at, service, port }: ChainTarget,
  match: ChainMatch,
  recorder: ConflictRecorder | undefined,
): TcpChainPlan {
  const chain: TcpChainPlan = { kind: "tcp", match, proxy: serviceProxyPlan(q, at.scope, service, port) };
  recorder?.recordSource(chain, { kind: "service", id: service.id, port: port.number });
  return chain;
}

/**
 * Reports whether a match applies to the client and the port by its gateways, port, source namespace and source labels.
 */
export function appliesToClient(q: QueryContext, match: L4MatchAttributes | TLSMatchAttributes, port: number): boolean {
  return (
    (match.gateways.length === 0 || match.gateways.includes("mesh")) &&
    (match.port === 0 || match.port === port) &&
    (match.sourceNamespace === "" || q.ask(inNamespace, match.sourceNamespace)) &&
    selects(q, match.sourceLabels)
  );
}
