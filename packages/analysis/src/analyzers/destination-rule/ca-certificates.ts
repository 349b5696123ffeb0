import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  serviceEntriesByHost,
} from "@istiod/config-schema";
import { ClientTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, resolveHost } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { gatewaysRoutingTo } from "../../queries/gateway-routes.js";
import { type RuleTls, tlsSettings } from "./tls-settings.js";

export const caCertificateAnalyzer: Analyzer = {
  name: "destinationrule.CaCertificateAnalyzer",
  description: "Checks that DestinationRules that originate TLS verify the certificates of servers",
  codes: ["IST0128", "IST0129"],
  rules: [rule(destinationRuleKind, destinationRules, checkTls)],
};

function checkTls(object: DestinationRuleObject, context: AnalysisContext): void {
  for (const settings of tlsSettings(object)) checkSettings(object, settings, context);
}

/**
 * Reports TLS settings with which the identity of servers is not verified, or TLS is not used at all. Without
 * caCertificates, the roots of the proxy's system verify.
 */
function checkSettings(
  { namespace, spec }: DestinationRuleObject,
  { tls, path, target, portLevel }: RuleTls,
  { q, report }: AnalysisContext,
): void {
  if (tls.mode !== Mode.SIMPLE && tls.mode !== Mode.MUTUAL) return;
  const code = portLevel ? "IST0129" : "IST0128";
  const mode = `TLS mode ${Mode[tls.mode]} is set for ${target}`;
  const host = resolveHost(spec.host, { namespace, domain: features.domainSuffix(q) });
  const isConfigMap = (name: string): boolean => name.startsWith("configmap://");
  const ofGateways = spec.workloadSelector === undefined;
  if (tls.credentialName !== "" && !isConfigMap(tls.credentialName) && ofGateways) {
    if (q.call(gatewaysRoutingTo, host).length > 0) return;
    report(
      code,
      [...path, "credentialName"],
      `${mode}, but sidecars connect in plaintext: without a workloadSelector, only gateways read credentialName, and none routes to the host; add a workloadSelector`,
    );
    return;
  }
  if (tls.insecureSkipVerify === true) {
    report(code, [...path, "insecureSkipVerify"], `${mode} with insecureSkipVerify, so that servers are not verified`);
    return;
  }
  const named = tls.caCertCredentialName !== "" && (!ofGateways || isConfigMap(tls.caCertCredentialName));
  if (named || tls.credentialName !== "" || tls.caCertificates !== "") return;
  const identities = q.read(serviceEntriesByHost, host).some((entry) => entry.spec.subjectAltNames.length > 0);
  if (tls.sni !== "" && tls.subjectAltNames.length === 0 && !identities)
    report(
      code,
      [...path, "subjectAltNames"],
      `${mode} with sni and without subjectAltNames and caCertificates, so that any certificate of a public authority is accepted, whatever its name; set subjectAltNames`,
    );
  else
    report(
      code,
      [...path, "caCertificates"],
      `${mode} without caCertificates, so that servers are verified with the roots of the proxy's system; set caCertificates if a private authority issued their certificates`,
      "Info",
    );
}
