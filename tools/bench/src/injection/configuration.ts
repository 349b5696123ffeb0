import type { ObjectInput } from "@istiod/kubernetes/testing";
import { completeCharts, renderChart } from "@istiod/manifests";

const configMaps = new Set(["istio", "istio-sidecar-injector"]);

/** Returns the ConfigMaps of the chart, with its default values. */
export async function injectionConfiguration(namespace: string): Promise<readonly ObjectInput[]> {
  await completeCharts();
  const rendered = await renderChart("istiod", { release: "istiod", namespace });
  return rendered
    .filter(({ kind, metadata: { name } }) => kind === "ConfigMap" && configMaps.has(name))
    .map(({ metadata, ...map }) => ({ ...map, metadata: { name: metadata.name, namespace } }));
}
