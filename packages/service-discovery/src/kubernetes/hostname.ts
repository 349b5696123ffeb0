import type { QueryContext } from "@istiod/incremental";
import { settings } from "../settings/environment.js";

/** The domain of services of a whole set of clusters (Kubernetes Multi-Cluster Services API). */
const CLUSTER_SET_DOMAIN = "clusterset.local";

/** What a hostname of a Kubernetes Service says. */
export interface KubernetesHost {
  readonly name: string;
  /** The service of the whole set of clusters, rather than those of single clusters. */
  readonly clusterSet: boolean;
}

/** The DNS name of a Kubernetes Service. */
export function kubernetesHostname(q: QueryContext, namespace: string, name: string): string {
  return `${name}.${namespace}.svc.${settings.domain(q)}`;
}

/** The DNS name of a service of the whole set of clusters. */
export function clusterSetHostname(namespace: string, name: string): string {
  return `${name}.${namespace}.svc.${CLUSTER_SET_DOMAIN}`;
}

/** Which Kubernetes Service of this namespace could have this hostname; undefined if none could. */
export function kubernetesHost(q: QueryContext, namespace: string, hostname: string): KubernetesHost | undefined {
  const own = nameUnder(hostname, `.${namespace}.svc.${settings.domain(q)}`);
  if (own !== undefined) return { name: own, clusterSet: false };
  const shared = nameUnder(hostname, `.${namespace}.svc.${CLUSTER_SET_DOMAIN}`);
  return shared !== undefined && settings.clusterSetHosts(q) ? { name: shared, clusterSet: true } : undefined;
}

function nameUnder(hostname: string, suffix: string): string | undefined {
  if (!hostname.endsWith(suffix)) return undefined;
  const name = hostname.slice(0, -suffix.length);
  return name === "" || name.includes(".") ? undefined : name;
}
