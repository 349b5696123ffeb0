import { destinationRuleKind, type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as Mode,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features, resolveHost, rootCertificatesSuffix, rootsCredentialName } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { credentialProblem, type CredentialReader, type NeededCredential } from "../../queries/credentials.js";
import { gatewaysRoutingTo } from "../../queries/gateway-routes.js";
import { selectedPods } from "../../queries/pods.js";
import { tlsSettings } from "./tls-settings.js";

export const credentialAnalyzer: Analyzer = {
  name: "destinationrule.CredentialAnalyzer",
  description: "Checks that the credentials of DestinationRules exist where their clients are, and are valid",
  codes: ["IST0101", "IST0161", "MESH0061"],
  rules: [rule(destinationRuleKind, destinationRules, checkCredentials)],
};

interface ClientCredential extends NeededCredential {
  readonly field: "credentialName" | "caCertCredentialName";
}

function checkCredentials(object: DestinationRuleObject, { q, report }: AnalysisContext): void {
  for (const { tls, path, target } of tlsSettings(object)) {
    for (const credential of credentialsOf(tls)) {
      const { places, readers } = readersOf(q, object);
      const problem = credentialProblem(q, credential, { places, called: readers, use: "client" });
      if (problem === undefined) continue;
      const { field } = credential;
      const name = JSON.stringify(tls[field]);
      if (problem.kind === "missing") {
        const consequence = `so that connections to ${target} fail`;
        report("IST0101", [...path, field], `referenced ${field} ${name} not found, ${consequence}: ${problem.reason}`);
        continue;
      }
      const { object: of, fault } = problem;
      const consequence = !fault.served
        ? `connections to ${target} fail`
        : credential.roots
          ? `servers of ${target} whose certificates it issued are rejected`
          : `servers of ${target} reject it`;
      report(fault.code, [...path, field], `credential ${name} is invalid, so ${consequence}: ${of}: ${fault.text}`);
    }
  }
}

/** Returns the credentials that clients ask for: a key for mutual TLS, and roots unless nothing is verified. */
function credentialsOf(tls: ClientTLSSettings): readonly ClientCredential[] {
  const { mode, credentialName: own, caCertCredentialName, insecureSkipVerify } = tls;
  if (mode !== Mode.SIMPLE && mode !== Mode.MUTUAL) return [];
  const key: ClientCredential[] =
    own === "" || mode !== Mode.MUTUAL ? [] : [{ name: own, roots: false, field: "credentialName" }];
  if (insecureSkipVerify === true) return key;
  if (caCertCredentialName !== "")
    return [...key, { name: rootsCredentialName(caCertCredentialName), roots: true, field: "caCertCredentialName" }];
  return own === "" ? key : [...key, { name: own + rootCertificatesSuffix, roots: true, field: "credentialName" }];
}

/**
 * Returns where the clients are that read the credentials of a rule: those that its workload selector selects; without
 * one, only gateways read them.
 */
function readersOf(
  q: QueryContext,
  { namespace, cluster, spec }: DestinationRuleObject,
): { readonly places: readonly CredentialReader[]; readonly readers: string } {
  if (spec.workloadSelector !== undefined) {
    const selected = q.call(selectedPods, { namespace, labels: spec.workloadSelector.matchLabels });
    return { places: selected.length > 0 ? selected : [{ namespace, cluster }], readers: "the rule's workloads" };
  }
  const host = resolveHost(spec.host, { namespace, domain: features.domainSuffix(q) });
  return { places: q.call(gatewaysRoutingTo, host), readers: "the gateways that route to it" };
}
