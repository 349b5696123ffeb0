import { configMaps, secrets as secretObjects } from "@istiod/config-ingestion";
import { query, type QueryContext } from "@istiod/incremental";
import {
  cluster,
  features,
  proxyConfig,
  refersToCredential,
  verifiedIn,
  verifiedNamespace,
} from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
import { rootCertificatesSuffix } from "../resource-names.js";
import { findKeyPair, findRootCertificates, type SecretEntries } from "./certificates.js";
import { credentialReference } from "./credential-name.js";
import { keyPairResource, rootsResource } from "./secret-resource.js";

/** What becomes of a request for a secret: the resource, or why there is none, in words that tell nothing of any content. */
export type SecretLookup = { readonly resource: Resource } | { readonly denied: string };

/** Secrets are given only to who names them: nobody has a set of them. */
export const secrets = query("secrets", (): ResourceSet => ResourceSet.empty);

/** The secret of this name, if the client may have it (SDS). */
export const secretByName = query("secretByName", (q, name: string): Resource | undefined => {
  const lookup = q.call(secretLookup, name);
  return "resource" in lookup ? lookup.resource : undefined;
});

/**
 * The secret of this name, or why the client is not given it. An unauthenticated client is given none; a Secret only who runs in its namespace;
 * one of the Gateway API only who serves a Gateway that refers to it; the certificates of a ConfigMap are public.
 * Source: pilot/pkg/xds/sds.go. The original also asks Kubernetes whether the proxy's service account may list Secrets.
 */
export const secretLookup = query("secretLookup", (q, resourceName: string): SecretLookup => {
  const own = q.ask(verifiedNamespace);
  if (own === undefined) return { denied: "the proxy is not authenticated; secrets are served only on the TLS port" };
  const reference = credentialReference(resourceName);
  if (reference === undefined) return { denied: "not a valid secret name" };
  const { source, name } = reference;
  const namespace = reference.namespace ?? own;
  if (source === "kubernetes" && !q.ask(verifiedIn, namespace))
    return { denied: `the proxy is not in namespace ${namespace}` };
  if (source === "kubernetes-gateway" && !q.call(refersToCredential, resourceName))
    return { denied: "no Gateway of the proxy is allowed to reference it" };

  const clusters = source === "kubernetes" ? clustersOfProxy(q) : [features.clusterId(q)];
  const roots = source === "configmap" || name.endsWith(rootCertificatesSuffix);
  const found =
    source === "configmap"
      ? configMapEntries(q, clusters, namespace, withoutSuffix(name))
      : secretEntries(q, clusters, namespace, name, roots);
  if (found === undefined)
    return {
      denied: `${source === "configmap" ? "ConfigMap" : "Secret"} ${namespace}/${withoutSuffix(name)} not found`,
    };
  if (roots) {
    const authority = findRootCertificates(found);
    return authority
      ? { resource: rootsResource(resourceName, authority) }
      : { denied: missingEntries("cacert or ca.crt", found) };
  }
  const pair = findKeyPair(found);
  return pair
    ? { resource: keyPairResource(resourceName, pair, proxyConfig(q, "privateKeyProvider")) }
    : { denied: missingEntries("cert and key, or tls.crt and tls.key", found) };
});

/** Where Secrets are looked for: in the proxy's cluster, then in istiod's own. */
function clustersOfProxy(q: QueryContext): readonly string[] {
  const own = features.clusterId(q);
  const ofProxy = q.ask(cluster);
  return ofProxy === "" || ofProxy === own ? [own] : [ofProxy, own];
}

/** The entries of a Secret; roots may stand beside the key, in the Secret without the suffix. */
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
