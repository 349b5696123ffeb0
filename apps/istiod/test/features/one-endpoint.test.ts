import { describe, expect, test } from "vitest";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";
import { Mesh, variants } from "./mesh.js";

const host = "cart.shop.svc.cluster.local";
const pods = [{ ip: "10.0.1.1" }, { ip: "10.0.1.2", version: "v2" }] as const;
const node = (name: string, zone: string): string => `
apiVersion: v1
kind: Node
metadata: {name: ${name}, labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: ${zone}}}
`;
const headless = service("db.shop", "None", { port: 3306, portName: "tcp" }).replace(
  "targetPort: 8080",
  "targetPort: 3306",
);
const entry = (weight: number, locality = "r/z1"): string =>
  istio(
    "ServiceEntry",
    "api",
    "shop",
    `
hosts: [api.example]
ports: [{number: 80, name: http, protocol: HTTP}]
resolution: STATIC
endpoints: [{address: 192.0.2.1, weight: ${weight}, locality: ${locality}}, {address: 192.0.2.2}]`,
  );
const vms = istio(
  "ServiceEntry",
  "vms",
  "shop",
  `
hosts: [vms.example]
ports: [{number: 80, name: http, protocol: HTTP}]
resolution: STATIC
workloadSelector: {labels: {app: vm}}`,
);
const vm = (address: string, weight = 1): string =>
  istio("WorkloadEntry", "vm-1", "shop", `{address: ${address}, weight: ${weight}, labels: {app: vm}}`);

const files = {
  "nodes.yaml": documents(node("node-1", "z1"), node("node-2", "z2")),
  "cart.yaml": service("cart.shop", "10.1.0.1"),
  "cart-pods.yaml": workloads("cart.shop", pods).replace(
    "serviceAccountName: cart",
    "nodeName: node-1, serviceAccountName: cart",
  ),
  "other.yaml": documents(service("other.shop", "10.1.0.2"), workloads("other.shop", [{ ip: "10.0.2.1" }])),
  "db.yaml": headless,
  "db-pods.yaml": workloads("db.shop", [{ ip: "10.0.3.1" }], "tcp"),
  "dr.yaml": istio("DestinationRule", "cart", "shop", "{host: cart, subsets: [{name: v1, labels: {version: v1}}]}"),
  "se.yaml": entry(1),
  "vms.yaml": vms,
  "vm.yaml": vm("192.0.2.9"),
};

describe.each(variants)("one changed endpoint, by %s", (variant) => {
  test("changes only its load assignments", { timeout: 60_000 }, async () => {
    const mesh = await Mesh.start(variant, files);
    await mesh.proxy("web.shop", "10.0.9.9");
    expect(mesh.errors).toEqual([]);
    const cart = { "web.shop": { EDS: [`outbound|80|v1|${host}`, `outbound|80||${host}`] } };
    const edits = {
      "becomes not ready": [
        {
          "cart-pods.yaml": workloads("cart.shop", [{ ...pods[0], ready: false }, pods[1]]).replace(
            "serviceAccountName: cart",
            "nodeName: node-1, serviceAccountName: cart",
          ),
        },
        cart,
      ],
      "another pod's": [
        {
          "cart-pods.yaml": workloads("cart.shop", [{ ip: "10.0.1.7" }, pods[1]]).replace(
            "serviceAccountName: cart",
            "nodeName: node-1, serviceAccountName: cart",
          ),
        },
        cart,
      ],
      "moves to another node": [
        {
          "cart-pods.yaml": workloads("cart.shop", [{ ip: "10.0.1.7" }, pods[1]]).replace(
            "serviceAccountName: cart",
            "nodeName: node-2, serviceAccountName: cart",
          ),
        },
        cart,
      ],
      "whose node is in another zone": [{ "nodes.yaml": documents(node("node-1", "z1"), node("node-2", "z3")) }, cart],
      "weight in a ServiceEntry": [{ "se.yaml": entry(5) }, { "web.shop": { EDS: ["outbound|80||api.example"] } }],
      "locality in a ServiceEntry": [
        { "se.yaml": entry(5, "r/z2") },
        { "web.shop": { EDS: ["outbound|80||api.example"] } },
      ],
      "weight in a WorkloadEntry": [
        { "vm.yaml": vm("192.0.2.9", 3) },
        { "web.shop": { EDS: ["outbound|80||vms.example"] } },
      ],
      "address in a WorkloadEntry": [
        { "vm.yaml": vm("192.0.2.10", 3) },
        { "web.shop": { EDS: ["outbound|80||vms.example"] } },
      ],
      "pod of a headless service": [
        { "db-pods.yaml": workloads("db.shop", [{ ip: "10.0.3.2" }], "tcp") },
        { "web.shop": { LDS: ["-10.0.3.1_3306", "10.0.3.2_3306"] } },
      ],
      "one more pod of a headless service": [
        { "db-pods.yaml": workloads("db.shop", [{ ip: "10.0.3.2" }, { ip: "10.0.3.3", version: "v2" }], "tcp") },
        { "web.shop": { LDS: ["10.0.3.3_3306"] } },
      ],
    } as const;
    const found: Record<string, unknown> = {};
    for (const [what, [change]] of Object.entries(edits)) found[what] = await mesh.edit(change);
    expect(found).toEqual(Object.fromEntries(Object.entries(edits).map(([what, [, expected]]) => [what, expected])));
  });
});
