import {
  configCluster,
  kubernetesGatewayKind,
  type KubernetesGatewayListener,
  kubernetesGateways,
  listenerSetKind,
  listenerSets,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { certificateFault } from "../../queries/certificates.js";

/** Checks what the statuses of the Gateway API do not show: whether certificates are valid now. */
export const listenerCertificateAnalyzer: Analyzer = {
  name: "k8sgateway.CertificateAnalyzer",
  description: "Checks that the certificates of listeners have not expired",
  codes: ["IST0161"],
  rules: [
    rule(kubernetesGatewayKind, kubernetesGateways, ({ namespace, spec }, context) =>
      checkListeners(namespace, spec.listeners, context),
    ),
    rule(listenerSetKind, listenerSets, ({ namespace, spec }, context) =>
      checkListeners(namespace, spec.listeners, context),
    ),
  ],
};

function checkListeners(
  own: string,
  listeners: readonly KubernetesGatewayListener[],
  { q, report }: AnalysisContext,
): void {
  for (const [i, { name: listener, tls }] of listeners.entries())
    for (const [j, { group = "", kind = "Secret", namespace = own, name }] of (tls?.certificateRefs ?? []).entries()) {
      if (group !== "" || kind !== "Secret") continue;
      const fault = certificateFault(q, { key: `${configCluster(q)}/${namespace}/${name}`, use: "server" });
      // The status has the others: proxies do not get such a certificate.
      if (fault?.served !== true) continue;
      report(
        fault.code,
        ["spec", "listeners", i, "tls", "certificateRefs", j],
        `listener ${listener}: clients reject its certificate, which is served all the same: Secret ${namespace}/${name}: ${fault.text}`,
      );
    }
}
