import { configMaps, secrets as secretObjects } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type CertificateUse,
  findKeyPair,
  findRootCertificates,
  type KeyPair,
  keyPairFault,
  type RootCertificates,
  rootsFault,
  type SecretEntries,
} from "@istiod/credentials";
import {
  cluster,
  type CredentialAccess,
  credentialAccess,
  credentialReference,
  features,
  isInSecretCluster,
  isServerCredential,
  proxyConfig,
  rootCertificatesSuffix,
  verifiedNamespace,
} from "@istiod/push-context";
import { type Resource, ResourceSet } from "@istiod/resources";
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
  const found =
    source === "configmap"
      ? configMapKey(q, clusters, namespace, withoutSuffix(name))
      : secretKey(q, clusters, namespace, name, roots);
  const object = `${source === "configmap" ? "ConfigMap" : "Secret"} ${namespace}/${withoutSuffix(name)}`;
  if (found === undefined) return { denied: `${object} not found` };
  const material = roots ? q.call(rootsOf, found) : q.call(keyPairOf, { ...found, use: useOf(q, resourceName) });
  if (typeof material === "string") return { denied: material };
  if ("fault" in material) return { denied: `${object} is not valid: ${material.fault}` };
  return {
    resource:
      "certificates" in material
        ? rootsResource(resourceName, material)
        : keyPairResource(resourceName, material, proxyConfig(q, "privateKeyProvider")),
  };
});

/** An object with certificates, by its key in its collection. */
interface ObjectKey {
  readonly kind: "Secret" | "ConfigMap";
  readonly key: string;
}

/** Fault for which Envoy would reject the content of an object. */
interface Unusable {
  readonly fault: string;
}

/** The root certificates of an object, or why there are none. Parsed once for all clients. */
const rootsOf = query("rootCertificatesOf", (q, object: ObjectKey): RootCertificates | Unusable | string => {
  const entries = entriesOf(q, object);
  const roots = findRootCertificates(entries);
  if (roots === undefined) return missingEntries("cacert or ca.crt", entries);
  const fault = rootsFault(roots);
  return fault === undefined ? roots : { fault };
});

/** A Secret with the use of its certificate. */
interface UsedObject extends ObjectKey {
  readonly use: CertificateUse;
}

function useOf(q: QueryContext, resourceName: string): CertificateUse {
  return q.call(isServerCredential, resourceName) ? "server" : "client";
}

/** The certificate and key of a Secret, or why there are none. Parsed once for all clients. */
const keyPairOf = query("keyPairOf", (q, object: UsedObject): KeyPair | Unusable | string => {
  const entries = entriesOf(q, object);
  const pair = findKeyPair(entries);
  if (pair === undefined) return missingEntries("cert and key, or tls.crt and tls.key", entries);
  const fault = keyPairFault(pair, object.use);
  return fault === undefined ? pair : { fault };
});

function entriesOf(q: QueryContext, { kind, key }: ObjectKey): SecretEntries {
  if (kind === "Secret") return q.read(secretObjects, key)?.spec.data ?? {};
  const texts = Object.entries(q.read(configMaps, key)?.spec.data ?? {});
  return Object.fromEntries(texts.map(([entry, text]) => [entry, new TextEncoder().encode(text)]));
}

/** Returns the clusters with the proxy's Secrets: its own, then istiod's. */
export function clustersOfProxy(q: QueryContext): readonly string[] {
  const own = features.clusterId(q);
  const ofProxy = q.ask(cluster);
  return ofProxy === "" || ofProxy === own ? [own] : [ofProxy, own];
}

/** Returns the key of a Secret. Roots may be in the Secret without the suffix, along with the key. */
function secretKey(
  q: QueryContext,
  clusters: readonly string[],
  namespace: string,
  name: string,
  roots: boolean,
): ObjectKey | undefined {
  const names = roots ? [name, withoutSuffix(name)] : [name];
  const keys = clusters.flatMap((id) => names.map((each) => `${id}/${namespace}/${each}`));
  const key = keys.find((candidate) => q.read(secretObjects, candidate) !== undefined);
  return key === undefined ? undefined : { kind: "Secret", key };
}

function configMapKey(
  q: QueryContext,
  clusters: readonly string[],
  namespace: string,
  name: string,
): ObjectKey | undefined {
  const keys = clusters.map((id) => `${id}/${namespace}/${name}`);
  const key = keys.find((candidate) => q.read(configMaps, candidate) !== undefined);
  return key === undefined ? undefined : { kind: "ConfigMap", key };
}

function withoutSuffix(name: string): string {
  return name.endsWith(rootCertificatesSuffix) ? name.slice(0, -rootCertificatesSuffix.length) : name;
}

function missingEntries(expected: string, entries: SecretEntries): string {
  const names = Object.keys(entries).sort();
  const listed = names.length < 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
  return `missing or empty: ${expected}; found: ${listed === "" ? "nothing" : listed}`;
}
