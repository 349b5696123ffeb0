import { type EnvoyFilterObject, envoyFilters, envoyFiltersByNamespace, regexMatches } from "@istiod/config-schema";
import { fact, query, type QueryContext } from "@istiod/incremental";
import type {
  EnvoyFilter_EnvoyConfigObjectPatch as ConfigPatch,
  EnvoyFilter_ProxyMatch as ProxyMatch,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { namespaceAmong } from "../attachment/own-namespace.js";
import { appliesToClient } from "../attachment/policy-attachment.js";
import { rootNamespace } from "../mesh/mesh-config.js";
import type { Proxy } from "../proxy/proxy.js";

/** A patch of an EnvoyFilter, by its position. */
export interface PatchRef {
  /** The EnvoyFilter, `namespace/name`. */
  readonly filter: string;
  /** Index in `configPatches`. */
  readonly index: number;
}

/**
 * The EnvoyFilters that select the client, in the order in which they are applied: by priority, those of the root
 * namespace first, then by age and name. Source: pilot/pkg/model/push_context.go, EnvoyFilters.
 */
const applicableFilters = query("applicableEnvoyFilters", (q): readonly string[] => {
  const root = rootNamespace(q);
  const others = q.keys(envoyFiltersByNamespace).filter((namespace) => namespace !== root);
  const own = others.length === 0 ? undefined : q.ask(namespaceAmong, others);
  return [root, ...(own === undefined ? [] : [own])]
    .flatMap((namespace) => q.read(envoyFiltersByNamespace, namespace))
    .filter(({ namespace, spec }) => appliesToClient(q, { ...spec, namespace, selector: selectorOf(spec) }))
    .sort((a, b) => compareFilters(a, b, root))
    .map(({ namespace, name }) => `${namespace}/${name}`);
});

/** The patches of EnvoyFilters that apply to the client, in the order in which they are applied. */
export const applicablePatches = query("applicablePatches", (q): readonly PatchRef[] =>
  q
    .call(applicableFilters)
    .flatMap((filter) =>
      (q.read(envoyFilters, filter)?.spec.configPatches ?? []).flatMap(({ match }, index) =>
        proxyMatches(q, match?.proxy) ? [{ filter, index }] : [],
      ),
    ),
);

const referencedServices = "envoyfilter.istio.io/referenced-services";

/**
 * Returns the services that patches of the client refer to by an annotation: `hostname` or `namespace/hostname`. A
 * gateway receives their clusters.
 */
export function servicesOfPatches(q: QueryContext): readonly string[] {
  return q
    .call(applicableFilters)
    .flatMap((filter) => (q.read(envoyFilters, filter)?.annotations[referencedServices] ?? "").split(","))
    .filter((name) => name !== "");
}

/** The patch at a position; undefined if there is none. */
export function configPatch(q: QueryContext, { filter, index }: PatchRef): ConfigPatch | undefined {
  return q.read(envoyFilters, filter)?.spec.configPatches[index];
}

function selectorOf({
  workloadSelector,
}: EnvoyFilterObject["spec"]): { readonly matchLabels: Readonly<Record<string, string>> } | undefined {
  return workloadSelector && { matchLabels: workloadSelector.labels };
}

function compareFilters(a: EnvoyFilterObject, b: EnvoyFilterObject, root: string): number {
  return (
    a.spec.priority - b.spec.priority ||
    Number(b.namespace === root) - Number(a.namespace === root) ||
    a.creationTimestamp - b.creationTimestamp ||
    (`${a.name}.${a.namespace}` < `${b.name}.${b.namespace}` ? -1 : 1)
  );
}

function proxyMatches(q: QueryContext, match: ProxyMatch | undefined): boolean {
  if (match === undefined) return true;
  const { proxyVersion, metadata } = match;
  return (
    (proxyVersion === "" || q.ask(hasVersionLike, proxyVersion)) &&
    Object.entries(metadata).every(([key, value]) => q.ask(hasMetadata, [key, value]))
  );
}

/** Reports whether the client reports a version that matches a pattern in RE2's syntax. */
const hasVersionLike = fact(
  "hasVersionLike",
  ({ metadata: { ISTIO_VERSION: version = "" } }: Proxy, pattern: string) =>
    version !== "" && regexMatches(pattern, version),
);

/** Reports whether the client's node metadata has a string under a key. */
const hasMetadata = fact(
  "hasMetadata",
  (proxy: Proxy, [key, value]: readonly [string, string]) => proxy.rawMetadata[key] === value,
);
