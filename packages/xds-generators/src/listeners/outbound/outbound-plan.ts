import type { Protocol } from "@istiod/service-discovery";
import type { ChainMatch } from "../filter-chain-match.js";
import type { TcpProxyPlan } from "../tcp/tcp-proxy-plan.js";

/**
 * The plan of an outbound listener: small plain data from which it is built, so that clients with equal plans share the
 * listener.
 */
export interface OutboundPlan {
  /** Primary address first; the listener is named after it. */
  readonly binds: readonly string[];
  readonly port: number;
  /** True if it binds to its port, rather than receiving captured connections from `virtualOutbound`. */
  readonly bindToPort: boolean;
  readonly chains: readonly ChainPlan[];
  /** Equal for equal plans. */
  readonly key: string;
}

/** Returns a plan with its key. */
export function outboundPlan(plan: Omit<OutboundPlan, "key">): OutboundPlan {
  return { ...plan, key: JSON.stringify(plan) };
}

export function hasHttpChains({ chains }: OutboundPlan): boolean {
  return chains.some(({ kind }) => kind === "http");
}

export type ChainPlan = HttpChainPlan | TcpChainPlan;

export interface HttpChainPlan {
  readonly kind: "http";
  readonly match: ChainMatch;
  readonly routeName: string;
  readonly protocol: Protocol;
  /** A wildcard host with DYNAMIC_DNS resolution, whose requests are forwarded to their own host. */
  readonly dynamicHost?: string;
}

export interface TcpChainPlan {
  readonly kind: "tcp";
  readonly match: ChainMatch;
  /** The VirtualService, `namespace/name`, in the chain's metadata. */
  readonly virtualService?: string;
  readonly proxy: TcpProxyPlan;
}
