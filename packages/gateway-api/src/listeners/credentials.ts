import { configCluster, configMaps, type FullReference, type ObjectReference, secrets } from "@istiod/config-schema";
import {
  type CertificateUse,
  findKeyPair,
  findRootCertificates,
  keyPairFault,
  malformedKeyPairFault,
  rootsFault,
  type SecretEntries,
} from "@istiod/credentials";
import { query, type QueryContext } from "@istiod/incremental";
import { isGranted } from "../references/reference-grants.js";
import type { StatusFault } from "../status/conditions.js";
import { gatewayApiGroup } from "../names.js";

/** An object that refers to credentials: a Gateway or a ListenerSet. */
export interface CredentialUser {
  readonly kind: "Gateway" | "ListenerSet";
  readonly namespace: string;
}

/** The name of a credential for SDS, or the reason for which it cannot be used. */
export type Credential =
  | {
      readonly name: string;
      /** Set if the status of the API does not call it a fault, and proxies do not get it all the same. */
      readonly note?: string;
    }
  | { readonly fault: StatusFault };

/** Suffix of the names of credentials that have only root certificates. */
const rootsSuffix = "-cacert";

/** Returns the certificate and key that a reference names: those of a Secret that Envoy can read. */
export function certificateCredential(q: QueryContext, ref: ObjectReference, user: CredentialUser): Credential {
  const { namespace = user.namespace, name } = ref;
  // The existence of a Secret of another namespace is not revealed without a grant.
  if (namespace !== user.namespace && !isPermitted(q, { ref: { ...ref, namespace }, kind: "Secret", user }))
    return refused(`certificateRef ${name}/${namespace} not accessible to a Gateway in namespace "${user.namespace}"`);
  const { fault, note } = q.call(certificateCheck, certificateKey(ref, namespace, "server"));
  if (fault !== undefined)
    return {
      fault: {
        reason: "InvalidCertificateRef",
        message: `invalid certificate reference ${certificateText(ref)}, ${fault}`,
      },
    };
  return { name: `kubernetes-gateway://${namespace}/${name}`, ...(note !== undefined && { note }) };
}

/** Returns the fault of the client certificate that a Gateway refers to, or a note on why proxies do not get it. */
export function clientCertificateCheck(
  q: QueryContext,
  ref: ObjectReference,
  user: CredentialUser,
): { readonly fault?: StatusFault; readonly note?: string } {
  const { namespace = user.namespace, name } = ref;
  const key = certificateKey(ref, namespace, "client");
  // As for certificates of listeners, only what the reference says is told without a grant.
  if (
    key.isSecret &&
    namespace !== user.namespace &&
    !isPermitted(q, { ref: { ...ref, namespace }, kind: "Secret", user })
  )
    return refused(
      `clientCertificateRef ${name}/${namespace} not accessible to a Gateway in namespace "${user.namespace}"`,
    );
  const { fault, note } = q.call(certificateCheck, key);
  if (fault === undefined) return note === undefined ? {} : { note };
  return {
    fault: {
      reason: "InvalidClientCertificateRef",
      message: `invalid clientCertificateRef ${certificateText(ref)}, ${fault}`,
    },
  };
}

/** Returns the client certificate of a Gateway as a credential for SDS; undefined if it has none that can be used. */
export function clientCertificateCredential(
  q: QueryContext,
  ref: ObjectReference | undefined,
  user: CredentialUser,
): string | undefined {
  if (ref === undefined) return undefined;
  const { fault, note } = clientCertificateCheck(q, ref, user);
  if (fault !== undefined || note !== undefined) return undefined;
  return `kubernetes-gateway://${ref.namespace ?? user.namespace}/${ref.name}`;
}

/** Returns the root certificates that a reference names: those of a ConfigMap or Secret that Envoy can read. */
export function rootsCredential(q: QueryContext, ref: FullReference, user: CredentialUser): Credential {
  const { namespace = user.namespace, name, group, kind } = ref;
  const isSecret = group === "" && kind === "Secret";
  if (
    namespace !== user.namespace &&
    !isPermitted(q, { ref: { ...ref, namespace }, kind: isSecret ? "Secret" : "ConfigMap", user })
  )
    return refused(
      `caCertificateRef ${namespace}/${name} not accessible to a Gateway in namespace "${user.namespace}"`,
    );
  const text = `invalid CA certificate reference ${group}/${kind}/${name}.${ref.namespace ?? ""}`;
  if (!isSecret && (group !== "" || kind !== "ConfigMap"))
    return {
      fault: { reason: "InvalidCACertificateKind", message: `${text}, only secret and configmap are allowed` },
    };
  const fault = q.call(rootCertificatesFault, { kind: isSecret ? "Secret" : "ConfigMap", namespace, name });
  return fault === undefined
    ? { name: `${isSecret ? "kubernetes-gateway" : "configmap"}://${namespace}/${name}${rootsSuffix}` }
    : { fault: { reason: "InvalidCACertificateRef", message: `${text}, ${fault}` } };
}

function refused(message: string): { readonly fault: StatusFault } {
  return { fault: { reason: "RefNotPermitted", message: `${message} (missing a ReferenceGrant?)` } };
}

interface Permission {
  readonly ref: { readonly name: string; readonly namespace: string };
  readonly kind: "Secret" | "ConfigMap";
  readonly user: CredentialUser;
}

function isPermitted(q: QueryContext, { ref, kind, user }: Permission): boolean {
  return q.call(isGranted, {
    from: { group: gatewayApiGroup, kind: user.kind, namespace: user.namespace },
    to: { group: "", kind, namespace: ref.namespace, name: ref.name },
  });
}

interface CertificateKey {
  readonly isSecret: boolean;
  readonly namespace: string;
  readonly name: string;
  readonly use: CertificateUse;
}

function certificateKey(
  { group = "", kind = "Secret", name }: ObjectReference,
  namespace: string,
  use: CertificateUse,
): CertificateKey {
  return { isSecret: group === "" && kind === "Secret", namespace, name, use };
}

function certificateText({ group = "", kind = "", name, namespace = "" }: ObjectReference): string {
  return `${group}/${kind}/${name}.${namespace}`;
}

interface CertificateCheck {
  /** The reason for which a Secret has no certificate that a reference can name. */
  readonly fault?: string;
  /** The reason for which proxies do not get a certificate that is well-formed: Envoy does not take it. */
  readonly note?: string;
}

/** The faults of a Secret of the config cluster as a certificate. */
const certificateCheck = query(
  "gatewayApiCertificateCheck",
  (q, { isSecret, namespace, name, use }: CertificateKey): CertificateCheck => {
    if (!isSecret) return { fault: "only secret is allowed" };
    const secret = q.read(secrets, `${configCluster(q)}/${namespace}/${name}`);
    if (secret === undefined) return { fault: `secret ${namespace}/${name} not found` };
    const pair = findKeyPair(secret.spec.data);
    if (pair === undefined)
      return {
        fault: missingEntries(secret.spec.data, [
          ["cert", "key"],
          ["tls.crt", "tls.key"],
        ]),
      };
    const malformed = malformedKeyPairFault(pair);
    if (malformed !== undefined) return { fault: `the certificate is malformed: ${malformed}` };
    const unusable = keyPairFault(pair, use);
    if (unusable === undefined) return {};
    return { note: `proxies do not get the certificate of secret ${namespace}/${name}: ${unusable}` };
  },
);

interface RootsKey {
  readonly kind: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly name: string;
}

/** The reason for which an object of the config cluster has no root certificates; undefined if it has. */
export const rootCertificatesFault = query(
  "gatewayApiRootCertificatesFault",
  (q, { kind, namespace, name }: RootsKey): string | undefined => {
    const key = `${configCluster(q)}/${namespace}/${name}`;
    const entries = kind === "Secret" ? q.read(secrets, key)?.spec.data : bytesOf(q.read(configMaps, key)?.spec.data);
    if (entries === undefined) return `${kind.toLowerCase()} ${namespace}/${name} not found`;
    const roots = findRootCertificates(entries);
    if (roots === undefined) return missingEntries(entries, [["cacert"], ["ca.crt"]]);
    const fault = rootsFault(roots);
    return fault === undefined ? undefined : `the bundle is malformed: ${fault}`;
  },
);

function bytesOf(data: Readonly<Record<string, string>> | undefined): SecretEntries | undefined {
  const encoder = new TextEncoder();
  return data && Object.fromEntries(Object.entries(data).map(([name, text]) => [name, encoder.encode(text)]));
}

/** Names the entries that are expected, one of several sets, and those that there are. */
function missingEntries(entries: SecretEntries, expected: readonly (readonly string[])[]): string {
  const empty = expected.find((names) => names.every((name) => Object.hasOwn(entries, name)));
  if (empty !== undefined)
    return empty.length === 1
      ? `found key "${empty[0]}", but it was empty`
      : `found keys ${empty.map((name) => `"${name}"`).join(" and ")}, but they were empty`;
  const names = Object.keys(entries).sort();
  const found =
    names.length <= 3 ? names.join(", ") : `${names.slice(0, 3).join(", ")}, and ${names.length - 3} more...`;
  const sets = expected.map((set) => (set.length === 1 ? set.join("") : `(${set.join(" and ")})`)).join(" or ");
  return `found secret, but didn't have expected keys ${sets}; found: ${found === "" ? "none of these" : found}`;
}
