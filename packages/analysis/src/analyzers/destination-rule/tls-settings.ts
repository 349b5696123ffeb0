import type { DestinationRuleObject, FieldPath } from "@istiod/config-schema";
import type { ClientTLSSettings } from "@istiod/istio-api/networking/v1alpha3/destination_rule";

/** TLS settings of a DestinationRule. */
export interface RuleTls {
  readonly tls: ClientTLSSettings;
  readonly path: FieldPath;
  /** The destination in words, such as `port 443 of "ext.example.com"`. */
  readonly target: string;
  readonly portLevel: boolean;
  /** The labels of the subset; empty if the settings are for all workloads of the host. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns all TLS settings of a rule: its own, those of its ports and those of its subsets. */
export function tlsSettings({ spec }: DestinationRuleObject): readonly RuleTls[] {
  const host = JSON.stringify(spec.host);
  const policies = [
    { policy: spec.trafficPolicy, path: ["spec", "trafficPolicy"], of: host, labels: {} },
    ...spec.subsets.map(({ name, trafficPolicy, labels }, i) => ({
      policy: trafficPolicy,
      path: ["spec", "subsets", i, "trafficPolicy"],
      of: `subset ${JSON.stringify(name)} of ${host}`,
      labels,
    })),
  ];
  return policies.flatMap(({ policy, path, of, labels }): RuleTls[] => [
    ...(policy?.tls === undefined
      ? []
      : [{ tls: policy.tls, path: [...path, "tls"], target: of, portLevel: false, labels }]),
    ...(policy?.portLevelSettings ?? []).flatMap(({ tls, port }, i) =>
      tls === undefined
        ? []
        : [
            {
              tls,
              path: [...path, "portLevelSettings", i, "tls"],
              target: `port ${port?.number ?? 0} of ${of}`,
              portLevel: true,
              labels,
            },
          ],
    ),
  ]);
}
