/** Returns the URL at which Envoy's admin interface serves one statistic, by its exact name. */
export function statUrl(stat: string): string {
  return `http://envoy:15000/stats?filter=${encodeURIComponent(`^${stat.replaceAll(/[.|^$]/g, "\\$&")}$`)}`;
}

/** Returns the value in the response to {@link statUrl}; 0 if Envoy has no such statistic. */
export function statValue(text: string): number {
  return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
}
