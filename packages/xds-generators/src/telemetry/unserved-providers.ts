import { type FieldPath, telemetries } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import {
  accessLogTargets,
  clientServices,
  isSupportedFor,
  type ListenerClass,
  mesh,
  providerAddress,
  providerProblem,
  proxyType,
  serviceOfProvider,
  telemetriesOfClient,
  tracingSettings,
} from "@istiod/push-context";
import { servesCluster } from "../clusters/index.js";
import { outboundClusterName } from "../resource-names.js";

/** An extension provider for traces or logs that has no effect on a client, because the client lacks its cluster. */
export interface UnservedProvider {
  readonly section: "accessLogging" | "tracing";
  readonly provider: string;
  /** The Telemetry that names the provider, `namespace/name`. Absent: it is a default of the mesh configuration. */
  readonly telemetry?: string;
  /** The field that names it, in the Telemetry or in the mesh configuration. */
  readonly path: FieldPath;
  /** Classes of the listeners that it is for. */
  readonly listeners: readonly ListenerClass[];
  /** The clause that says why. */
  readonly reason: string;
  /** True if no client has the cluster, because the service or its port is not in the mesh. */
  readonly isUnknown: boolean;
}

/** The providers for traces and logs without effect on the client. */
export const unservedProviders = query("unservedProviders", (q): readonly UnservedProvider[] => {
  const found = new Map<string, UnservedProvider>();
  for (const listener of listenerClasses(q)) {
    const tracing = q.call(tracingSettings, listener);
    const tracers = tracing?.provider === undefined || tracing.disabled ? [] : [tracing.provider];
    const loggers = q.call(accessLogTargets, listener).flatMap(({ provider, disabled }) => (disabled ? [] : provider));
    for (const [section, providers] of [
      ["tracing", tracers],
      ["accessLogging", loggers],
    ] as const)
      for (const provider of providers) {
        const unserved = unservedProvider(q, section, provider);
        if (unserved === undefined) continue;
        const key = JSON.stringify([section, provider.name]);
        found.set(key, { ...unserved, listeners: [...(found.get(key)?.listeners ?? []), listener] });
      }
  }
  return [...found.values()];
});

function listenerClasses(q: QueryContext): readonly ListenerClass[] {
  const type = q.ask(proxyType);
  if (type === "router") return ["gateway"];
  return type === "sidecar" ? ["sidecar-inbound", "sidecar-outbound"] : [];
}

function unservedProvider(
  q: QueryContext,
  section: UnservedProvider["section"],
  provider: ExtensionProvider,
): Omit<UnservedProvider, "listeners"> | undefined {
  const reference = isSupportedFor(section, provider.provider) ? serviceOfProvider(provider) : undefined;
  if (reference === undefined) return undefined;
  const problem = q.call(providerProblem, reference);
  const reason = problem === undefined ? lackOfCluster(q, reference) : `service ${reference.service} ${problem}`;
  if (reason === undefined) return undefined;
  const { name } = provider;
  const naming = fieldNaming(q, section, name);
  return naming && { section, provider: name, ...naming, reason, isUnknown: problem !== undefined };
}

/** Returns why the client lacks the cluster of a service that the mesh has; undefined if it has it. */
function lackOfCluster(
  q: QueryContext,
  reference: { readonly service: string; readonly port: number },
): string | undefined {
  const at = q.call(providerAddress, reference);
  if (at === undefined || q.call(servesCluster, at)) return undefined;
  return q.call(clientServices).some(({ hostname }) => hostname === at.hostname)
    ? `the proxy is served no cluster ${outboundClusterName(at.hostname, at.port)}`
    : `service ${at.hostname} is not visible to the proxy`;
}

/** Returns the field of the most specific Telemetry that applies to the client and names a provider, or the default. */
function fieldNaming(
  q: QueryContext,
  section: UnservedProvider["section"],
  provider: string,
): Pick<UnservedProvider, "telemetry" | "path"> | undefined {
  for (const telemetry of q.call(telemetriesOfClient).toReversed())
    for (const [i, { providers }] of (q.read(telemetries, telemetry)?.spec[section] ?? []).entries()) {
      const j = providers.findIndex(({ name }) => name === provider);
      if (j >= 0) return { telemetry, path: ["spec", section, i, "providers", j, "name"] };
    }
  const index = mesh(q).defaultProviders?.[section].indexOf(provider) ?? -1;
  return index < 0 ? undefined : { path: ["defaultProviders", section, index] };
}
