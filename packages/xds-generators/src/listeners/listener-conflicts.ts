import type { ChainPlan } from "./outbound/outbound-plan.js";

/** Who wants connections: a service at one of its ports, a route of a VirtualService (by field), an egress listener of a Sidecar, or a server of a Gateway. */
export type Claimant =
  | { readonly kind: "service"; readonly id: string; readonly port: number }
  | { readonly kind: "route"; readonly virtualService: string; readonly field: string }
  | { readonly kind: "egress"; readonly sidecar: string; readonly listener: number };

/** Connections that one wanted and another has. */
export interface LostClaim {
  readonly loser: Claimant;
  readonly winner: Claimant;
  /** The primary address of the listener. */
  readonly bind: string;
  /** What both wanted, and why only one can have it, in words that follow the winner. */
  readonly reason: string;
}

/** Notes who made which chains and who came too late, for explanations: plans are made the same with and without. */
export class Claims {
  readonly #of = new Map<ChainPlan, Claimant>();
  readonly lost: LostClaim[] = [];

  made(chain: ChainPlan, by: Claimant): void {
    this.#of.set(chain, by);
  }

  maker(chain: ChainPlan | undefined): Claimant | undefined {
    return chain && this.#of.get(chain);
  }

  lose(bind: string, loser: Claimant | undefined, winner: Claimant | undefined, reason: string): void {
    if (loser === undefined || winner === undefined || JSON.stringify(loser) === JSON.stringify(winner)) return;
    this.lost.push({ bind, loser, winner, reason });
  }
}
