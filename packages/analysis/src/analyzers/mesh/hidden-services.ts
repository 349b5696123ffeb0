import { serviceEntries, servicesByNamespace, sidecarKind, type SidecarObject, sidecars } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import {
  egressListeners,
  hostsOverlap,
  isWildcard,
  listenerServices,
  outboundTraffic,
  rootNamespace,
} from "@istiod/push-context";
import { discoverySettings, servicesByHostname, splitKey } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { describesServices } from "./hosts.js";

export const hiddenServiceAnalyzer: Analyzer = {
  name: "mesh.HiddenServiceAnalyzer",
  description: "Checks that the egress hosts of a Sidecar match a service",
  codes: ["MESH0044"],
  rules: [rule(sidecarKind, sidecars, checkEgress), rule(sidecarKind, sidecars, checkPorts)],
};

/** Reports a Sidecar whose egress hosts match no service. */
function checkEgress({ namespace, name, spec }: SidecarObject, { q, report }: AnalysisContext): void {
  if (spec.egress.length === 0) return;
  const entries = spec.egress.flatMap(({ hosts }) => hosts).map((entry) => splitEntry(entry, namespace));
  const isForAllNamespaces = namespace === rootNamespace(q) && spec.workloadSelector === undefined;
  if (isForAllNamespaces && entries.some(({ owner }) => owner === namespace)) return;
  const excludesAll = entries.some(({ excludes, owner, host }) => excludes && owner === "*" && host === "*");
  // Written on purpose for chosen workloads, which call nothing.
  if (excludesAll && spec.workloadSelector !== undefined) return;
  const imports = entries.filter(({ excludes }) => !excludes);
  if (!excludesAll && (!q.call(describesServices) || imports.some((entry) => q.call(isAnyService, entry)))) return;
  const { mode } = q.call(outboundTraffic, { sidecar: `${namespace}/${name}`, namespace });
  const consequence =
    mode === "REGISTRY_ONLY"
      ? "reach no service: their connections are closed (REGISTRY_ONLY)"
      : "send everything past the mesh: without routes, policies, telemetry and mutual TLS, which STRICT destinations reject";
  const found = excludesAll ? "~/* excludes every service" : "no service matches the egress hosts";
  report(
    "MESH0044",
    ["spec", "egress", 0, "hosts"],
    `${found}, so that the workloads ${consequence}; import the namespaces that they call, such as "./*"`,
    // Mostly on purpose, too.
    excludesAll ? "Info" : undefined,
  );
}

/** Reports listeners for a port that none of the services which they import has. */
function checkPorts({ namespace, name, spec }: SidecarObject, { q, report }: AnalysisContext): void {
  // A Sidecar of the root namespace for all namespaces imports other services for each.
  if (namespace === rootNamespace(q) || !q.call(describesServices)) return;
  const scope = { sidecar: `${namespace}/${name}`, namespace };
  for (const [i, { port, matchesPort }] of q.call(egressListeners, scope).entries()) {
    if (!matchesPort || port === undefined || spec.egress[i]?.port === undefined) continue;
    const { hosts = [] } = spec.egress[i] ?? {};
    const imports = hosts.map((entry) => splitEntry(entry, namespace)).filter(({ excludes }) => !excludes);
    if (!imports.some((entry) => q.call(isAnyService, entry))) continue;
    if (q.call(listenerServices, { scope, listener: i }).length > 0) continue;
    report(
      "MESH0044",
      ["spec", "egress", i, "port", "number"],
      `is ${port.number}, which no service of the listener's hosts (${hosts.join(", ")}) has, so that the listener leads nowhere; name a port of these services, or remove port to import them with all of theirs`,
    );
  }
}

interface EgressHost {
  readonly owner: string;
  readonly host: string;
  readonly excludes: boolean;
}

function splitEntry(entry: string, namespace: string): EgressHost {
  const slash = entry.indexOf("/");
  const prefix = entry.slice(0, Math.max(0, slash));
  const excludes = prefix.startsWith("~");
  const named = excludes ? prefix.slice(1) || "*" : prefix;
  return { owner: named === "." ? namespace : named, host: entry.slice(slash + 1), excludes };
}

const serviceEntriesByNamespace = index(serviceEntries, "byNamespaceForSidecars", ({ namespace }) => [namespace]);

/** Reports whether a service matches an egress host. */
const isAnyService = query("isAnyServiceForEgress", (q, { owner, host }: EgressHost): boolean => {
  if (owner === "*") return isWildcard(host) || q.call(servicesByHostname, host).length > 0;
  if (!isWildcard(host)) return q.call(servicesByHostname, host).some((key) => splitKey(key)[0] === owner);
  return (
    hostnamesIn(q, owner).some((hostname) => hostsOverlap(host, hostname)) ||
    q.read(serviceEntriesByNamespace, owner).some(({ spec }) => spec.hosts.some((each) => hostsOverlap(host, each)))
  );
});

function hostnamesIn(q: QueryContext, namespace: string): readonly string[] {
  return q
    .read(servicesByNamespace, namespace)
    .map(({ name }) => `${name}.${namespace}.svc.${discoverySettings.domain(q)}`);
}
