import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { describe, expect, test } from "vitest";
import { endpointAddresses, Mesh, resource, variants } from "./mesh.js";
import { documents, istio, service } from "@istiod/config-schema/testing";

const host = "big.shop.svc.cluster.local";
const address = (index: number): string => `10.${16 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

/** Slices of 1,000 endpoints, which are JSON because that is read faster than other YAML. */
function slices(count: number): string {
  const texts: string[] = [];
  for (let first = 0; first < count; first += 1000)
    texts.push(
      JSON.stringify({
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: `big-${first}`, namespace: "shop", labels: { "kubernetes.io/service-name": "big" } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints: Array.from({ length: Math.min(1000, count - first) }, (_, index) => ({
          addresses: [address(first + index)],
          conditions: { ready: true, serving: true, terminating: false },
        })),
      }),
    );
  return documents(...texts);
}

const expected = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${address(index)}:8080`).sort();

describe.each(variants)("large services, by %s", (variant) => {
  test.each([60, 500, 5000, 50_000])(
    "all %i endpoints arrive, and each later change of them",
    { timeout: 60_000 },
    async (count) => {
      const mesh = await Mesh.start(variant, {
        "big.yaml": service("big.shop", "10.1.0.1"),
        "slices.yaml": slices(count),
        "other.yaml": service("other.shop", "10.1.0.2"),
      });
      const web = await mesh.proxy("web.shop", "10.0.9.9");
      expect(endpointAddresses(web, `outbound|80||${host}`)).toEqual(expected(count));
      await mesh.edit({ "slices.yaml": slices(count - 1) });
      expect(endpointAddresses(web, `outbound|80||${host}`)).toEqual(expected(count - 1));
      expect(mesh.errors).toEqual([]);
    },
  );

  test("endpoints and subject names of a large ServiceEntry arrive", { timeout: 60_000 }, async () => {
    const endpoints = Array.from({ length: 400 }, (_, index) => `{address: ${address(index)}}`);
    const names = Array.from({ length: 800 }, (_, index) => `spiffe://cluster.local/ns/vendor/sa/worker-${index}`);
    const mesh = await Mesh.start(variant, {
      "entry.yaml": istio(
        "ServiceEntry",
        "vendor",
        "shop",
        `
hosts: [api.vendor.example]
ports: [{number: 80, name: http, protocol: HTTP}]
resolution: STATIC
subjectAltNames: [${names.join(", ")}]
endpoints: [${endpoints.join(", ")}]`,
      ),
      "rule.yaml": istio(
        "DestinationRule",
        "vendor",
        "shop",
        "{host: api.vendor.example, trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}}",
      ),
    });
    const web = await mesh.proxy("web.shop", "10.0.9.9");
    const cluster = "outbound|80||api.vendor.example";
    expect(endpointAddresses(web, cluster)).toHaveLength(400);
    const text = Buffer.from(resource(web, ClusterSchema, cluster).transportSocket!.configType.value!.value).toString(
      "latin1",
    );
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
    expect(mesh.errors).toEqual([]);
  });
});
