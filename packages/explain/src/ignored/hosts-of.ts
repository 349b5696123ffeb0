import { query, type View } from "@istiod/incremental";
import { type Proxy, scopedService, scopeOf, scopeServices } from "@istiod/push-context";
import type { ResourceType } from "../resource-types.js";

/** Returns the host of a cluster, or the hosts on the port of a listener or of a route configuration. */
export function hostsOf(view: View<Proxy>, { short }: ResourceType, name: string): readonly string[] {
  if (short === "cds" || short === "eds") return [hostOfCluster(name) ?? []].flat();
  const port =
    view.client.type === "sidecar" ? { lds: /_(\d+)$/, rds: /(?:^|:)(\d+)$/ }[short]?.exec(name)?.[1] : undefined;
  return port === undefined ? [] : view.call(hostsOnPort, Number(port));
}

/** Returns the host of a cluster name: `outbound|80|subset|host` or `outbound_.80_.subset_.host`. */
function hostOfCluster(name: string): string | undefined {
  return /^outbound(?:\|[^|]*\|[^|]*\||_\.[^_]*_\..*?_\.)(.+)$/.exec(name)?.[1];
}

const hostsOnPort = query("explain.hostsOnPort", (q, port: number): readonly string[] =>
  q
    .call(scopeServices, scopeOf(q))
    .flatMap((scoped) =>
      q.call(scopedService, scoped)?.ports.some(({ number }) => number === port) ? [scoped.hostname] : [],
    ),
);
