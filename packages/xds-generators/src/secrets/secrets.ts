import { configMaps, secrets as secretObjects } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  cluster,
  type CredentialAccess,
  credentialAccess,
  credentialReference,
  features,
  isInSecretCluster,
  proxyConfig,
  rootCertificatesSuffix,
  verifiedNamespace,
} from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { findKeyPair, findRootCertificates, type SecretEntries } from "./certificates.js";
import { keyPairResource, rootsResource } from "./secret-resource.js";

/** The resource, or the reason why it is denied. Reasons reveal no content of secrets. */
export type SecretLookup = { readonly resource: Resource } | { readonly denied: string };

/** Always empty: secrets are served only by name. */
export const secrets = query("secrets", (): ResourceSet => ResourceSet.empty);

/** A secret by name, if the client may have it (SDS). */
export const secretByName = query("secretByName", (q, name: string): Resource | undefined => {
  const lookup = q.call(secretLookup, name);
  return "resource" in lookup ? lookup.resource : undefined;
});

const reasons: Readonly<Record<Exclude<CredentialAccess, "granted">, string>> = {
  "other-namespace": "the proxy is not in its namespace",
  "unknown-workload":
    "no Pod or WorkloadEntry of the proxy's namespace is known with its name or address, and its service account",
  "not-referenced": "no Gateway or DestinationRule that selects the proxy refers to it",
  "not-permitted":
    "the proxy's service account may not list Secrets in its namespace: a Role must allow it the verb list on secrets",
  "not-reviewable":
    "istiod cannot ask the API server of the proxy's cluster whether its service account may list Secrets",
  "not-reviewed": "the API server has not decided yet whether the proxy's service account may list Secrets",
};

/**
 * A secret by name, or the reason why it is denied. Clients must be authenticated. A Secret is served only within its
 * namespace, to the workloads of Gateways and DestinationRules that refer to it; see {@link credentialAccess}.
 * Certificates of ConfigMaps are public. Where permissions are required, proxies of unknown clusters have none of them.
 */
export const secretLookup = query("secretLookup", (q, resourceName: string): SecretLookup => {
  const own = q.ask(verifiedNamespace);
  if (own === undefined) return { denied: "the proxy is not authenticated; secrets are served only on the TLS port" };
  if (!q.call(isInSecretCluster)) return { denied: "the proxy is in a cluster that is unknown to istiod" };
  const reference = credentialReference(resourceName);
  if (reference === undefined) return { denied: "not a valid secret name" };
  const { source, name } = reference;
  const namespace = reference.namespace ?? own;
  const access = source === "configmap" ? "granted" : q.call(credentialAccess, resourceName);
  if (access !== "granted") return { denied: reasons[access] };

  const clusters = source === "kubernetes" ? clustersOfProxy(q) : [features.clusterId(q)];
  const roots = source === "configmap" || name.endsWith(rootCertificatesSuffix);
  const entries =
    source === "configmap"
      ? configMapEntries(q, clusters, namespace, withoutSuffix(name))
      : secretEntries(q, clusters, namespace, name, roots);
  if (entries === undefined)
    return {
      denied: `${source === "configmap" ? "ConfigMap" : "Secret"} ${namespace}/${withoutSuffix(name)} not found`,
    };
  if (roots) {
    const authority = findRootCertificates(entries);
    return authority
      ? { resource: rootsResource(resourceName, authority) }
      : { denied: missingEntries("cacert or ca.crt", entries) };
  }
  const pair = findKeyPair(entries);
  return pair
    ? { resource: keyPairResource(resourceName, pair, proxyConfig(q, "privateKeyProvider")) }
    : { denied: missingEntries("cert and key, or tls.crt and tls.key", entries) };
});

/** Returns the clusters with the proxy's Secrets: its own, then istiod's. */
function clustersOfProxy(q: QueryContext): readonly string[] {
  const own = features.clusterId(q);
  const ofProxy = q.ask(cluster);
  return ofProxy === "" || ofProxy === own ? [own] : [ofProxy, own];
}

/** Returns the entries of a Secret. Roots may be in the Secret without the suffix, along with the key. */
function secretEntries(
  q: QueryContext,
  clusters: readonly string[],
  namespace: string,
  name: string,
  roots: boolean,
): SecretEntries | undefined {
  for (const id of clusters) {
    const secret =
      q.read(secretObjects, `${id}/${namespace}/${name}`) ??
      (roots ? q.read(secretObjects, `${id}/${namespace}/${withoutSuffix(name)}`) : undefined);
    if (secret !== undefined) return secret.spec.data;
  }
  return undefined;
}

function configMapEntries(
  q: QueryContext,
  clusters: readonly string[],
  namespace: string,
  name: string,
): SecretEntries | undefined {
  const found = clusters.flatMap((id) => q.read(configMaps, `${id}/${namespace}/${name}`) ?? [])[0];
  return (
    found &&
    Object.fromEntries(Object.entries(found.spec.data).map(([entry, text]) => [entry, new TextEncoder().encode(text)]))
  );
}

function withoutSuffix(name: string): string {
  return name.endsWith(rootCertificatesSuffix) ? name.slice(0, -rootCertificatesSuffix.length) : name;
}

function missingEntries(expected: string, entries: SecretEntries): string {
  const names = Object.keys(entries).sort();
  const listed = names.length < 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
  return `missing or empty: ${expected}; found: ${listed === "" ? "nothing" : listed}`;
}
