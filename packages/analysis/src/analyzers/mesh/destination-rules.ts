import {
  destinationRuleKind,
  type DestinationRuleObject,
  destinationRules,
  destinationRulesByHost,
  type FieldPath,
  hostBucket,
} from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import {
  ClientTLSSettings_TLSmode as TlsMode,
  type ClientTLSSettings,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { workloadPeerModes, resolveHost } from "@istiod/push-context";
import { discoverySettings, service, servicesByHostname } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { workloadsWith } from "../../queries/workloads.js";

export const destinationRuleAnalyzer: Analyzer = {
  name: "mesh.DestinationRuleAnalyzer",
  description: "Checks for DestinationRules that others override, and for TLS settings that the destination rejects",
  codes: ["MESH0011", "MESH0017"],
  rules: [
    rule(destinationRuleKind, destinationRules, checkConflicts),
    rule(destinationRuleKind, destinationRules, checkTls),
  ],
};

/**
 * Reports parts that are overridden. DestinationRules of one namespace and host are merged: the first traffic policy
 * and the first subset of a name apply.
 */
function checkConflicts(object: DestinationRuleObject, { q, report }: AnalysisContext): void {
  const before = olderRules(q, object);
  const overriding = before.find(({ spec }) => spec.trafficPolicy !== undefined);
  if (object.spec.trafficPolicy !== undefined && overriding !== undefined) {
    report(
      "MESH0011",
      ["spec", "trafficPolicy"],
      `trafficPolicy has no effect: it is overridden by that of DestinationRule ${overriding.namespace}/${overriding.name}, which is for the same host and takes precedence; merge the two`,
    );
  }
  for (const [i, { name }] of object.spec.subsets.entries()) {
    const other = before.find(({ spec }) => spec.subsets.some((subset) => subset.name === name));
    if (other !== undefined)
      report(
        "MESH0011",
        ["spec", "subsets", i],
        `subset ${JSON.stringify(name)} has no effect: it is overridden by that of DestinationRule ${other.namespace}/${other.name}, which is for the same host and takes precedence`,
      );
  }
}

/** Returns the rules that are merged with a rule and take precedence. */
function olderRules(
  q: QueryContext,
  { namespace, name, spec, creationTimestamp }: DestinationRuleObject,
): readonly DestinationRuleObject[] {
  const domain = discoverySettings.domain(q);
  const host = resolveHost(spec.host, { namespace, domain });
  const suffix = `.${namespace}.svc.${domain}`;
  const short = host.endsWith(suffix) ? [hostBucket(host.slice(0, -suffix.length), namespace)] : [];
  const candidates = [host, ...short].flatMap((bucket) => q.read(destinationRulesByHost, bucket));
  return candidates
    .filter((other) => other.namespace === namespace && other.name !== name)
    .filter((other) => sameLabels(other.spec.workloadSelector?.matchLabels, spec.workloadSelector?.matchLabels))
    .filter(
      (other) =>
        other.creationTimestamp < creationTimestamp ||
        (other.creationTimestamp === creationTimestamp && other.name < name),
    )
    .sort((a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1));
}

function sameLabels(
  a: Readonly<Record<string, string>> | undefined,
  b: Readonly<Record<string, string>> | undefined,
): boolean {
  const sorted = (labels: Readonly<Record<string, string>> = {}): string =>
    JSON.stringify(Object.entries(labels).sort());
  return sorted(a) === sorted(b);
}

function checkTls({ namespace, spec }: DestinationRuleObject, context: AnalysisContext): void {
  const check = (
    tls: ClientTLSSettings | undefined,
    path: FieldPath,
    subset: Readonly<Record<string, string>> = {},
    port?: number,
  ): void => {
    if (tls !== undefined)
      checkTlsSettings(tls, path, { namespace, host: spec.host, subset, ...(port !== undefined && { port }) }, context);
  };
  const policies = [
    { policy: spec.trafficPolicy, path: ["spec", "trafficPolicy"], labels: {} },
    ...spec.subsets.map((s, i) => ({
      policy: s.trafficPolicy,
      path: ["spec", "subsets", i, "trafficPolicy"],
      labels: s.labels,
    })),
  ];
  for (const { policy, path, labels } of policies) {
    check(policy?.tls, [...path, "tls"], labels);
    for (const [i, settings] of (policy?.portLevelSettings ?? []).entries()) {
      check(settings.tls, [...path, "portLevelSettings", i, "tls"], labels, settings.port?.number);
    }
  }
}

interface Destination {
  readonly namespace: string;
  readonly host: string;
  readonly subset: Readonly<Record<string, string>>;
  readonly port?: number;
}

/**
 * Compares client TLS settings with the PeerAuthentication mode of the destination's workloads: STRICT accepts only
 * mutual TLS, DISABLE only plaintext.
 */
function checkTlsSettings(
  tls: ClientTLSSettings,
  path: FieldPath,
  { namespace, host, subset, port }: Destination,
  { q, report }: AnalysisContext,
): void {
  const hostname = resolveHost(host, { namespace, domain: discoverySettings.domain(q) });
  const mutual = tls.mode === TlsMode.ISTIO_MUTUAL;
  for (const key of q.call(servicesByHostname, hostname)) {
    const found = q.call(service, key);
    if (found?.selector === undefined || found.registry !== "Kubernetes") continue;
    for (const workload of workloadsWith(q, found.namespace, { ...found.selector, ...subset })) {
      const modes = q.call(workloadPeerModes, { namespace: workload.namespace, labels: workload.labels });
      const mode = (port === undefined ? undefined : modes.ports[port]) ?? modes.mode;
      const rejected = mutual ? mode === "DISABLE" : mode === "STRICT";
      if (!rejected) continue;
      report(
        "MESH0017",
        path,
        `tls mode ${TlsMode[tls.mode]} conflicts with PeerAuthentication, which is ${mode} for ${workload.kind} ${workload.namespace}/${workload.name}: connections to ${hostname} are rejected; ${mutual ? "set tls mode DISABLE" : "set tls mode ISTIO_MUTUAL, or remove tls"}`,
      );
      return;
    }
  }
}
