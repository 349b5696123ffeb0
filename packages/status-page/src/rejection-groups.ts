import type { AssessedProxy } from "./proxy-state.js";

/** Equal rejections by one or more proxies. */
export interface RejectionGroup {
  readonly type: string;
  readonly reason: string;
  readonly resources: readonly string[];
  /** Objects whose changes the rejected responses show. */
  readonly causes: readonly string[];
  /** Time of the last rejection. */
  readonly at: number;
  /** Names of proxies. */
  readonly proxies: readonly string[];
}

/** Groups rejections by type and reason, those of most proxies first. */
export function groupRejections(proxies: readonly AssessedProxy[]): readonly RejectionGroup[] {
  const groups = new Map<
    string,
    RejectionGroup & { readonly proxies: string[]; readonly causes: string[]; at: number }
  >();
  for (const { name, types } of proxies) {
    for (const { type, rejection } of types) {
      if (rejection === undefined) continue;
      const { reason, resources, causes, at } = rejection;
      const key = JSON.stringify([type, reason]);
      const group = groups.get(key) ?? { type, reason, resources, causes: [], at, proxies: [] };
      groups.set(key, group);
      group.proxies.push(name);
      for (const cause of causes) if (!group.causes.includes(cause)) group.causes.push(cause);
      group.at = Math.max(group.at, at);
    }
  }
  return [...groups.values()].sort((a, b) => b.proxies.length - a.proxies.length || b.at - a.at);
}
