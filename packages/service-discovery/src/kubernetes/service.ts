import { index, query, type QueryContext } from "@istiod/incremental";
import { namespaces, nodes, services, type ServiceObject } from "@istiod/config-schema";
import { hasLabels } from "../labels.js";
import type { Service } from "../model/service.js";
import { settings } from "../settings/environment.js";
import { spiffeId } from "../settings/mesh.js";
import { convertKubernetesService, NODE_SELECTOR } from "./convert-service.js";
import { kubernetesHostname } from "./hostname.js";

/** Kubernetes Services of all clusters by `namespace/name`: those of one bucket are one service of the mesh. */
export const kubernetesServicesByName = index(services, "byName", (service) => [
  `${service.namespace}/${service.name}`,
]);

/**
 * The objects of one service, of the clusters where its namespace is discovered: that of the configuration's cluster
 * first, then by cluster.
 */
export function kubernetesServiceObjects(q: QueryContext, namespace: string, name: string): readonly ServiceObject[] {
  const objects = q.read(kubernetesServicesByName, `${namespace}/${name}`);
  if (objects.length < 2) return objects;
  const first = settings.configCluster(q);
  return [...objects.filter((o) => o.cluster === first), ...objects.filter((o) => o.cluster !== first)];
}

/**
 * The service that a Kubernetes Service (`namespace/name`) makes over all clusters: everything is the first cluster's,
 * except addresses, which each cluster has of its own, and declared identities, which add up. Source:
 * `aggregate/controller.go`.
 */
export const kubernetesService = query(
  "kubernetesService",
  (q, at: { readonly namespace: string; readonly name: string }): Service | undefined => {
    const [first, ...others] = kubernetesServiceObjects(q, at.namespace, at.name).map((object) => convert(q, object));
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

/** The service that a Kubernetes Service makes in one cluster alone. */
export const kubernetesServiceInCluster = query(
  "kubernetesServiceInCluster",
  (q, at: ServiceInCluster): Service | undefined => {
    const object = q.read(services, `${at.cluster}/${at.namespace}/${at.name}`);
    return object === undefined ? undefined : convert(q, object);
  },
);

function convert(q: QueryContext, object: ServiceObject): Service {
  const { cluster, namespace } = object;
  return convertKubernetesService(object, {
    hostname: kubernetesHostname(q, namespace, object.name),
    namespaceAnnotations: q.read(namespaces, `${cluster}/${namespace}`)?.annotations ?? {},
    spiffeId: (account) => spiffeId(q, namespace, account),
    nodeAddresses: nodeAddressesOf(q, object),
  });
}

/** For a NodePort service that says by annotation which nodes lead to it: the first external address of each. */
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

/** The labels that the annotation's JSON asks for. Anything else than an object of strings asks for nothing. */
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
