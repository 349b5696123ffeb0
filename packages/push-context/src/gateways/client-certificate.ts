import { clientCertificateAnnotation } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";
import { hasIdentityOf } from "./gateway-identity.js";
import { gatewayObject, mergedGateway } from "./merged-gateway.js";
import { servesOnVerifiedWorkload } from "./verified-router.js";

/**
 * The credential that the client presents to backends to which a BackendTLSPolicy applies: that of
 * `spec.tls.backend.clientCertificateRef` of the Gateway that it serves, the first one by name if there are several.
 * Undefined if there is none.
 */
export const backendClientCertificate = query("backendClientCertificate", (q): string | undefined => {
  for (const gateway of q.call(mergedGateway)?.gatewayNames ?? []) {
    const name = declaredBy(q, gateway);
    if (name !== undefined) return name;
  }
  return undefined;
});

/**
 * Reports whether a Gateway of the client, in the namespace of its authenticated identity, declares a credential as its
 * client certificate. The Gateway API decides whether it may refer to another namespace.
 *
 * @param credential for example `kubernetes-gateway://namespace/name`
 */
export const mayPresent = query("mayPresentClientCertificate", (q, credential: string): boolean =>
  (q.call(mergedGateway)?.gatewayNames ?? []).some((name) => {
    const gateway = q.call(gatewayObject, name);
    return (
      gateway?.annotations[clientCertificateAnnotation] === credential &&
      hasIdentityOf(q, gateway) &&
      q.call(servesOnVerifiedWorkload, name)
    );
  }),
);

function declaredBy(q: QueryContext, gateway: string): string | undefined {
  return q.call(gatewayObject, gateway)?.annotations[clientCertificateAnnotation];
}
