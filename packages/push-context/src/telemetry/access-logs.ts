import { query } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type AccessLogging, WorkloadMode } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { mesh } from "../mesh/mesh-config.js";
import { applicableTelemetry } from "./applicable-telemetry.js";
import { extensionProvider } from "./extension-provider.js";
import { type ListenerClass, workloadMode } from "./listener-class.js";

/** A provider that access logs are sent to. */
export interface AccessLogTarget {
  readonly provider: ExtensionProvider;
  /** CEL expression that a request must match; empty for all requests. */
  readonly filter: string;
  /** Disabled by Telemetry. The mesh's own access log settings do not apply instead. */
  readonly disabled: boolean;
}

/**
 * The providers to which the client sends access logs of a class of listeners, sorted by name: those of Telemetry
 * objects, else the mesh's default providers. Empty if neither is configured. Source: `mergeLogs` in
 * pilot/pkg/model/telemetry.go.
 */
export const accessLogTargets = query("accessLogTargets", (q, listener: ListenerClass): readonly AccessLogTarget[] => {
  const { accessLogging } = q.call(applicableTelemetry);
  const defaults = mesh(q).defaultProviders?.accessLogging ?? [];
  const chosen =
    accessLogging.length === 0
      ? new Map<string, string | typeof disabled>(defaults.map((name) => [name, ""]))
      : mergeAccessLogging(accessLogging, defaults, listener);
  return [...chosen]
    .flatMap(([name, filter]) => {
      const provider = q.call(extensionProvider, name);
      return provider === undefined
        ? []
        : [{ provider, filter: filter === disabled ? "" : filter, disabled: filter === disabled }];
    })
    .sort((a, b) => (a.provider.name < b.provider.name ? -1 : a.provider.name > b.provider.name ? 1 : 0));
});

const disabled: unique symbol = Symbol("disabled");

/** Maps providers to filters. The providers of the most specific scope that names any are used. */
function mergeAccessLogging(
  levels: readonly (readonly AccessLogging[])[],
  defaults: readonly string[],
  listener: ListenerClass,
): ReadonlyMap<string, string | typeof disabled> {
  const appliesToListener = ({ match }: AccessLogging): boolean =>
    match === undefined || match.mode === WorkloadMode.CLIENT_AND_SERVER || match.mode === workloadMode(listener);
  const filters = new Map<string, string>();
  let selected: readonly string[] = defaults;
  for (const level of levels) {
    const named = level.filter(appliesToListener).flatMap(({ providers, filter }) => {
      for (const { name } of providers) filters.set(name, filter?.expression ?? "");
      return providers.map(({ name }) => name);
    });
    if (named.length > 0) selected = named;
  }
  const out = new Map<string, string | typeof disabled>();
  let inherited: readonly string[] = defaults;
  for (const logging of levels.flat()) {
    if (logging.providers.length > 0) inherited = logging.providers.map(({ name }) => name);
    for (const name of inherited) {
      if (selected.includes(name) && appliesToListener(logging))
        out.set(name, logging.disabled === true ? disabled : (filters.get(name) ?? ""));
    }
  }
  return out;
}
