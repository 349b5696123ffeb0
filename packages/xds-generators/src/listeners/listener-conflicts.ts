import type { ChainPlan } from "./outbound/outbound-plan.js";

/**
 * The source of a filter chain: a service port, a route of a VirtualService (by field), an egress or ingress
 * listener of a Sidecar, or a server of a Gateway. A DestinationRule and its subsets are the source of clusters, and
 * another policy of filters in all chains.
 */
export type ChainSource =
  | { readonly kind: "service"; readonly id: string; readonly port: number }
  | { readonly kind: "route"; readonly virtualService: string; readonly field: string }
  | { readonly kind: "egress" | "ingress"; readonly sidecar: string; readonly listener: number }
  | { readonly kind: "subset"; readonly rule: string; readonly index: number }
  | {
      readonly kind: "policy";
      readonly object: "AuthorizationPolicy" | "RequestAuthentication" | "DestinationRule";
      readonly policy: string;
    }
  | { readonly kind: "server"; readonly gateway: string; readonly index: number };

/**
 * A source that is ignored at a listener, in whole or in part, because an existing one matches the same connections, or
 * because Envoy would reject the listener.
 */
export interface ListenerConflict {
  readonly ignored: ChainSource;
  /** Absent if the source is ignored because of its own values. */
  readonly existing?: ChainSource;
  /** The listener's primary address. */
  readonly bind: string;
  /** The reason, as a clause that follows the existing source, or the ignored one. */
  readonly reason: string;
}

/**
 * Records the sources of filter chains and the conflicts between them, for explanations. Planning gives the same result
 * without it.
 */
export class ConflictRecorder {
  readonly #sources = new Map<ChainPlan, ChainSource>();
  readonly conflicts: ListenerConflict[] = [];

  recordSource(chain: ChainPlan, source: ChainSource): void {
    this.#sources.set(chain, source);
  }

  /** Returns the source of a chain; undefined for an unknown chain. */
  sourceOf(chain: ChainPlan | undefined): ChainSource | undefined {
    return chain && this.#sources.get(chain);
  }

  /** Records a source that is left out because of its own values. */
  recordOmission(bind: string, ignored: ChainSource | undefined, reason: string): void {
    if (ignored !== undefined) this.conflicts.push({ bind, ignored, reason });
  }

  /** Records SNI hosts of a source that Envoy does not support. */
  recordUnsupported(bind: string, ignored: ChainSource | undefined, sniHosts: readonly string[]): void {
    if (sniHosts.length === 0) return;
    const reason = `proxies do not support SNI ${sniHosts.join(", ")}: a wildcard must be a whole label`;
    this.recordOmission(bind, ignored, reason);
  }

  /** Records a conflict, unless a source is unknown or conflicts with itself. */
  recordConflict(
    bind: string,
    ignored: ChainSource | undefined,
    existing: ChainSource | undefined,
    reason: string,
  ): void {
    if (ignored === undefined || existing === undefined || JSON.stringify(ignored) === JSON.stringify(existing)) return;
    this.conflicts.push({ bind, ignored, existing, reason });
  }

  /** Records what a source loses of its match to another one: the values, or all connections if there are none. */
  recordSameMatch(
    { bind, port, values }: { readonly bind: string; readonly port: number; readonly values: readonly string[] },
    ignored: ChainSource | undefined,
    existing: ChainSource | undefined,
  ): void {
    const connections = values.length === 0 ? "the same connections" : `connections for ${values.join(", ")}`;
    this.recordConflict(bind, ignored, existing, `both match ${connections} to ${bind}:${port}`);
  }
}
