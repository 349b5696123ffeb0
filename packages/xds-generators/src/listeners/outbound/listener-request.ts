/** The addresses on which an egress listener of a Sidecar listens. */

import type { QueryContext } from "@istiod/incremental";
import {
  clientAddress,
  clientAddresses,
  type IpMode,
  ipMode,
  type ScopedService,
  type ScopeListener,
} from "@istiod/push-context";
import { isHttp, type Service } from "@istiod/service-discovery";
import type { ChainMatch } from "../filter-chain-match.js";
import type { ChainSource } from "../listener-conflicts.js";
import { plaintextHttpProtocols } from "../listener-filters.js";
import { isDynamicDnsWildcard, type ListenerPort } from "../tcp/tcp-proxy-plan.js";
import type { HttpChainPlan } from "./outbound-plan.js";

export interface ListenerBinding {
  /** Empty: the service's address, or all addresses for HTTP. */
  readonly binds: readonly string[];
  readonly bindToPort: boolean;
}

/** A listener for one service, requested by the service's port or by an egress listener of a Sidecar. */
export interface ListenerRequest extends ListenerBinding {
  readonly at: ScopeListener;
  readonly scoped: ScopedService;
  readonly service: Service;
  readonly port: ListenerPort;
  readonly destinations?: readonly string[];
  readonly isPodAddress?: boolean;
  /** True if the port is the egress listener's. */
  readonly declared?: true;
}

/** Returns the source of a request. An egress listener with a port is the source for all services that it leads to. */
export function sourceOf({ at, declared, service, port }: ListenerRequest): ChainSource {
  return declared === true
    ? { kind: "egress", sidecar: at.scope.sidecar ?? "", listener: at.listener }
    : { kind: "service", id: service.id, port: port.number };
}

/**
 * Returns where a listener for non-HTTP traffic binds: to the service's addresses, or to all addresses if the service
 * has ranges.
 */
export function serviceBinds(
  q: QueryContext,
  { binds, service, destinations = [] }: ListenerRequest,
  all: readonly string[],
): { readonly binds: readonly string[]; readonly destinations: readonly string[] } {
  if (binds.length > 0) return { binds, destinations };
  const declared = clientAddress(q, service);
  const extra = clientAddresses(q, service).slice(1);
  if (declared.includes("/")) return { binds: all, destinations: [declared, ...extra] };
  if (service.registry !== "External" || declared !== "0.0.0.0") return { binds: [declared, ...extra], destinations };
  const mode: IpMode = q.ask(ipMode);
  return {
    binds: mode === "IPv6" ? ["::", ...extra] : mode === "Dual" ? [declared, ...extra, "::"] : [declared, ...extra],
    destinations,
  };
}

/**
 * The HTTP chain of a service. A service with an undeclared protocol at its own address has its own route
 * configuration.
 */
export function httpChainPlan(
  q: QueryContext,
  { service, port }: ListenerRequest,
  bind: string,
  { all, sniffed }: { readonly all: string; readonly sniffed: boolean },
): HttpChainPlan {
  const undeclared = !isHttp(port.protocol);
  const match: ChainMatch = sniffed
    ? { applicationProtocols: plaintextHttpProtocols(q), transportProtocol: "raw_buffer" }
    : {};
  const ownRoutes = undeclared && bind !== all;
  return {
    kind: "http",
    match,
    routeName: port.number === 0 ? bind : ownRoutes ? `${service.hostname}:${port.number}` : String(port.number),
    protocol: port.protocol,
    ...(isDynamicDnsWildcard(service) && { dynamicHost: service.hostname }),
  };
}
