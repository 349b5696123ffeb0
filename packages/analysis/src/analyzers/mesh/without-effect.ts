import type { ConfigObject, Kind } from "@istiod/config-schema";
import type { Collection } from "@istiod/incremental";
import { type Analyzer, type Rule, rule } from "../../analyzer.js";
import { kindsThatMayLackEffect, reasonWithoutEffect } from "../../queries/reasons-without-effect.js";

export const withoutEffectAnalyzer: Analyzer = {
  name: "mesh.WithoutEffectAnalyzer",
  description: "Checks that objects are of kinds that configure proxies",
  codes: ["MESH0002"],
  rules: kindsThatMayLackEffect.map(ruleFor),
};

function ruleFor(kind: Kind): Rule {
  const { collection } = kind;
  return rule(kind, collection as Collection<ConfigObject<unknown, unknown>>, (_, { q, report }) => {
    const reason = reasonWithoutEffect(q, collection);
    if (reason !== undefined) report("MESH0002", ["kind"], `${kind.kind} has no effect: ${reason}`);
  });
}
