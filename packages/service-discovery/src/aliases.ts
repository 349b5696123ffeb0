import { services, type ServiceObject } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { kubernetesHostname, parseKubernetesHostname } from "./kubernetes/hostname.js";
import { kubernetesServiceObjects } from "./kubernetes/kubernetes-service.js";
import { externalHost } from "./kubernetes/convert-service.js";

/** ExternalName Services by their target host. */
const aliasesByTarget = index(services, "byExternalName", (object) => {
  const target = aliasTarget(object);
  return target === undefined ? [] : [target];
});

/** Reports whether there is any alias. */
const hasAliases = query("hasAliases", (q): boolean => q.keys(aliasesByTarget).length > 0);

/**
 * The host that an alias (`name.namespace.svc.<domain>`) stands for, through other aliases; undefined if the host is no
 * alias, or in a cycle. It need not be a host of the mesh.
 */
export const aliasedHost = query("aliasedHost", (q, alias: string): string | undefined => {
  if (!q.call(hasAliases)) return undefined;
  const passed = new Set<string>();
  let host = alias;
  for (let next = nextHost(q, host); next !== undefined; next = nextHost(q, host)) {
    if (passed.has(next)) return undefined;
    passed.add(next);
    host = next;
  }
  return host === alias ? undefined : host;
});

/** Keys (`namespace/hostname`) of all ExternalName services, sorted. */
export const aliasKeys = query("aliasKeys", (q): readonly string[] =>
  [
    ...new Set(
      q
        .keys(aliasesByTarget)
        .flatMap((target) => q.read(aliasesByTarget, target))
        .map((object) => aliasKey(q, object)),
    ),
  ].sort(compareKeys),
);

/**
 * Keys (`namespace/hostname`) of the ExternalName services that resolve to this host, directly or through others,
 * sorted by namespace and host. Cycles resolve to nothing. A host that is itself an alias has none: they belong to its
 * target.
 */
export const aliasesOf = query("aliasesOf", (q, hostname: string): readonly string[] => {
  const found = new Map<string, string>();
  const collect = (target: string): void => {
    for (const object of q.read(aliasesByTarget, target)) {
      const key = aliasKey(q, object);
      const alias = hostOf(key);
      if (found.has(key) || alias === hostname || nextHost(q, alias) !== target) continue;
      found.set(key, alias);
      collect(alias);
    }
  };
  if (nextHost(q, hostname) === undefined) collect(hostname);
  return [...found.keys()].sort(compareKeys);
});

/** Returns the external name of the Service with a host; undefined if it is no alias. */
function nextHost(q: QueryContext, hostname: string): string | undefined {
  const namespace = hostname.split(".", 2)[1];
  const host = namespace === undefined ? undefined : parseKubernetesHostname(q, namespace, hostname);
  if (namespace === undefined || host === undefined || host.clusterSet) return undefined;
  const [first] = kubernetesServiceObjects(q, namespace, host.name);
  return first && aliasTarget(first);
}

function aliasTarget({ spec }: ServiceObject): string | undefined {
  return spec.clusterIP === "None" ? undefined : externalHost(spec);
}

function aliasKey(q: QueryContext, { namespace, name }: ServiceObject): string {
  return `${namespace}/${kubernetesHostname(q, namespace, name)}`;
}

function hostOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

/** Orders by namespace and host. */
function compareKeys(a: string, b: string): number {
  const [namespaceA, namespaceB] = [a.slice(0, a.indexOf("/")), b.slice(0, b.indexOf("/"))];
  if (namespaceA !== namespaceB) return namespaceA < namespaceB ? -1 : 1;
  return hostOf(a) < hostOf(b) ? -1 : hostOf(a) > hostOf(b) ? 1 : 0;
}
