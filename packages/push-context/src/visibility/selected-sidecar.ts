import { type SidecarObject, sidecarsByNamespace } from "@istiod/config-schema";
import { fact, type FactContext, query } from "@istiod/incremental";
import { rootNamespace } from "../mesh/mesh-config.js";
import { labelsOf, selectorMatches } from "../proxy/labels.js";
import type { Proxy } from "../proxy/proxy.js";
import type { ScopeRef } from "./scope-ref.js";

/**
 * The Sidecar of the client's own namespace that selects the client: one with a workload selector takes precedence,
 * then the oldest one (pilot/pkg/model/push_context.go, initSidecarScopes).
 */
export const ownSidecar = fact("sidecar", (proxy: Proxy, _: void, q: FactContext): ScopeRef | undefined => {
  const candidates = [...q.read(sidecarsByNamespace, proxy.namespace)].sort(bySelectorThenAge);
  const found = candidates.find(({ spec: { workloadSelector } }) => {
    const selector = workloadSelector?.labels ?? {};
    return Object.keys(selector).length === 0 || selectorMatches(selector, labelsOf(proxy, q));
  });
  return found && { sidecar: `${found.namespace}/${found.name}`, namespace: proxy.namespace };
});

/**
 * The default Sidecar in the root namespace, for namespaces without one, and whether its egress hosts refer to the
 * client's namespace.
 */
export const rootSidecar = query("rootSidecar", (q) => {
  const [found] = q
    .read(sidecarsByNamespace, rootNamespace(q))
    .filter(({ spec }) => spec.workloadSelector === undefined)
    .sort(bySelectorThenAge);
  return (
    found && {
      key: `${found.namespace}/${found.name}`,
      refersToClient: found.spec.egress.some(({ hosts }) =>
        hosts.some((host) => host.startsWith("./") || host.startsWith("~./")),
      ),
    }
  );
});

function bySelectorThenAge(a: SidecarObject, b: SidecarObject): number {
  return (
    Number(a.spec.workloadSelector === undefined) - Number(b.spec.workloadSelector === undefined) ||
    a.creationTimestamp - b.creationTimestamp ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}
