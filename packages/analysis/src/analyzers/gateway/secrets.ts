import { configCluster, gatewayKind, type GatewayObject, gateways, secrets } from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { query, type QueryContext } from "@istiod/incremental";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { certificateFault } from "../../queries/certificates.js";
import { quotedNearest } from "../../suggestions.js";
import { podsOfGateway } from "./selection.js";

export const gatewaySecretAnalyzer: Analyzer = {
  name: "gateway.SecretAnalyzer",
  description: "Checks that the credentials of Gateways are Secrets with valid certificates",
  codes: ["IST0101", "IST0161"],
  rules: [rule(gatewayKind, gateways, checkSecrets)],
};

function checkSecrets(gateway: GatewayObject, context: AnalysisContext): void {
  const { q, report } = context;
  const pods = podsOfGateway(gateway, context);
  const [first] = pods;
  if (first === undefined) return;
  for (const [i, { tls }] of gateway.spec.servers.entries()) {
    if (tls === undefined || tls.credentialName === "") continue;
    const path = ["spec", "servers", i, "tls", "credentialName"];
    const name = tls.credentialName;
    const key = pods
      .flatMap((pod) => secretKeys(q, name, pod))
      .find((candidate) => q.read(secrets, candidate) !== undefined);
    if (key === undefined) {
      const near = nearestNames(name, q.call(secretNamesIn, first.namespace));
      report(
        "IST0101",
        path,
        `referenced credentialName ${JSON.stringify(name)} not found: there is no such Secret in namespace ${first.namespace}, where the gateway's pods are${quotedNearest(near)}`,
      );
      continue;
    }
    const fault = certificateFault(q, key);
    if (fault === undefined) continue;
    report(
      "IST0161",
      path,
      `credential ${JSON.stringify(name)} is invalid, so the server gets no certificate: Secret ${key.slice(key.indexOf("/") + 1)}: ${fault}`,
    );
  }
}

/** The forms of a credential that name a Secret explicitly. */
const secretPrefix = /^kubernetes(-gateway)?:\/\//;

/**
 * Returns the candidate keys of a credential's Secret: in the pod's cluster and in the config cluster, in the pod's
 * namespace unless the credential names another.
 */
function secretKeys(
  q: QueryContext,
  credential: string,
  pod: { readonly namespace: string; readonly cluster: string },
): readonly string[] {
  const name = credential.replace(secretPrefix, "");
  const qualified = name.includes("/") ? name : `${pod.namespace}/${name}`;
  return [...new Set([pod.cluster, configCluster(q)])].map((cluster) => `${cluster}/${qualified}`);
}

const secretNamesIn = query("secretNamesIn", (q, namespace: string): readonly string[] => {
  const names = q.keys(secrets).flatMap((key) => {
    const [, of, name] = key.split("/");
    return of === namespace && name !== undefined ? [name] : [];
  });
  return [...new Set(names)];
});
