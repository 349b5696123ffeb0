import { gatewayKind, type GatewayObject, gateways } from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import type { Server } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { listNames } from "../../suggestions.js";
import { formatSelector, selectedPods } from "../../queries/pods.js";

type Labels = Readonly<Record<string, string>>;

export const conflictingGatewayAnalyzer: Analyzer = {
  name: "gateway.ConflictingGatewayAnalyzer",
  description: "Checks that Gateways for the same pods do not share a host and port",
  codes: ["IST0101", "IST0145"],
  rules: [rule(gatewayKind, gateways, checkServed), rule(gatewayKind, gateways, checkConflicts)],
};

/** Gateways that have servers, indexed by selector. */
const bySelector = index(gateways, "servingBySelector", ({ spec }) =>
  spec.servers.length === 0 ? [] : [JSON.stringify(spec.selector)],
);

/** Reports a Gateway without servers if no other Gateway for the same pods has servers, as Istio's analysis does. */
function checkServed({ spec }: GatewayObject, { q, report }: AnalysisContext): void {
  const selector = formatSelector(spec.selector);
  if (selector === "" || spec.servers.length > 0) return;
  if (q.keys(bySelector).some((other) => selectsSamePods(q, spec.selector, JSON.parse(other) as Labels))) return;
  report(
    "IST0101",
    ["spec", "selector", ...Object.keys(spec.selector).sort().slice(0, 1)],
    `referenced selector ${JSON.stringify(selector)} not found at any server: neither this Gateway nor another of the same pods has servers; add servers`,
  );
}

/** Gateways, indexed by port, bind address and host of each server. */
const byListener = index(gateways, "byListener", ({ spec }) =>
  spec.servers.flatMap((server) => server.hosts.map((host) => listener(server, host))),
);

function listener({ port, bind }: Server, host: string): string {
  return JSON.stringify([port?.number ?? 0, bind, host]);
}

function checkConflicts(gateway: GatewayObject, { q, report }: AnalysisContext): void {
  const { namespace, name, spec } = gateway;
  const selector = formatSelector(spec.selector);
  for (const [i, server] of spec.servers.entries()) {
    const others = new Map<string, GatewayObject>();
    const shared = new Set<string>();
    for (const host of server.hosts) {
      for (const other of q.read(byListener, listener(server, host))) {
        if (
          (other.namespace === namespace && other.name === name) ||
          !selectsSamePods(q, spec.selector, other.spec.selector)
        )
          continue;
        others.set(`${other.namespace}/${other.name}`, other);
        shared.add(host);
      }
    }
    const [first] = shared;
    if (first === undefined) continue;
    const precedence =
      server.tls === undefined
        ? ""
        : `, and only that of the oldest Gateway, ${oldest([gateway, ...others.values()])}, is served over TLS`;
    const message = `conflict with gateways ${listNames([...others.keys()].sort())} (workload selector ${selector}, port ${server.port?.number ?? 0}): they have the same hosts, ${listNames([...shared])}${precedence}; remove them from one Gateway`;
    report("IST0145", ["spec", "servers", i, "hosts", server.hosts.indexOf(first)], message);
  }
}

/**
 * Reports whether two selectors select the same pods. As in Istio's analysis, selectors that differ are only compared
 * if the text of one contains that of the other, and then a pod must match both.
 */
function selectsSamePods(q: QueryContext, a: Labels, b: Labels): boolean {
  const [left, right] = [formatSelector(a), formatSelector(b)];
  if (left === right) return true;
  if (!left.includes(right) && !right.includes(left)) return false;
  if (Object.keys(a).some((label) => b[label] !== undefined && a[label] !== b[label])) return false;
  return q.call(selectedPods, { labels: { ...a, ...b } }).length > 0;
}

/** Returns the name of the Gateway whose servers take precedence when Gateways are merged: by age, then name. */
function oldest(of: readonly GatewayObject[]): string {
  const [first] = [...of].sort(
    (a, b) =>
      a.creationTimestamp - b.creationTimestamp || (`${a.name}.${a.namespace}` < `${b.name}.${b.namespace}` ? -1 : 1),
  );
  return `${first?.namespace}/${first?.name}`;
}
