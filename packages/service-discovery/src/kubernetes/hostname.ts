import type { QueryContext } from "@istiod/incremental";
import { settings } from "../settings/features.js";

/** Domain of clusterset services (Kubernetes Multi-Cluster Services API). */
const CLUSTER_SET_DOMAIN = "clusterset.local";

/** Parsed hostname of a Kubernetes Service. */
export interface KubernetesHost {
  readonly name: string;
  /** Set for clusterset hostnames. */
  readonly clusterSet: boolean;
}

/** Returns the DNS name of a Kubernetes Service. */
export function kubernetesHostname(q: QueryContext, namespace: string, name: string): string {
  return `${name}.${namespace}.svc.${settings.domain(q)}`;
}

/** Returns the clusterset DNS name of a Kubernetes Service. */
export function clusterSetHostname(namespace: string, name: string): string {
  return `${name}.${namespace}.svc.${CLUSTER_SET_DOMAIN}`;
}

/** Parses the hostname of a Kubernetes Service in this namespace; undefined if it has another form. */
export function parseKubernetesHostname(
  q: QueryContext,
  namespace: string,
  hostname: string,
): KubernetesHost | undefined {
  const own = stripSuffix(hostname, `.${namespace}.svc.${settings.domain(q)}`);
  if (own !== undefined) return { name: own, clusterSet: false };
  const shared = stripSuffix(hostname, `.${namespace}.svc.${CLUSTER_SET_DOMAIN}`);
  return shared !== undefined && settings.clusterSetHosts(q) ? { name: shared, clusterSet: true } : undefined;
}

function stripSuffix(hostname: string, suffix: string): string | undefined {
  if (!hostname.endsWith(suffix)) return undefined;
  const name = hostname.slice(0, -suffix.length);
  return name === "" || name.includes(".") ? undefined : name;
}
