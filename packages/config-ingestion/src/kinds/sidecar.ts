import { collection, index } from "@istiod/incremental";
import { SidecarSchema, type Sidecar } from "@istiod/istio-api/networking/v1alpha3/sidecar";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type SidecarObject = ConfigObject<Sidecar>;

export const sidecars = collection<SidecarObject>("Sidecar");

export const sidecarsByNamespace = index(sidecars, "byNamespace", (v) => [v.namespace]);

export const sidecarKind = istioKind({
  kind: "Sidecar",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: SidecarSchema,
  collection: sidecars,
});
