import { collection, index } from "@istiod/incremental";
import { ProxyConfigSchema, type ProxyConfig } from "@istiod/istio-api/networking/v1beta1/proxy_config";
import type { ConfigObject } from "../../config-object.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import type { Place } from "../../validation/place.js";
import { atMost, type Shape } from "../../validation/shape.js";
import { checkSelector, selectorShape } from "../../validation/targets.js";
import { istioKind } from "./istio-kind.js";

export type ProxyConfigObject = ConfigObject<ProxyConfig>;

export const proxyConfigs = collection<ProxyConfigObject>("ProxyConfig", { filter: discoveryNamespacesFilter });

export const proxyConfigsByNamespace = index(proxyConfigs, "byNamespace", (v) => [v.namespace]);

const shape: Shape = { ...selectorShape, "environmentVariables.*": atMost(2048) };

export const proxyConfigKind = istioKind({
  kind: "ProxyConfig",
  group: "networking.istio.io",
  versions: ["v1beta1"],
  schema: ProxyConfigSchema,
  collection: proxyConfigs,
  shape,
  validate,
});

/** Validates a spec as Istio's `ValidateProxyConfig` does. */
function validate({ spec }: ProxyConfigObject, place: Place): void {
  checkSelector(spec.selector, place.at("selector"));
  if ((spec.concurrency ?? 0) < 0) place.at("concurrency").error(`is ${spec.concurrency}, expected 0 or more`);
}
