import { type DestinationRuleObject, destinationRules } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { declaredCredential, rootCertificatesSuffix, rootsCredentialName } from "../gateways/credential-name.js";
import { isVerifiedRouter } from "../gateways/verified-router.js";
import { mesh } from "../mesh/mesh-config.js";
import { verifiedInNamespace } from "../proxy/facts.js";
import { verifiedMatchesLabels } from "../proxy/verified-workload.js";
import { exportTargets } from "./consolidated-rule.js";

/** A Secret that a DestinationRule may refer to. */
export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** DestinationRules by the Secrets that they refer to, `[namespace]/name`; without one, the client's namespace. */
const rulesByCredential = index(destinationRules, "byCredential", ({ spec }) => [
  ...new Set([spec.trafficPolicy, ...spec.subsets.map((subset) => subset.trafficPolicy)].flatMap(secretsOf)),
]);

/**
 * Reports whether a DestinationRule that the client may use refers to a Secret. Sidecars may use rules of their
 * namespace with a workload selector that selects them, routers also those without one. Source: `CredentialName` in
 * pilot/pkg/networking/core/cluster_tls.go.
 */
export const ruleRefersToSecret = query(
  "ruleRefersToSecret",
  (q, { namespace, name }: SecretName): boolean =>
    [`/${name}`, `${namespace}/${name}`].some((key) =>
      q.read(rulesByCredential, key).some((rule) => mayUseCredentialOf(q, rule)),
    ),
  { key: ({ namespace, name }) => `${namespace}/${name}` },
);

function mayUseCredentialOf(q: QueryContext, rule: DestinationRuleObject): boolean {
  const isOwn = q.ask(verifiedInNamespace, rule.namespace);
  const { workloadSelector } = rule.spec;
  if (workloadSelector !== undefined) return isOwn && q.ask(verifiedMatchesLabels, workloadSelector.matchLabels);
  if (!q.call(isVerifiedRouter)) return false;
  const declared = exportTargets(rule);
  const targets = declared.length === 0 ? mesh(q).defaultDestinationRuleExportTo : declared;
  return (
    targets.length === 0 ||
    targets.some((target) => target === "*" || (target === "." ? isOwn : q.ask(verifiedInNamespace, target)))
  );
}

function secretsOf(policy: TrafficPolicy | undefined): readonly string[] {
  return [policy?.tls, ...(policy?.portLevelSettings ?? []).map(({ tls }) => tls)].flatMap(secretsOfSettings);
}

function secretsOfSettings(settings: ClientTLSSettings | undefined): readonly string[] {
  if (settings?.mode !== TlsMode.SIMPLE && settings?.mode !== TlsMode.MUTUAL) return [];
  const { credentialName: own, caCertCredentialName } = settings;
  const names = [
    ...(own === "" || caCertCredentialName !== "" ? [] : [own + rootCertificatesSuffix]),
    ...(own === "" || settings.mode !== TlsMode.MUTUAL ? [] : [own]),
    ...(caCertCredentialName === "" ? [] : [rootsCredentialName(caCertCredentialName)]),
  ];
  return names.flatMap((credentialName) => {
    const reference = declaredCredential(credentialName);
    return reference?.source === "kubernetes" ? [`${reference.namespace ?? ""}/${reference.name}`] : [];
  });
}
