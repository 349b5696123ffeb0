import { index, query, type QueryContext } from "@istiod/incremental";
import { namespaces, nodes, services, type ServiceObject } from "@istiod/config-schema";
import { hasLabels } from "../labels.js";
import type { Service } from "../model/service.js";
import { settings } from "../settings/features.js";
import { spiffeId } from "../settings/mesh.js";
import { convertKubernetesService, NODE_SELECTOR } from "./convert-service.js";
import { kubernetesHostname } from "./hostname.js";

/** Kubernetes Services by `namespace/name`, across clusters: each bucket is one service. */
export const kubernetesServicesByName = index(services, "byName", (service) => [
  `${service.namespace}/${service.name}`,
]);

/**
 * Returns the Services with a name, from the clusters in which its namespace is discovered: that of the config cluster
 * first, then by cluster.
 */
export function kubernetesServiceObjects(q: QueryContext, namespace: string, name: string): readonly ServiceObject[] {
  const objects = q.read(kubernetesServicesByName, `${namespace}/${name}`);
  if (objects.length < 2) return objects;
  const first = settings.configCluster(q);
  return [...objects.filter((o) => o.cluster === first), ...objects.filter((o) => o.cluster !== first)];
}

/**
 * The service of a Kubernetes Service (`namespace/name`), merged across clusters: all fields are from the first
 * cluster, except addresses, which are by cluster, and declared identities, which are united. Source:
 * `aggregate/controller.go`.
 */
export const kubernetesService = query(
  "kubernetesService",
  (q, at: { readonly namespace: string; readonly name: string }): Service | undefined => {
    const [first, ...others] = kubernetesServiceObjects(q, at.namespace, at.name).map((object) =>
      convertInContext(q, object),
    );
    if (first === undefined || others.length === 0) return first;
    const all = [first, ...others];
    return {
      ...first,
      clusterAddresses: Object.assign({}, ...all.map((service) => service.clusterAddresses)),
      declaredIdentities: [...new Set(all.flatMap((service) => service.declaredIdentities))],
    };
  },
);

/** A Kubernetes Service in one cluster. */
export interface ServiceInCluster {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/** The service of a Kubernetes Service in one cluster. */
export const kubernetesServiceInCluster = query(
  "kubernetesServiceInCluster",
  (q, at: ServiceInCluster): Service | undefined => {
    const object = q.read(services, `${at.cluster}/${at.namespace}/${at.name}`);
    return object === undefined ? undefined : convertInContext(q, object);
  },
);

function convertInContext(q: QueryContext, object: ServiceObject): Service {
  const { cluster, namespace } = object;
  return convertKubernetesService(object, {
    hostname: kubernetesHostname(q, namespace, object.name),
    namespaceAnnotations: q.read(namespaces, `${cluster}/${namespace}`)?.annotations ?? {},
    spiffeId: (account) => spiffeId(q, namespace, account),
    nodeAddresses: nodeAddressesOf(q, object),
  });
}

/**
 * Returns the first external address of each node that a NodePort service selects by annotation; undefined for other
 * services.
 */
function nodeAddressesOf(q: QueryContext, object: ServiceObject): readonly string[] | undefined {
  const annotation = object.annotations[NODE_SELECTOR];
  if (object.spec.type !== "NodePort" || annotation === undefined) return undefined;
  const selector = parseSelector(annotation);
  return q
    .all(nodes)
    .filter((node) => node.cluster === object.cluster && hasLabels(node.labels, selector))
    .flatMap(
      (node) => node.spec.addresses.find(({ type, address }) => type === "ExternalIP" && address !== "")?.address ?? [],
    );
}

/** Parses the JSON in the node selector annotation. Anything except an object of strings selects all nodes. */
function parseSelector(annotation: string): Readonly<Record<string, string>> {
  try {
    const parsed: unknown = JSON.parse(annotation);
    if (typeof parsed !== "object" || parsed === null) return {};
    const entries = Object.entries(parsed);
    return entries.every(([, value]) => typeof value === "string") ? Object.fromEntries(entries) : {};
  } catch {
    return {};
  }
}
