import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as TlsMode,
} from "@istiod/istio-api/networking/v1alpha3/gateway";
import { secrets } from "@istiod/config-schema";
import { isGranted } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";
import { features } from "../mesh/features.js";
import { verifiedInNamespace, verifiedNamespace } from "../proxy/facts.js";
import { isVerifiedWorkload } from "../proxy/verified-workload.js";
import { ruleRefersToSecret } from "../traffic-policy/credential-rules.js";
import { mayPresent } from "./client-certificate.js";
import {
  type CredentialReference,
  credentialReference,
  declaredCredential,
  rootCertificatesSuffix,
  serverRootsCredentialName,
} from "./credential-name.js";
import { hasIdentityOf, workloadNamespaceOf } from "./gateway-identity.js";
import { gatewayObject, mergedGateway } from "./merged-gateway.js";
import { ownSecretPermission, type SecretPermission } from "./secret-permissions.js";
import { servesOnVerifiedWorkload } from "./verified-router.js";

const parentsAnnotation = "internal.istio.io/parents";

/**
 * Access to a secret: granted, or denied because of the namespace, the workload, the lack of a reference, or the
 * permission of the service account.
 */
export type CredentialAccess =
  | "granted"
  | "other-namespace"
  | "unknown-workload"
  | "not-referenced"
  | "not-permitted"
  | "not-reviewable"
  | "not-reviewed";

const accessOf: Readonly<Record<SecretPermission, CredentialAccess>> = {
  allowed: "granted",
  denied: "not-permitted",
  undecidable: "not-reviewable",
};

/**
 * The access of the client to the Secret that a resource name refers to. The Secret must be in the namespace of the
 * client's authenticated identity. The client's Pod or WorkloadEntry must be known, and selected by a Gateway that
 * refers to the Secret, or be a client of a DestinationRule that does, and where permissions are required, its service
 * account must have that to list Secrets in its namespace, except for root certificates, which are public. Names of the
 * form `kubernetes-gateway://namespace/name` are granted only for Gateways in that namespace, and those that a
 * ReferenceGrant permits, to the service account that the Gateway was generated for, if any. Source:
 * pilot/pkg/xds/sds.go and `VerifiedCertificateReferences` in pilot/pkg/model/gateway.go, which grant the other names
 * to every proxy whose service account may list Secrets.
 */
export const credentialAccess = query("credentialAccess", (q, resourceName: string): CredentialAccess => {
  const reference = credentialReference(resourceName);
  const own = q.ask(verifiedNamespace);
  if (reference === undefined || own === undefined) return "not-referenced";
  const { source, name, namespace = own } = reference;
  if (source === "configmap") return "not-referenced";
  const isOwn = q.ask(verifiedInNamespace, namespace);
  if (!isOwn && source !== "kubernetes-gateway") return "other-namespace";
  if (!q.ask(isVerifiedWorkload)) return "unknown-workload";
  const isReferenced =
    gatewayRefersTo(q, { source, namespace, name }) ||
    (source === "kubernetes-gateway" && q.call(mayPresent, resourceName)) ||
    (source === "kubernetes" && q.call(ruleRefersToSecret, { namespace, name }));
  if (!isReferenced) return isOwn ? "not-referenced" : "other-namespace";
  if (source !== "kubernetes" || name.endsWith(rootCertificatesSuffix)) return "granted";
  const permission = q.call(ownSecretPermission);
  return permission === undefined ? "not-reviewed" : accessOf[permission];
});

/** Reports whether a server of a Gateway of the client has a credential. Clusters may have it as well. */
export const isServerCredential = query("isServerCredential", (q, resourceName: string): boolean => {
  const reference = credentialReference(resourceName);
  const own = q.ask(verifiedNamespace);
  if (reference === undefined || own === undefined) return false;
  const { source, name, namespace = own } = reference;
  return gatewayRefersTo(q, { source, namespace, name });
});

/** @param target in the client's own namespace */
function gatewayRefersTo(q: QueryContext, target: CredentialReference): boolean {
  const references = q.call(gatewayReferences)[referenceKey(target)] ?? [];
  return references.some(
    ({ gateway, namespace }) =>
      (namespace ?? target.namespace) === target.namespace &&
      (target.source !== "kubernetes-gateway" || isOfGateway(q, gateway, target)) &&
      q.call(servesOnVerifiedWorkload, gateway),
  );
}

/** A reference of a Gateway (`namespace/name`) to a credential. */
interface GatewayReference {
  readonly gateway: string;
  /** As declared. */
  readonly namespace: string | undefined;
}

/** The references of the client's Gateways by {@link referenceKey}. Access to each of many secrets looks up its own. */
const gatewayReferences = query(
  "gatewayCredentialReferences",
  (q): Readonly<Record<string, readonly GatewayReference[]>> => {
    const found: Record<string, Map<string, GatewayReference>> = {};
    for (const { gateway, tls } of q.call(mergedGateway)?.groups.flatMap((group) => group.servers) ?? [])
      for (const declared of tls === undefined ? [] : namesOf(tls).map(declaredCredential)) {
        if (declared === undefined) continue;
        const { namespace } = declared;
        (found[referenceKey(declared)] ??= new Map()).set(`${gateway} ${namespace ?? ""}`, { gateway, namespace });
      }
    return Object.fromEntries(Object.entries(found).map(([key, references]) => [key, [...references.values()]]));
  },
);

function referenceKey({ source, name }: CredentialReference): string {
  return `${source}/${name}`;
}

/** Returns the credentials that a server's proxy requests. */
function namesOf({
  credentialName,
  credentialNames,
  caCertCredentialName,
  mode,
}: ServerTLSSettings): readonly string[] {
  const names = credentialNames.length > 0 ? credentialNames : credentialName === "" ? [] : [credentialName];
  const isMutual = mode === TlsMode.MUTUAL || mode === TlsMode.OPTIONAL_MUTUAL;
  return [
    ...names,
    ...(isMutual ? names.map((name) => name + rootCertificatesSuffix) : []),
    ...(caCertCredentialName === "" ? [] : [serverRootsCredentialName(caCertCredentialName)]),
  ];
}

/**
 * Reports whether the client serves a Gateway in the namespace of its workloads, and that Gateway may use a Secret: it
 * is in the Gateway's namespace, or a ReferenceGrant permits the reference. Istio's own Gateways use the grants of the
 * Gateway API's.
 *
 * @param target in a namespace
 */
function isOfGateway(q: QueryContext, key: string, { namespace = "", name }: CredentialReference): boolean {
  const gateway = q.call(gatewayObject, key);
  if (gateway === undefined || !hasIdentityOf(q, gateway)) return false;
  const { namespace: own, annotations } = gateway;
  const owner = workloadNamespaceOf(gateway);
  const isOfListenerSet = annotations[parentsAnnotation]?.startsWith("ListenerSet/") === true;
  if (namespace === own && (isOfListenerSet || own === owner)) return true;
  // Roots that the Gateway of a ListenerSet declares for its clients.
  if (namespace === owner && name.endsWith(rootCertificatesSuffix)) return true;
  const kind = isOfListenerSet ? "ListenerSet" : "Gateway";
  const from = { group: "gateway.networking.k8s.io", kind, namespace: isOfListenerSet ? own : owner };
  return secretsRead(q, namespace, name).every((secret) =>
    q.call(isGranted, { from, to: { group: "", kind: "Secret", namespace, name: secret } }),
  );
}

/**
 * Returns the names of the Secrets that are read for a credential: for root certificates, those of a Secret with a key,
 * and also of one with the suffix, if there is one.
 */
function secretsRead(q: QueryContext, namespace: string, name: string): readonly string[] {
  if (!name.endsWith(rootCertificatesSuffix)) return [name];
  const withKey = name.slice(0, -rootCertificatesSuffix.length);
  const hasOwn = q.read(secrets, `${features.clusterId(q)}/${namespace}/${name}`) !== undefined;
  return hasOwn ? [withKey, name] : [withKey];
}
