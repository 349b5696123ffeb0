import { configCluster, configMaps, secrets } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { query, type QueryContext } from "@istiod/incremental";
import type { CertificateUse } from "@istiod/credentials";
import { declaredCredential, rootCertificatesSuffix } from "@istiod/push-context";
import { quotedNearest } from "../suggestions.js";
import { certificateFault, type CredentialFault, rootsFault } from "./certificates.js";

/** A place where proxies read credentials. */
export interface CredentialReader {
  readonly namespace: string;
  readonly cluster: string;
}

/** A credential that proxies ask for. */
export interface NeededCredential {
  /** The name as in the object, or derived from it. */
  readonly name: string;
  /** Reports whether the root certificates are asked for, rather than a key and its certificate. */
  readonly roots: boolean;
}

/** The proxies that ask for a credential. */
export interface CredentialReaders {
  readonly places: readonly CredentialReader[];
  /** In the words of the message, such as `the gateway's pods`. */
  readonly called: string;
  readonly use: CertificateUse;
}

/** The reason why proxies do not get a credential, or get one that does not work. */
export type CredentialProblem =
  | { readonly kind: "missing"; readonly reason: string }
  | { readonly kind: "faulty"; readonly object: string; readonly fault: CredentialFault };

/**
 * Returns the problem of a credential for its readers; undefined if there is none, or if istiod does not serve it, as
 * one of an external SDS server. The first reader's namespace is named.
 */
export function credentialProblem(
  q: QueryContext,
  { name, roots }: NeededCredential,
  { places, called: readers, use }: CredentialReaders,
): CredentialProblem | undefined {
  const [first] = places;
  const reference = declaredCredential(name);
  if (reference === undefined) return undefined;
  const bare = roots ? withoutSuffix(reference.name) : reference.name;
  if (reference.source === "configmap") return configMapProblem(q, reference.namespace ?? "", bare);
  if (first === undefined) return undefined;
  const { namespace = first.namespace } = reference;
  if (!places.some((place) => place.namespace === namespace))
    return {
      kind: "missing",
      reason: `it is in namespace ${namespace}, and ${readers} are in namespace ${first.namespace}: Secrets are served only within their namespace`,
    };
  const names = roots ? [bare + rootCertificatesSuffix, bare] : [bare];
  const found = findSecret(q, names, namespace, places);
  if (found === undefined) return { kind: "missing", reason: reasonMissing(q, namespace, bare, readers) };
  const fault = roots ? rootsFault(q, { kind: "Secret", key: found }) : certificateFault(q, { key: found, use });
  return fault && { kind: "faulty", object: `Secret ${found.slice(found.indexOf("/") + 1)}`, fault };
}

/** Returns the key of the Secret that proxies get for a key and certificate; undefined if there is none. */
export function certificateSecret(
  q: QueryContext,
  name: string,
  places: readonly CredentialReader[],
): string | undefined {
  const reference = declaredCredential(name);
  const [first] = places;
  if (reference === undefined || reference.source === "configmap" || first === undefined) return undefined;
  const { namespace = first.namespace } = reference;
  return places.some((place) => place.namespace === namespace)
    ? findSecret(q, [reference.name], namespace, places)
    : undefined;
}

/** Returns the key of the first Secret with one of the names, in the clusters of the readers or of the config. */
function findSecret(
  q: QueryContext,
  names: readonly string[],
  namespace: string,
  places: readonly CredentialReader[],
): string | undefined {
  const clusters = [...new Set([...places.map(({ cluster }) => cluster), configCluster(q)])];
  return names
    .flatMap((each) => clusters.map((cluster) => `${cluster}/${namespace}/${each}`))
    .find((key) => q.read(secrets, key) !== undefined);
}

function configMapProblem(q: QueryContext, namespace: string, name: string): CredentialProblem | undefined {
  const key = `${configCluster(q)}/${namespace}/${name}`;
  if (q.read(configMaps, key) === undefined)
    return { kind: "missing", reason: `there is no ConfigMap ${namespace}/${name}` };
  const fault = rootsFault(q, { kind: "ConfigMap", key });
  return fault && { kind: "faulty", object: `ConfigMap ${namespace}/${name}`, fault };
}

function reasonMissing(q: QueryContext, namespace: string, name: string, readers: string): string {
  const elsewhere = q.call(namespacesOfSecret, name).filter((other) => other !== namespace);
  const hint =
    elsewhere.length > 0
      ? `; there is one in namespace ${elsewhere.join(", ")}`
      : quotedNearest(nearestNames(name, q.call(secretNamesIn, namespace)));
  return `there is no such Secret in namespace ${namespace}, where ${readers} are${hint}`;
}

function withoutSuffix(name: string): string {
  return name.endsWith(rootCertificatesSuffix) ? name.slice(0, -rootCertificatesSuffix.length) : name;
}

const secretNamesIn = query("secretNamesIn", (q, namespace: string): readonly string[] => {
  const names = q.keys(secrets).flatMap((key) => {
    const [, of, name] = key.split("/");
    return of === namespace && name !== undefined ? [name] : [];
  });
  return [...new Set(names)];
});

const namespacesOfSecret = query("namespacesOfSecret", (q, name: string): readonly string[] => [
  ...new Set(q.keys(secrets).flatMap((key) => (key.endsWith(`/${name}`) ? [key.split("/")[1] ?? ""] : []))),
]);
