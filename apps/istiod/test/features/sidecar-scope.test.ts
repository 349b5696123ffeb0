import { clusterType } from "@istiod/xds-server";
import { describe, expect, test } from "vitest";
import { Mesh, variants } from "./mesh.js";
import { documents, istio, service, workloads } from "@istiod/config-schema/testing";

const app = (host: string, at: number): string =>
  documents(service(host, `10.96.0.${at}`), workloads(host, [{ ip: `10.1.0.${at}` }]));
const scope = istio(
  "Sidecar",
  "default",
  "shop",
  `
egress:
- hosts: ["./*", "istio-system/*"]`,
);
const files = {
  "web.yaml": app("web.shop", 1),
  "cart.yaml": app("cart.shop", 2),
  "bank.yaml": app("bank.bank", 3),
  "ledger.yaml": app("ledger.bank", 4),
  "scope.yaml": scope,
};
const cluster = (host: string): string => `outbound|80||${host}.svc.cluster.local`;

async function start(variant: (typeof variants)[number]): Promise<Mesh> {
  const mesh = await Mesh.start(variant, files);
  await mesh.proxy("web.shop", "10.1.0.1");
  await mesh.proxy("bank.bank", "10.1.0.3");
  return mesh;
}

describe.each(variants)("Sidecar, by %s", (variant) => {
  test("services outside the scope of a namespace do not reach its proxies", async () => {
    const mesh = await start(variant);
    expect(await mesh.change("ledger.yaml", "10.1.0.4], conditions", "10.1.0.40], conditions")).toEqual({
      "bank.bank": { EDS: [cluster("ledger.bank")] },
    });
    const audit = await mesh.edit({ "audit.yaml": app("audit.bank", 5) });
    expect(audit).toEqual({ "bank.bank": { CDS: [cluster("audit.bank")], EDS: [cluster("audit.bank")], RDS: ["80"] } });
    expect(await mesh.change("cart.yaml", "10.1.0.2], conditions", "10.1.0.20], conditions")).toEqual({
      "bank.bank": { EDS: [cluster("cart.shop")] },
      "web.shop": { EDS: [cluster("cart.shop")] },
    });
  });

  test("widening a scope adds resources to the proxies in the scope only", async () => {
    const mesh = await start(variant);
    const received = await mesh.change(
      "scope.yaml",
      '"istio-system/*"',
      '"istio-system/*", "bank/ledger.bank.svc.cluster.local"',
    );
    expect(received).toEqual({
      "web.shop": { CDS: [cluster("ledger.bank")], EDS: [cluster("ledger.bank")], RDS: ["80"] },
    });
  });

  test("narrowing a scope removes the resources outside of it", async () => {
    const mesh = await start(variant);
    const received = await mesh.change("scope.yaml", '"./*"', '"./web.shop.svc.cluster.local"');
    expect(Object.keys(received)).toEqual(["web.shop"]);
    expect(received["web.shop"]).toMatchObject({ CDS: [`-${cluster("cart.shop")}`], RDS: ["80"] });
    expect(received["web.shop"]).not.toHaveProperty("LDS");
  });

  test("a Sidecar for one workload does not affect others in the namespace", async () => {
    const mesh = await start(variant);
    const cart = await mesh.proxy("cart.shop", "10.1.0.2");
    const own = istio(
      "Sidecar",
      "cart",
      "shop",
      `
workloadSelector: {labels: {app: cart}}
egress:
- hosts: ["~/*"]`,
    );
    const received = await mesh.edit({ "own.yaml": own });
    expect(Object.keys(received)).toEqual(["cart.shop"]);
    expect([...cart.resources(clusterType).keys()].filter((name) => name.startsWith("outbound"))).toEqual([]);
  });
});
