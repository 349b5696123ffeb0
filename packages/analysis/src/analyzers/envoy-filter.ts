import {
  envoyFilterKind,
  type EnvoyFilterObject,
  envoyFilters,
  type FieldPath,
  formatPath,
  meshKey,
} from "@istiod/config-schema";
import { checkPatches } from "@istiod/envoy-filter";
import { index } from "@istiod/incremental";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_EnvoyConfigObjectPatch as ConfigPatch,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";

/** Analyzers of EnvoyFilters. */
export const envoyFilterAnalyzers: readonly Analyzer[] = [
  {
    name: "envoyfilter.EnvoyPatchAnalyzer",
    description:
      "Checks that EnvoyFilter operations are valid for their applyTo and do not depend on the order of EnvoyFilters",
    codes: ["IST0151", "IST0152", "IST0153", "IST0154", "IST0155"],
    rules: [rule(envoyFilterKind, envoyFilters, checkOperations)],
  },
  {
    name: "envoyfilter.PatchValueAnalyzer",
    description: "Checks the values of EnvoyFilter patches against Envoy's types",
    codes: ["IST0106", "IST0133"],
    rules: [rule(envoyFilterKind, envoyFilters, checkValues)],
  },
];

/** Reports what the webhook denies and warns of. Sources accept it, so that a newer Envoy can be configured. */
function checkValues({ spec }: EnvoyFilterObject, { report }: AnalysisContext): void {
  const say =
    (code: "IST0106" | "IST0133") =>
    (path: FieldPath, message: string): void =>
      report(code, path, `${formatPath(path)}: ${message}`);
  checkPatches(spec.configPatches, ["spec", "configPatches"], { error: say("IST0106"), warning: say("IST0133") });
}

/** EnvoyFilters with patches that match a proxy version, indexed by the subjects of these patches. */
const versioned = index(envoyFilters, "byVersionedSubject", ({ spec }) =>
  patchesOf(spec.configPatches).filter(isVersioned).map(subjectOf),
);

function checkOperations(filter: EnvoyFilterObject, context: AnalysisContext): void {
  const patches = patchesOf(filter.spec.configPatches);
  for (const [i, configPatch] of patches.entries()) {
    const { applyTo, patch } = configPatch;
    const operation = patch?.operation ?? Operation.INVALID;
    const path = ["spec", "configPatches", i, "patch", "operation"];
    const ineffective = ineffectiveCode(operation, applyTo);
    if (ineffective !== undefined) {
      context.report(
        ineffective,
        path,
        `operation ${Operation[operation]} has no effect where applyTo is ${ApplyTo[applyTo]}; ${remedies[ineffective]}`,
      );
    } else if (isRelative(operation) && filter.spec.priority === 0) {
      const isAfterVersioned = patches
        .slice(0, i)
        .some((earlier) => isVersioned(earlier) && subjectOf(earlier) === subjectOf(configPatch));
      reportRelative(
        operation,
        path,
        isAfterVersioned || isPrecededByVersioned(filter, subjectOf(configPatch), context),
        context,
      );
    }
  }
}

function reportRelative(
  operation: Operation,
  path: readonly (string | number)[],
  isAfterVersioned: boolean,
  { report }: AnalysisContext,
): void {
  const relative = `operation ${Operation[operation]} is relative to another filter, and the EnvoyFilter has no priority`;
  if (isAfterVersioned) {
    report(
      "IST0155",
      path,
      `${relative} although another patch of the same filter depends on the proxy version, so that it may not be applied; set spec.priority`,
    );
  } else {
    report(
      "IST0151",
      path,
      `${relative}, so that it may not be applied; set spec.priority, or use an absolute operation such as INSERT_FIRST`,
    );
  }
}

const remedies = {
  IST0152: "REPLACE is for HTTP_FILTER, NETWORK_FILTER and VIRTUAL_HOST only, use MERGE or another applyTo",
  IST0153: "use MERGE or another applyTo",
  IST0154: "use another applyTo",
} as const;

const replaceable: ReadonlySet<ApplyTo> = new Set([ApplyTo.HTTP_FILTER, ApplyTo.NETWORK_FILTER, ApplyTo.VIRTUAL_HOST]);

/**
 * Returns the code of an operation that has no effect on what it applies to. Unlike in Istio's analysis, HTTP_ROUTE has
 * ADD and REMOVE: Istio's control plane applies them.
 */
function ineffectiveCode(operation: Operation, applyTo: ApplyTo): keyof typeof remedies | undefined {
  const isRoutes = applyTo === ApplyTo.ROUTE_CONFIGURATION;
  if (operation === Operation.REPLACE && !replaceable.has(applyTo)) return "IST0152";
  if (operation === Operation.ADD && isRoutes) return "IST0153";
  return operation === Operation.REMOVE && isRoutes ? "IST0154" : undefined;
}

const relativeOperations = new Set([
  Operation.REMOVE,
  Operation.REPLACE,
  Operation.INSERT_BEFORE,
  Operation.INSERT_AFTER,
]);

function isRelative(operation: Operation): boolean {
  return relativeOperations.has(operation);
}

/** Returns the patches up to the first one without an operation, after which Istio's analysis reads none. */
function patchesOf(patches: readonly ConfigPatch[]): readonly ConfigPatch[] {
  const end = patches.findIndex(({ patch }) => patch === undefined);
  return end < 0 ? patches : patches.slice(0, end);
}

function isVersioned({ match }: ConfigPatch): boolean {
  return (match?.proxy?.proxyVersion ?? "") !== "";
}

/**
 * Returns `value` with the name of the value that a patch adds, else `filter` with the name of the filter that it
 * matches, else an empty string.
 */
function subjectOf({ match, patch }: ConfigPatch): string {
  const { value = {} } = patch ?? {};
  if (value["name"] !== undefined) return `value ${JSON.stringify(value["name"])}`;
  const filter = match?.objectTypes.case === "listener" ? match.objectTypes.value.filterChain?.filter?.name : undefined;
  return Object.keys(value).length === 0 || filter === undefined || filter === "" ? "" : `filter ${filter}`;
}

/**
 * Reports whether an EnvoyFilter that precedes this one by namespace and name has a patch of the same subject that
 * matches a proxy version.
 */
function isPrecededByVersioned(filter: EnvoyFilterObject, subject: string, { q }: AnalysisContext): boolean {
  return q.read(versioned, subject).some((other) => meshKey(other) < meshKey(filter));
}
