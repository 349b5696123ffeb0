import type { MeshObject } from "@istiod/gateway-api/testing";
import { randomEnvoyFilters } from "@istiod/parity";
import type fc from "fast-check";

/** EnvoyFilters of every part and operation. Those for gateways select the manual one. */
export const envoyFilters: fc.Arbitrary<readonly MeshObject[]> = randomEnvoyFilters.map((filters) =>
  filters.map((filter): MeshObject => {
    const { workloadSelector, ...spec } = filter.spec as { readonly workloadSelector?: { readonly labels: object } };
    if (workloadSelector === undefined) return { ...filter };
    const labels = "istio" in workloadSelector.labels ? { istio: "ingress" } : { app: "web" };
    return { ...filter, spec: { ...spec, workloadSelector: { labels } } };
  }),
);
