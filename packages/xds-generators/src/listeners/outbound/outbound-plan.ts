import type { Protocol } from "@istiod/service-discovery";
import type { ChainMatch } from "../filter-chain-match.js";
import type { TcpProxyPlan } from "../tcp/tcp-proxy-plan.js";

/**
 * An outbound listener as a decision, before any message is made: small plain data, by which equal listeners of all clients are one.
 */
export interface OutboundPlan {
  /** Where it listens: the primary address first, of which it has its name. */
  readonly binds: readonly string[];
  readonly port: number;
  /** Whether it has a socket of its own, rather than being handed captured connections. */
  readonly bindToPort: boolean;
  readonly chains: readonly ChainPlan[];
  /** Equal for equal plans. */
  readonly key: string;
}

/** The plan with its key. */
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
  /** A wildcard host whose requests go where their own host says (ServiceEntry DYNAMIC_DNS). */
  readonly dynamicHost?: string;
}

export interface TcpChainPlan {
  readonly kind: "tcp";
  readonly match: ChainMatch;
  /** The VirtualService, `namespace/name`, that the chain is named for. */
  readonly virtualService?: string;
  readonly proxy: TcpProxyPlan;
}
