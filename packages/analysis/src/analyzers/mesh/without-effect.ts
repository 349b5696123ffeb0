import type { ConfigObject } from "@istiod/config-ingestion";
import type { Collection } from "@istiod/incremental";
import { type Analyzer, rule } from "../../analyzer.js";
import { kindsWithoutEffect } from "../../kinds-without-effect.js";

export const withoutEffectAnalyzer: Analyzer = {
  name: "mesh.WithoutEffectAnalyzer",
  description: "Checks that objects are of kinds that configure proxies",
  codes: ["MESH0002"],
  rules: [...kindsWithoutEffect].map(([kind, reason]) =>
    rule(kind, kind.collection as Collection<ConfigObject<unknown, unknown>>, (_, { report }) =>
      report("MESH0002", ["kind"], `${kind.kind} has no effect: ${reason}`),
    ),
  ),
};
