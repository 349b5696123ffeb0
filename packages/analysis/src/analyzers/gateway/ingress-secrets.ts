import { ingressKind, type IngressObject, ingresses, secrets } from "@istiod/config-schema";
import { ingressGatewayOf } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { hostsWithoutCertificate } from "../../queries/certificate-hosts.js";
import { certificateSecret, credentialProblem } from "../../queries/credentials.js";
import { selectedPods } from "../../queries/pods.js";
import { isServed } from "../../served.js";
import { certificateConsequence } from "./secrets.js";

export const ingressSecretAnalyzer: Analyzer = {
  name: "gateway.IngressSecretAnalyzer",
  description: "Checks that the Secrets of Ingresses exist where the gateways are, and have valid certificates",
  codes: ["IST0101", "IST0161", "MESH0061", "MESH0075"],
  rules: [rule(ingressKind, ingresses, checkSecrets)],
};

/** Checks the servers of the Gateway that is generated from an Ingress. */
function checkSecrets({ namespace, name }: IngressObject, { q, report }: AnalysisContext): void {
  const gateway = ingressGatewayOf(q, `${namespace}/${name}`);
  if (gateway === undefined) return;
  const places = q.call(selectedPods, { labels: gateway.selector });
  for (const { entry, hosts, secretName } of gateway.certificates) {
    const credential = { name: secretName, roots: false };
    const problem = credentialProblem(q, credential, { places, called: "the gateway's pods", use: "server" });
    const path = ["spec", "tls", entry, "secretName"];
    const secret = JSON.stringify(secretName);
    if (problem?.kind === "missing") {
      // Other tools create Secrets of Ingresses, so that files often have none.
      if (isServed(q) || q.keys(secrets).length > 0)
        report("IST0101", path, `referenced secretName ${secret} not found: ${problem.reason}`);
      continue;
    }
    if (problem !== undefined) {
      const { fault, object } = problem;
      const consequence = certificateConsequence(fault.served);
      report(fault.code, path, `credential ${secret} is invalid, so ${consequence}: ${object}: ${fault.text}`);
    }
    const key = certificateSecret(q, secretName, places);
    const lacking = key && hostsWithoutCertificate(q, { hosts, secrets: [key] });
    if (lacking) report("MESH0075", path, lacking);
  }
}
