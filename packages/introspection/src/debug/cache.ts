import type { Database } from "@istiod/incremental";
import type { Resource } from "@istiod/resources";
import type { XdsServer } from "@istiod/xds-server";
import type { DebugCommand } from "./command.js";

/**
 * `/debug/cachez`: the distinct resources that connected proxies have, which are kept once however many have them, by
 * type URL; with `?sizes` their bytes. Beside Istio's: `?stats`, of the incremental engine. `?clear` drops what no
 * proxy uses.
 */
export function cacheCommand<C>(database: Database<C>, server: Pick<XdsServer, "connections">): DebugCommand {
  return {
    name: "cachez",
    about:
      "Distinct resources that connected proxies have; ?sizes=true: bytes; ?stats=true: statistics of the incremental engine; ?clear=true: evicts unused results",
    changesState: (query) => Boolean(query.get("clear")),
    answer({ query }) {
      if (query.get("clear")) {
        database.evict();
        return { status: 200, text: "Cache cleared\n" };
      }
      if (query.get("stats")) return { json: database.stats() };
      const kept = distinctResources(server);
      if (!query.get("sizes"))
        return {
          json: Object.fromEntries(
            [...kept].map(([type, resources]) => [type, [...resources].map(({ name }) => name)]),
          ),
        };
      const sizes = [...kept].map(
        ([type, resources]) => [type, [...resources].reduce((sum, { bytes }) => sum + bytes.length, 0)] as const,
      );
      const total = sizes.reduce((sum, [, size]) => sum + size, 0);
      return {
        json: Object.fromEntries([...sizes, ["total", total] as const].map(([type, size]) => [type, byteCount(size)])),
      };
    },
  };
}

function distinctResources(server: Pick<XdsServer, "connections">): ReadonlyMap<string, ReadonlySet<Resource>> {
  const found = new Map<string, Set<Resource>>();
  for (const { typeUrl, sent } of server.connections().flatMap(({ subscriptions }) => subscriptions)) {
    const resources = found.get(typeUrl) ?? new Set();
    for (const resource of sent ?? []) resources.add(resource);
    if (resources.size > 0) found.set(typeUrl, resources);
  }
  return found;
}

/** As in `1.2kB`; a kilobyte is a thousand. */
function byteCount(bytes: number): string {
  if (bytes < 1000) return `${bytes}B`;
  const exponent = Math.min(Math.floor(Math.log10(bytes) / 3), 6);
  return `${(bytes / 1000 ** exponent).toFixed(1)}${"kMGTPE"[exponent - 1] ?? ""}B`;
}
