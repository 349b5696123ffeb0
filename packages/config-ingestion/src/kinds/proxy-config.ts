import { collection, index } from "@istiod/incremental";
import { ProxyConfigSchema, type ProxyConfig } from "@istiod/istio-api/networking/v1beta1/proxy_config";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type ProxyConfigObject = ConfigObject<ProxyConfig>;

export const proxyConfigs = collection<ProxyConfigObject>("ProxyConfig");

export const proxyConfigsByNamespace = index(proxyConfigs, "byNamespace", (v) => [v.namespace]);

export const proxyConfigKind = istioKind({
  kind: "ProxyConfig",
  group: "networking.istio.io",
  versions: ["v1beta1"],
  schema: ProxyConfigSchema,
  collection: proxyConfigs,
});
