import { query } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type AccessLogging, WorkloadMode } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import { mesh } from "../mesh/mesh-config.js";
import { applicableTelemetry } from "./applicable-telemetry.js";
import { extensionProvider } from "./extension-provider.js";
import { type ListenerClass, modeOfClass } from "./listener-class.js";

/** A provider that logs are sent to. */
export interface AccessLogTarget {
  readonly provider: ExtensionProvider;
  /** CEL expression that a request must meet, or empty. */
  readonly filter: string;
  /** It was switched off: nothing is logged there, and what the mesh itself says does not count instead. */
  readonly disabled: boolean;
}

/**
 * Where the client logs requests and connections, by name of the provider, as Telemetry and the default providers say.
 * Empty where neither says anything of such a listener. Source: `mergeLogs` of pilot/pkg/model/telemetry.go.
 */
export const accessLogTargets = query("accessLogTargets", (q, listener: ListenerClass): readonly AccessLogTarget[] => {
  const { accessLogging } = q.call(applicableTelemetry);
  const defaults = mesh(q).defaultProviders?.accessLogging ?? [];
  const chosen =
    accessLogging.length === 0
      ? new Map<string, string | typeof disabled>(defaults.map((name) => [name, ""]))
      : merged(accessLogging, defaults, listener);
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

/** Provider to filter. The providers of the narrowest scope that names some are the ones that count. */
function merged(
  levels: readonly (readonly AccessLogging[])[],
  defaults: readonly string[],
  listener: ListenerClass,
): ReadonlyMap<string, string | typeof disabled> {
  const concerns = ({ match }: AccessLogging): boolean =>
    match === undefined || match.mode === WorkloadMode.CLIENT_AND_SERVER || match.mode === modeOfClass(listener);
  const filters = new Map<string, string>();
  let inScope: readonly string[] = defaults;
  for (const level of levels) {
    const named = level.filter(concerns).flatMap(({ providers, filter }) => {
      for (const { name } of providers) filters.set(name, filter?.expression ?? "");
      return providers.map(({ name }) => name);
    });
    if (named.length > 0) inScope = named;
  }
  const out = new Map<string, string | typeof disabled>();
  let inherited: readonly string[] = defaults;
  for (const logging of levels.flat()) {
    if (logging.providers.length > 0) inherited = logging.providers.map(({ name }) => name);
    for (const name of inherited) {
      if (inScope.includes(name) && concerns(logging))
        out.set(name, logging.disabled === true ? disabled : (filters.get(name) ?? ""));
    }
  }
  return out;
}
