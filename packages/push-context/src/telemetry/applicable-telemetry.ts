import { telemetries, type TelemetryObject, telemetriesByNamespace } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { AccessLogging, Metrics, Tracing } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { oldestFirst } from "../attachment/oldest-first.js";
import { namespaceAmong } from "../attachment/own-namespace.js";
import { appliesToClient } from "../attachment/policy-attachment.js";
import { rootNamespace } from "../mesh/mesh-config.js";

/**
 * Telemetry settings that apply to the client, from the widest scope to the most specific one, so that later elements
 * take precedence.
 */
export interface ApplicableTelemetry {
  readonly metrics: readonly Metrics[];
  /** One list per Telemetry object. */
  readonly accessLogging: readonly (readonly AccessLogging[])[];
  readonly tracing: readonly Tracing[];
}

/**
 * The Telemetry objects that apply to the client, `namespace/name`, from the widest scope to the most specific one:
 * that of the mesh, that of the client's namespace, and those that select the client. Source:
 * pilot/pkg/model/telemetry.go.
 */
export const telemetriesOfClient = query("telemetriesOfClient", (q): readonly string[] => {
  const root = rootNamespace(q);
  const others = q.keys(telemetriesByNamespace).filter((namespace) => namespace !== root);
  const own =
    (others.length === 0 ? undefined : q.ask(namespaceAmong, others)) ??
    (q.ask(namespaceAmong, [root]) === undefined ? undefined : root);
  const wide = [root, ...(own === undefined || own === root ? [] : [own])].flatMap(
    (namespace) => q.call(namespaceTelemetries, namespace).find(appliesToWholeNamespace) ?? [],
  );
  const selecting =
    own === undefined ? [] : q.call(namespaceTelemetries, own).filter((object) => !appliesToWholeNamespace(object));
  return [...wide, ...selecting.filter(({ namespace, spec }) => appliesToClient(q, { ...spec, namespace }))].map(
    ({ namespace, name }) => `${namespace}/${name}`,
  );
});

/** The settings of the Telemetry objects that apply to the client. */
export const applicableTelemetry = query("applicableTelemetry", (q): ApplicableTelemetry => {
  const found = q.call(telemetriesOfClient).flatMap((key) => q.read(telemetries, key) ?? []);
  return {
    metrics: found.flatMap(({ spec }) => spec.metrics),
    accessLogging: found.flatMap(({ spec }) => (spec.accessLogging.length === 0 ? [] : [spec.accessLogging])),
    tracing: found.flatMap(({ spec }) => spec.tracing),
  };
});

const namespaceTelemetries = query("namespaceTelemetries", (q, namespace: string): readonly TelemetryObject[] =>
  [...q.read(telemetriesByNamespace, namespace)].sort(oldestFirst),
);

function appliesToWholeNamespace({ spec }: TelemetryObject): boolean {
  return (
    Object.keys(spec.selector?.matchLabels ?? {}).length === 0 &&
    spec.targetRefs.length === 0 &&
    spec.targetRef === undefined
  );
}
