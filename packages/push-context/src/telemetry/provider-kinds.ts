import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";

type Provider = ExtensionProvider["provider"];
type ProviderCase = NonNullable<Provider["case"]>;

/**
 * The kinds of extension providers that proxies get configuration of, by the section of Telemetry that names them. The
 * kinds are fields of `extensionProviders`. Providers of other kinds are ignored.
 */
export const providerKinds = {
  metrics: ["prometheus"],
  accessLogging: ["envoyFileAccessLog", "envoyHttpAls", "envoyTcpAls", "envoyOtelAls"],
  tracing: ["zipkin", "datadog", "skywalking", "opentelemetry"],
} as const satisfies Readonly<Record<string, readonly ProviderCase[]>>;

/** A section of Telemetry that names providers. */
export type TelemetrySection = keyof typeof providerKinds;

/** A provider of a kind that is supported for a section. */
export type SupportedProvider<S extends TelemetrySection> = Extract<
  Provider,
  { readonly case: (typeof providerKinds)[S][number] }
>;

/** Reports whether the kind of a provider is supported for a section. */
export function isSupportedFor<S extends TelemetrySection>(
  section: S,
  provider: Provider,
): provider is SupportedProvider<S> {
  const kinds: readonly (string | undefined)[] = providerKinds[section];
  return kinds.includes(provider.case);
}
