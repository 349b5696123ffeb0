import { type ConfigObject, inferencePoolKind } from "@istiod/config-schema";
import {
  isAboutAddresses,
  isFault,
  type ObjectStatus,
  type PlacedCondition,
  placedConditions,
  type PlacesOfSpec,
  type StatusKind,
  statusKinds,
  type UnservedReference,
} from "@istiod/gateway-api";
import type { Query } from "@istiod/incremental";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";
import type { Code, Level } from "../codes.js";
import { isServed } from "../served.js";

/** Reports the faults that statuses of the Gateway API have, also where istiod has no API server to write them to. */
export const gatewayApiStatusAnalyzer: Analyzer = {
  name: "k8sgateway.StatusAnalyzer",
  description: "Checks that objects of the Gateway API are accepted and attached, and that their references resolve",
  codes: ["MESH0061", "MESH0062", "MESH0063", "MESH0064", "MESH0065"],
  rules: statusKinds.map((of) =>
    rule(of.kind, of.objects, (object, context) => {
      checkParents(of, context);
      checkStatus(of, object, context);
    }),
  ),
};

function checkParents({ unserved, argument }: StatusKind, { q, key, report }: AnalysisContext): void {
  if (unserved === undefined) return;
  for (const { path, reason } of q.call(unserved as Query<unknown, readonly UnservedReference[]>, argument(key)))
    report("MESH0064", path, `not attached: ${reason}`);
}

function checkStatus(of: StatusKind, object: ConfigObject<unknown>, { q, key, report }: AnalysisContext): void {
  const status = q.call(of.status as Query<unknown, ObjectStatus | undefined>, of.argument(key));
  if (status === undefined) return;
  if (of.kind === inferencePoolKind && status.parents?.length === 0)
    report("MESH0064", [], "not attached: no route of a Gateway names it, so that no proxy uses it", "Info");
  const spec = object.spec as PlacesOfSpec;
  const hasAddresses = (spec.addresses ?? []).length > 0;
  const conditions = placedConditions(status, spec);
  const reported = conditions.filter((each, i) => !isExplained(each, conditions.slice(0, i), conditions));
  for (const condition of reported.filter(isFault)) {
    const severity = isAboutAddresses(condition)
      ? ofAddresses(condition, hasAddresses, isServed(q))
      : ofFault(condition);
    if (severity === undefined) continue;
    const { place, type, status: value, reason, message } = condition;
    const text = `${place === "" ? "" : `${place}: `}${type} is ${value} with reason ${reason}: ${message}`;
    report(severity.code, condition.path, text, severity.level);
  }
  for (const { place, path, notes = [] } of reported)
    for (const note of notes)
      report(place.startsWith("listener ") ? "MESH0061" : "MESH0065", path, place === "" ? note : `${place}: ${note}`);
}

/**
 * Reports whether other conditions of the object say the same: what is not accepted is not programmed either, and a
 * route or policy has the same references at each of its parents.
 */
function isExplained(
  { place, path, type, status, reason, message }: PlacedCondition,
  before: readonly PlacedCondition[],
  all: readonly PlacedCondition[],
): boolean {
  const faults = all.filter(isFault);
  const others = faults.filter((other) => other.place === place && other.type !== type);
  if (type === "Programmed" && others.some((other) => other.type !== "InsecureFrontendValidationMode")) return true;
  if (type === "Accepted" && others.some((other) => other.type === "Conflicted")) return true;
  if (reason === "ListenersNotValid") return faults.some((other) => other.place.startsWith("listener "));
  const isRepeated = type === "ResolvedRefs" || (place.startsWith("ancestor ") && path.length === 0);
  return (
    isRepeated &&
    before.some(
      (other) =>
        other.place.split(" ")[0] === place.split(" ")[0] &&
        other.type === type &&
        other.status === status &&
        other.reason === reason &&
        other.message === message,
    )
  );
}

interface Severity {
  readonly code: Code;
  readonly level?: Level;
}

function ofFault({ type }: PlacedCondition): Severity {
  if (type === "ResolvedRefs") return { code: "MESH0063" };
  return { code: type === "InsecureFrontendValidationMode" ? "MESH0065" : "MESH0062" };
}

/**
 * Returns the severity of a fault of the addresses of a Gateway; undefined if it is none of the configuration. Those of
 * a Gateway that istiod deploys are assigned some time after its creation, and only where it runs.
 */
function ofAddresses({ reason }: PlacedCondition, hasAddresses: boolean, served: boolean): Severity | undefined {
  if (hasAddresses && reason === "AddressNotUsable") return { code: "MESH0062", level: "Warning" };
  return served ? { code: "MESH0062", level: "Info" } : undefined;
}
