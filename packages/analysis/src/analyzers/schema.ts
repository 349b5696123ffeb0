import { envoyFilterKind, envoyFilters, istioKinds, type Problem } from "@istiod/config-schema";
import { type Analyzer, rule } from "../analyzer.js";
import type { Code } from "../codes.js";

const codes: readonly Code[] = ["IST0106", "IST0130", "IST0131", "IST0133"];

/** Warns about every EnvoyFilter, as Istio's validation does. Ingestion does not, because its warnings are logged. */
const envoyFilterRule = rule(envoyFilterKind, envoyFilters, (_, { report }) =>
  report(
    "IST0133",
    [],
    "EnvoyFilter exposes internal implementation details that may change at any time; prefer other APIs where they suffice, and check it at each upgrade",
  ),
);

/** The schema analyzers, one per Istio kind. Their messages are the problems that parsing and validation report. */
export const schemaAnalyzers: readonly Analyzer[] = [
  ...istioKinds.map(({ kind }) => kind),
  "MeshConfig",
  "MeshNetworks",
].map((kind) => ({
  name: nameOf(kind),
  description: `Validates ${kind} objects`,
  codes,
  rules: kind === envoyFilterKind.kind ? [envoyFilterRule] : [],
}));

/**
 * Reports whether a problem belongs to the named analyzers. Problems that belong to no analyzer, such as a file that is
 * not YAML, always do.
 */
export function isReported({ subject }: Problem, analyzers: readonly string[]): boolean {
  if (subject === undefined) return true;
  const validated = istioKinds.some(({ kind, group }) => kind === subject.kind && group === subject.group);
  return !validated || analyzers.includes(nameOf(subject.kind));
}

function nameOf(kind: string): string {
  return `schema.ValidationAnalyzer.${kind}`;
}
