/** Fields of an EnvoyFilter beside its patches. */
export interface FilterOptions {
  readonly namespace?: string;
  readonly annotations?: object;
  /** Seconds after some time. */
  readonly created?: number;
  readonly priority?: number;
  readonly workloadSelector?: object;
  readonly targetRefs?: readonly object[];
}

/** An EnvoyFilter with patches. */
export function envoyFilter(name: string, configPatches: readonly object[], options: FilterOptions = {}): string {
  const { namespace = "shop", annotations = {}, created = 0, ...spec } = options;
  return `---\n${JSON.stringify({
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name, namespace, annotations, creationTimestamp: `2024-01-01T00:00:0${created}Z` },
    spec: { configPatches, ...spec },
  })}\n`;
}
