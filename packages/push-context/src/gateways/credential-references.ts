import { ServerTLSSettings_TLSmode as TlsMode } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { query, type QueryContext } from "@istiod/incremental";
import { verifiedAsServiceAccount, verifiedInNamespace } from "../proxy/facts.js";
import { gatewayObject, mergedGateway } from "./merged-gateway.js";

const gatewaySecretPrefix = "kubernetes-gateway://";
const rootsSuffix = "-cacert";
const serviceAccountAnnotation = "internal.istio.io/service-account-name";
const parentNamespaceAnnotation = "internal.istio.io/parent-namespace";

/**
 * Reports whether a Gateway that the client serves refers to a credential `kubernetes-gateway://namespace/name` in the
 * Gateway's own namespace. The client must be authenticated in that namespace, as the service account that the Gateway
 * was generated for, if any. Source: `VerifiedCertificateReferences` in pilot/pkg/model/gateway.go.
 */
export const refersToCredential = query("refersToCredential", (q, resourceName: string): boolean => {
  const [namespace = ""] = resourceName.slice(gatewaySecretPrefix.length).split("/");
  if (!resourceName.startsWith(gatewaySecretPrefix) || !q.ask(verifiedInNamespace, namespace)) return false;
  const servers = q.call(mergedGateway)?.groups.flatMap((group) => group.servers) ?? [];
  return servers.some(({ gateway, tls }) => {
    if (tls === undefined || !gateway.startsWith(`${namespace}/`) || !isGeneratedForClient(q, gateway)) return false;
    const names = tls.credentialNames.length > 0 ? tls.credentialNames : [tls.credentialName];
    const mutual = tls.mode === TlsMode.MUTUAL || tls.mode === TlsMode.OPTIONAL_MUTUAL;
    return (
      tls.caCertCredentialName === resourceName ||
      names.some((name) => name === resourceName || (mutual && name + rootsSuffix === resourceName))
    );
  });
});

function isGeneratedForClient(q: QueryContext, key: string): boolean {
  const annotations = q.call(gatewayObject, key)?.annotations ?? {};
  const account = annotations[serviceAccountAnnotation] ?? "";
  const owner = annotations[parentNamespaceAnnotation];
  return (account === "" || q.ask(verifiedAsServiceAccount, account)) && (!owner || q.ask(verifiedInNamespace, owner));
}
