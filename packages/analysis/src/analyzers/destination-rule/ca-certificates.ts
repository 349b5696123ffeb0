import { destinationRuleKind, type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as Mode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const caCertificateAnalyzer: Analyzer = {
  name: "destinationrule.CaCertificateAnalyzer",
  description: "Checks that DestinationRules that originate TLS verify the certificates of servers",
  codes: ["IST0128", "IST0129"],
  rules: [rule(destinationRuleKind, destinationRules, checkTls)],
};

function checkTls({ spec }: DestinationRuleObject, { report }: AnalysisContext): void {
  const { trafficPolicy, workloadSelector, host } = spec;
  const selects = workloadSelector !== undefined;
  const path = ["spec", "trafficPolicy"];
  if (isUnverified(trafficPolicy?.tls, selects)) {
    report("IST0128", [...path, "tls", "caCertificates"], unverified(JSON.stringify(host), trafficPolicy?.tls));
  }
  for (const [i, { tls, port }] of (trafficPolicy?.portLevelSettings ?? []).entries()) {
    if (!isUnverified(tls, selects)) continue;
    report(
      "IST0129",
      [...path, "portLevelSettings", i, "tls", "caCertificates"],
      unverified(`port ${port?.number ?? 0} of ${JSON.stringify(host)}`, tls),
    );
  }
}

/**
 * Reports whether server certificates are not verified. A credential includes CA certificates, but only with a
 * selector.
 */
function isUnverified(tls: ClientTLSSettings | undefined, selects: boolean): boolean {
  if (tls === undefined || (tls.mode !== Mode.SIMPLE && tls.mode !== Mode.MUTUAL)) return false;
  const isReadable = (name: string): boolean => name !== "" && (selects || name.startsWith("configmap://"));
  if (isReadable(tls.caCertCredentialName)) return false;
  return tls.caCertificates === "" && !(tls.credentialName !== "" && selects);
}

function unverified(target: string, tls: ClientTLSSettings | undefined): string {
  const credential = tls?.credentialName ? ", or add a workloadSelector, without which credentialName is not read" : "";
  return `TLS mode ${Mode[tls?.mode ?? Mode.DISABLE]} is set for ${target} but no caCertificates to validate the server's identity; set caCertificates${credential}`;
}
