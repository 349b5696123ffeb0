import { create } from "@bufbuild/protobuf";
import { defaultMeshConfig, defaultProxyConfig, type ProxyConfigObject } from "@istiod/config-schema";
import { effectiveProxyConfig } from "@istiod/injector";
import { ProxyConfigSchema } from "@istiod/istio-api/networking/v1beta1/proxy_config";
import { describe, expect, it } from "vitest";

const object = (
  namespace: string,
  name: string,
  spec: Parameters<typeof create<typeof ProxyConfigSchema>>[1],
  creationTimestamp = 0,
): ProxyConfigObject => ({
  kind: "ProxyConfig",
  namespace,
  name,
  labels: {},
  annotations: {},
  creationTimestamp,
  cluster: "",
  spec: create(ProxyConfigSchema, spec),
});

const mesh = {
  ...defaultMeshConfig(),
  defaultConfig: { ...defaultProxyConfig(), concurrency: 1, proxyMetadata: { M: "mesh" } },
};
const target = { namespace: "shop", labels: { app: "cart" }, annotations: {} };

describe("the proxy configuration of a workload", () => {
  it("is the mesh's, over Istio's defaults", () => {
    expect(effectiveProxyConfig(mesh, [], target)).toMatchObject({ concurrency: 1, statusPort: 15020 });
  });

  it("is refined by root namespace, namespace, annotation and selector, in this order", () => {
    const layers = [
      object("istio-system", "root", { concurrency: 2, environmentVariables: { R: "root" } }),
      object("shop", "all", { concurrency: 3, environmentVariables: { R: "shop" } }),
      object("shop", "cart", { selector: { matchLabels: { app: "cart" } }, image: { imageType: "debug" } }),
      object("shop", "other", { selector: { matchLabels: { app: "other" } }, concurrency: 9 }),
      object("elsewhere", "all", { concurrency: 8 }),
    ];
    const annotations = { "proxy.istio.io/config": "concurrency: 4\nimage: {imageType: distroless}" };
    const config = (count: number, own = {}) =>
      effectiveProxyConfig(mesh, layers.slice(0, count), { ...target, annotations: own });
    expect(config(1).concurrency).toBe(2);
    expect(config(5).concurrency).toBe(3);
    expect(config(5).proxyMetadata).toEqual({ M: "mesh", R: "shop" });
    expect(config(5, annotations).concurrency).toBe(4);
    expect(config(5, annotations).image?.imageType).toBe("debug");
  });

  it("is that of an object with an empty selector, which selects the whole namespace", () => {
    const root = object("istio-system", "root", { selector: {}, concurrency: 2 });
    const own = object("shop", "all", { selector: { matchLabels: {} }, concurrency: 3 });
    expect(effectiveProxyConfig(mesh, [root], target).concurrency).toBe(2);
    expect(effectiveProxyConfig(mesh, [root, own], target).concurrency).toBe(3);
  });

  it("is that of the oldest of several objects", () => {
    const objects = [object("shop", "a", { concurrency: 5 }, 2), object("shop", "b", { concurrency: 6 }, 1)];
    expect(effectiveProxyConfig(mesh, objects, target).concurrency).toBe(6);
  });
});
