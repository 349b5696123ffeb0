import type { ProxyStatus, TypeStatus } from "./model.js";

/** States, worst first. `pending`: a change has not been sent to the proxy yet. */
export const proxyStates = ["rejected", "unsupported", "stale", "pending", "not sent", "synced"] as const;

export type ProxyState = (typeof proxyStates)[number];

export interface AssessedProxy extends ProxyStatus {
  /** Worst state of its types. */
  readonly state: ProxyState;
  /** Time when the oldest unanswered response was sent. */
  readonly unacknowledgedSince?: number;
}

export interface ProxyCounts {
  readonly total: number;
  readonly synced: number;
  readonly stale: number;
  readonly pending: number;
  readonly notSent: number;
  readonly rejected: number;
  readonly unsupported: number;
  readonly versions: Readonly<Record<string, number>>;
}

/** Assesses proxies and sorts them: worst state first, then longest unanswered, then by name. */
export function assessProxies(proxies: readonly ProxyStatus[]): {
  readonly proxies: readonly AssessedProxy[];
  readonly counts: ProxyCounts;
} {
  const assessed = proxies.map(assessProxy).sort(inOrder);
  const inState = (state: ProxyState): number => assessed.filter((proxy) => proxy.state === state).length;
  const versions = new Map<string, number>();
  for (const { version } of assessed) versions.set(version, (versions.get(version) ?? 0) + 1);
  const counts = {
    total: assessed.length,
    synced: inState("synced"),
    stale: inState("stale"),
    pending: inState("pending"),
    notSent: inState("not sent"),
    rejected: inState("rejected"),
    unsupported: inState("unsupported"),
    versions: Object.fromEntries([...versions].sort(([, a], [, b]) => b - a)),
  };
  return { proxies: assessed, counts };
}

function assessProxy(proxy: ProxyStatus): AssessedProxy {
  const { types, pushPending } = proxy;
  const has = (state: TypeStatus["state"]): boolean => types.some((type) => type.state === state);
  const unanswered = types.flatMap(({ state, sentAt }) => (state === "stale" && sentAt !== undefined ? [sentAt] : []));
  const since = unanswered.length === 0 ? {} : { unacknowledgedSince: Math.min(...unanswered) };
  if (has("rejected")) return { ...proxy, ...since, state: "rejected" };
  if (proxy.unsupported !== undefined) return { ...proxy, ...since, state: "unsupported" };
  if (has("stale")) return { ...proxy, ...since, state: "stale" };
  if (pushPending) return { ...proxy, state: "pending" };
  return { ...proxy, state: types.length === 0 || has("not sent") ? "not sent" : "synced" };
}

function inOrder(a: AssessedProxy, b: AssessedProxy): number {
  return (
    proxyStates.indexOf(a.state) - proxyStates.indexOf(b.state) ||
    (a.unacknowledgedSince ?? Infinity) - (b.unacknowledgedSince ?? Infinity) ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}
