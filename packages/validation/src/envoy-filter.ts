import type { EnvoyFilterObject, Report } from "@istiod/config-schema";
import { checkPatches } from "@istiod/envoy-filter";

/**
 * Warns of an EnvoyFilter, and checks the values of its patches against Envoy's types. Source:
 * pkg/config/validation/envoyfilter/envoyfilter.go.
 */
export function checkEnvoyFilter({ spec }: EnvoyFilterObject, report: Report): void {
  report.warning(
    [],
    "EnvoyFilter exposes internals that may change with any version; prefer another API where there is one, and take care when upgrading",
  );
  checkPatches(spec.configPatches, ["spec", "configPatches"], report);
}
