import { collection, index } from "@istiod/incremental";
import { EnvoyFilterSchema, type EnvoyFilter } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type EnvoyFilterObject = ConfigObject<EnvoyFilter>;

export const envoyFilters = collection<EnvoyFilterObject>("EnvoyFilter");

export const envoyFiltersByNamespace = index(envoyFilters, "byNamespace", (v) => [v.namespace]);

export const envoyFilterKind = istioKind({
  kind: "EnvoyFilter",
  group: "networking.istio.io",
  versions: ["v1alpha3"],
  schema: EnvoyFilterSchema,
  collection: envoyFilters,
});
