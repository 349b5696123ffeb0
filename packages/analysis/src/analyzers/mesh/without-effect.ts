import { type ConfigObject, type Kind, multiClusterKinds, serviceExports, serviceImports } from "@istiod/config-schema";
import type { Collection, QueryContext } from "@istiod/incremental";
import { discoverySettings } from "@istiod/service-discovery";
import { type Analyzer, rule } from "../../analyzer.js";
import { kindsWithoutEffect } from "../../no-effect/kinds-without-effect.js";

/** Kinds that istiod reads only if an environment variable enables them. */
const conditional = [
  { of: serviceExports, isRead: discoverySettings.exportedOnly, variable: "ENABLE_MCS_SERVICE_DISCOVERY" },
  {
    of: serviceImports,
    isRead: discoverySettings.clusterSetHosts,
    variable: "ENABLE_MCS_SERVICE_DISCOVERY and ENABLE_MCS_HOST",
  },
];

export const withoutEffectAnalyzer: Analyzer = {
  name: "mesh.WithoutEffectAnalyzer",
  description: "Checks that objects are of kinds that configure proxies",
  codes: ["MESH0002"],
  rules: [
    ...[...kindsWithoutEffect].map(([kind, reason]) => ruleFor(kind, () => reason)),
    ...multiClusterKinds().flatMap((kind) => {
      const found = conditional.find(({ of }) => of.id === kind.collection.id);
      return found === undefined
        ? []
        : [ruleFor(kind, (q) => (found.isRead(q) ? undefined : `istiod reads it only with ${found.variable}`))];
    }),
  ],
};

function ruleFor(kind: Kind, reason: (q: QueryContext) => string | undefined): Analyzer["rules"][number] {
  return rule(kind, kind.collection as Collection<ConfigObject<unknown, unknown>>, (_, { q, report }) => {
    const found = reason(q);
    if (found !== undefined) report("MESH0002", ["kind"], `${kind.kind} has no effect: ${found}`);
  });
}
