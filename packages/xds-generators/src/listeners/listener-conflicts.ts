import type { ChainPlan } from "./outbound/outbound-plan.js";

/** Who wants connections: a service at one of its ports, a route of a VirtualService (by field), an egress listener of a Sidecar, or a server of a Gateway. */
export type ChainSource =
  | { readonly kind: "service"; readonly id: string; readonly port: number }
  | { readonly kind: "route"; readonly virtualService: string; readonly field: string }
  | { readonly kind: "egress"; readonly sidecar: string; readonly listener: number };

/** Connections that one wanted and another has. */
export interface ListenerConflict {
  readonly ignored: ChainSource;
  readonly existing: ChainSource;
  /** The primary address of the listener. */
  readonly bind: string;
  /** What both wanted, and why only one can have it, in words that follow the existing. */
  readonly reason: string;
}

/** Notes who made which chains and who came too late, for explanations: plans are made the same with and without. */
export class ConflictRecorder {
  readonly #of = new Map<ChainPlan, ChainSource>();
  readonly conflicts: ListenerConflict[] = [];

  recordSource(chain: ChainPlan, by: ChainSource): void {
    this.#of.set(chain, by);
  }

  sourceOf(chain: ChainPlan | undefined): ChainSource | undefined {
    return chain && this.#of.get(chain);
  }

  recordConflict(
    bind: string,
    ignored: ChainSource | undefined,
    existing: ChainSource | undefined,
    reason: string,
  ): void {
    if (ignored === undefined || existing === undefined || JSON.stringify(ignored) === JSON.stringify(existing)) return;
    this.conflicts.push({ bind, ignored, existing, reason });
  }
}
