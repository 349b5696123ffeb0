import { destinationRuleKind, type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { ClientTLSSettings_TLSmode as Mode } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { mesh, resolveHost } from "@istiod/push-context";
import { discoverySettings, service, servicesByHostname } from "@istiod/service-discovery";
import { nearestNames } from "@istiod/settings";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import type { Labels, Workload } from "../../queries/workload-sources.js";
import { workloadsWith } from "../../queries/workloads.js";
import { hasAllWorkloads } from "../../served.js";
import { listNames, quotedNearest } from "../../suggestions.js";
import { tlsSettings } from "./tls-settings.js";

export const identityAnalyzer: Analyzer = {
  name: "destinationrule.IdentityAnalyzer",
  description: "Checks that workloads of the host have the identities that clients require",
  codes: ["MESH0017"],
  rules: [rule(destinationRuleKind, destinationRules, checkIdentities)],
};

/** Reports identities of mutual TLS of which no workload of the host has one, so that each connection fails. */
function checkIdentities(object: DestinationRuleObject, { q, report }: AnalysisContext): void {
  for (const { tls, path, labels } of tlsSettings(object)) {
    if (tls.mode !== Mode.ISTIO_MUTUAL || tls.subjectAltNames.length === 0) continue;
    const required = tls.subjectAltNames.map(accountOfIdentity);
    // Certificates of another authority may have other names.
    if (required.includes(undefined)) continue;
    const hostname = resolveHost(object.spec.host, {
      namespace: object.namespace,
      domain: discoverySettings.domain(q),
    });
    const accounts = accountsOfHost(q, hostname, labels, required);
    if (accounts === undefined) continue;
    const { trustDomain } = mesh(q);
    const identities = accounts.map((account) => `spiffe://${trustDomain}/${account}`);
    const near = tls.subjectAltNames.flatMap((name) => nearestNames(name, identities, 1));
    report(
      "MESH0017",
      [...path, "subjectAltNames"],
      `is ${listNames(tls.subjectAltNames)}, which no workload of ${hostname} is: they are ${listNames(identities)}, so that clients reject every connection${quotedNearest([...new Set(near)])}`,
      // Files may lack the workload that has the identity.
      hasAllWorkloads(q) ? undefined : "Warning",
    );
  }
}

/** Returns `ns/NAMESPACE/sa/ACCOUNT` of an identity, in any trust domain; undefined for other names. */
function accountOfIdentity(name: string): string | undefined {
  return /^spiffe:\/\/[^/]+\/(ns\/[^/]+\/sa\/[^/]+)$/.exec(name)?.[1];
}

/**
 * Returns `ns/NAMESPACE/sa/ACCOUNT` of each workload of a host, sorted; undefined if there is none, or if one has an
 * unknown account or a required one. A template with 0 replicas has no identity yet, but may get one.
 */
function accountsOfHost(
  q: QueryContext,
  hostname: string,
  labels: Labels,
  required: readonly (string | undefined)[],
): readonly string[] | undefined {
  const accounts = new Set<string>();
  for (const key of q.call(servicesByHostname, hostname)) {
    const found = q.call(service, key);
    if (found?.selector === undefined || found.registry !== "Kubernetes") return undefined;
    for (const workload of workloadsWith(q, found.namespace, { ...found.selector, ...labels })) {
      const name = accountOf(workload);
      const account = `ns/${workload.namespace}/sa/${name}`;
      if (name === undefined || required.includes(account)) return undefined;
      if (workload.scaledToZero !== true) accounts.add(account);
    }
  }
  return accounts.size === 0 ? undefined : [...accounts].sort();
}

function accountOf({ machine, serviceAccount }: Workload): string | undefined {
  return serviceAccount ?? (machine === true ? undefined : "default");
}
