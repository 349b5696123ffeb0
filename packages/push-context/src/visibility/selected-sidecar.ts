import { rejectedSidecarsByNamespace, type SidecarObject, sidecarsByNamespace } from "@istiod/config-schema";
import { fact, type FactContext, query, type QueryContext } from "@istiod/incremental";
import { rootNamespace } from "../mesh/mesh-config.js";
import { type Labels, labelsOf, selectorMatches } from "../proxy/labels.js";
import type { Proxy } from "../proxy/proxy.js";
import type { ScopeRef } from "./scope-ref.js";

/**
 * The Sidecar of the client's own namespace that selects the client: one with a workload selector takes precedence,
 * then the oldest one (pilot/pkg/model/push_context.go, initSidecarScopes).
 */
export const ownSidecar = fact("sidecar", (proxy: Proxy, _: void, q: FactContext): ScopeRef | undefined =>
  ownSidecarOf(q, proxy.namespace, (selector) => selectorMatches(selector, labelsOf(proxy, q))),
);

function ownSidecarOf(
  q: QueryContext,
  namespace: string,
  matches: (selector: Labels) => boolean,
): ScopeRef | undefined {
  const candidates = [...q.read(sidecarsByNamespace, namespace)].sort(bySelectorThenAge);
  const found = candidates.find(({ spec: { workloadSelector } }) => {
    const selector = workloadSelector?.labels ?? {};
    return Object.keys(selector).length === 0 || matches(selector);
  });
  return found && { sidecar: `${found.namespace}/${found.name}`, namespace };
}

/** Returns the scope of a workload's sidecar, as its proxy has it. */
export function sidecarScopeOf(
  q: QueryContext,
  { namespace, labels }: { readonly namespace: string; readonly labels: Labels },
): ScopeRef {
  const own = ownSidecarOf(q, namespace, (selector) => selectorMatches(selector, labels));
  if (own !== undefined) return own;
  const root = q.call(rootSidecar);
  return { ...(root && { sidecar: root.key }), namespace };
}

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

/**
 * Returns the key of a rejected Sidecar without a good version that selects the client: one of its own namespace, or,
 * for clients that no Sidecar of their own namespace selects, one of the root namespace. The first by key applies:
 * all of them have the same effect.
 */
export function selectedRejectedSidecar(q: QueryContext, hasOwn: boolean): string | undefined {
  if (q.keys(rejectedSidecarsByNamespace).length === 0) return undefined;
  return q.ask(ownRejectedSidecar, undefined) ?? (hasOwn ? undefined : q.call(rootRejectedSidecar));
}

const ownRejectedSidecar = fact("rejectedSidecar", (proxy: Proxy, _: void, q: FactContext): string | undefined => {
  const candidates = q.read(rejectedSidecarsByNamespace, proxy.namespace);
  return candidates
    .filter(({ spec }) => selectorMatches(spec.workloadSelector?.labels ?? {}, labelsOf(proxy, q)))
    .map(({ namespace, name }) => `${namespace}/${name}`)
    .sort()[0];
});

const rootRejectedSidecar = query("rootRejectedSidecar", (q): string | undefined =>
  q
    .read(rejectedSidecarsByNamespace, rootNamespace(q))
    .filter(({ spec }) => spec.workloadSelector === undefined)
    .map(({ namespace, name }) => `${namespace}/${name}`)
    .sort()
    .at(0),
);

function bySelectorThenAge(a: SidecarObject, b: SidecarObject): number {
  return (
    Number(a.spec.workloadSelector === undefined) - Number(b.spec.workloadSelector === undefined) ||
    a.creationTimestamp - b.creationTimestamp ||
    (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
  );
}
