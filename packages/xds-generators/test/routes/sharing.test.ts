import { query } from "@istiod/incremental";
import { dnsNamespaceServing } from "@istiod/push-context";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildVirtualHosts,
  type SidecarVirtualHosts,
  sidecarVirtualHosts,
} from "../../src/routes/sidecar/sidecar-virtual-hosts.js";
import { istioYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { cart, cartVirtualService, RouteMesh } from "./route-mesh.js";

const weighted = (weight: number) =>
  cartVirtualService([
    {
      route: [
        { destination: { host: "cart", subset: "a" }, weight },
        { destination: { host: "cart", subset: "b" }, weight: 100 - weight },
      ],
    },
  ]);

function mesh(services: number): RouteMesh {
  const others = Array.from({ length: services }, (_, i) =>
    serviceYaml(`s${i}`, { namespace: `n${i % 5}`, ip: `10.97.${i >> 8}.${i & 255}` }),
  );
  return new RouteMesh(cart + others.join("") + weighted(90));
}

describe("route configurations of clients in different namespaces", () => {
  it("are the same object if neither namespace has a service at the port", () => {
    const some = mesh(10);
    expect(some.sidecar("first").resource("80")).toBe(some.sidecar("second").resource("80"));
    expect(some.sidecar("n1").resource("80")).not.toBe(some.sidecar("n2").resource("80"));
  });

  it("do not depend on which client asks first", () => {
    const [there, back] = [mesh(40), mesh(40)];
    const ask = (of: RouteMesh, namespace: string) => of.sidecar(namespace).resource("80").version;
    const first = ["n1", "shop", "n2", "elsewhere"].map((namespace) => ask(there, namespace));
    const second = ["elsewhere", "n2", "shop", "n1"].map((namespace) => ask(back, namespace)).reverse();
    expect(second).toEqual(first);
  });
});

describe("a weight change", () => {
  it("encodes the VirtualService's routes and one virtual host for each form of its names", () => {
    const some = mesh(200);
    const clients = ["shop", "n1", "n2", "elsewhere"].map((namespace) => some.sidecar(namespace));
    const before = clients.map((client) => client.resource("80"));
    const { recomputations } = some.db.stats();
    some.apply(weighted(80));
    const after = clients.map((client) => client.resource("80"));
    after.forEach((resource, i) => expect(resource.version).not.toBe(before[i]!.version));
    expect(clients[0]!.cartRoute()).toMatchObject({
      route: { weightedClusters: { clusters: [{ weight: 80 }, { weight: 20 }] } },
    });
    expect(some.db.stats().recomputations - recomputations).toBeLessThan(30);
  });

  it("changes no other port", () => {
    const some = new RouteMesh(cart + serviceYaml("other", { ports: ["http:81"] }) + weighted(90));
    const client = some.sidecar();
    const before = client.resource("81");
    some.apply(weighted(80));
    expect(client.resource("81")).toBe(before);
  });
});

describe("virtual hosts that reuse other clients' chunks", () => {
  const at = query("test.port", (q) => ({
    scope: {},
    listener: 0,
    port: 80,
    localNamespace: q.ask(dnsNamespaceServing, 80),
  }));
  const flat = ({ chunks, singleLabelDomains }: SidecarVirtualHosts) => ({
    hosts: chunks.flatMap(({ hosts }) => hosts),
    singleLabelDomains,
  });
  const labels = ["a", "b", "n", "A"];
  const label = fc.constantFrom(...labels);
  const namespaces = ["n", "m"];
  const kubernetes = fc.record({ name: fc.constantFrom("a", "b", "n"), namespace: fc.constantFrom(...namespaces) });
  const entryHost = fc.oneof(
    label.map((name) => name.toLowerCase()),
    fc.tuple(label, label).map(([x, y]) => `${x}.${y}`.toLowerCase()),
    label.map((x) => `${x.toLowerCase()}.n.svc`),
  );
  const routeHost = fc.oneof(
    label.map((name) => `${name}.example.com`),
    fc.tuple(label, fc.constantFrom(...namespaces)).map(([x, ns]) => `${x}.${ns}.svc.cluster.local`),
    fc.constant("*.n.svc.cluster.local"),
  );

  it("equal those built from scratch", () => {
    fc.assert(
      fc.property(
        fc.array(kubernetes, { maxLength: 5 }),
        fc.uniqueArray(entryHost, { maxLength: 4 }),
        fc.array(routeHost, { maxLength: 3 }),
        (services, entries, routed) => {
          const yaml = [
            ...services.map(({ name, namespace }, i) => serviceYaml(name, { namespace, ip: `10.97.0.${i + 1}` })),
            ...entries.map((host, i) =>
              serviceEntry(
                `e${i}`,
                { hosts: [host], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
                "other",
              ),
            ),
            ...routed.map((host, i) =>
              istioYaml(
                "VirtualService",
                `v${i}`,
                { hosts: [host], http: [{ route: [{ destination: { host: "x.example.com" } }] }] },
                "other",
              ),
            ),
          ];
          const all = new RouteMesh(yaml.join(""));
          for (const namespace of namespaces) {
            const { view } = all.sidecar(namespace);
            const port = view.call(at);
            expect(flat(view.call(sidecarVirtualHosts, port)).hosts).toEqual(
              flat(view.call(buildVirtualHosts, port)).hosts,
            );
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
