import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { routeConfigurations } from "../../src/routes/index.js";
import { destinationRule, istioYaml, serviceEntry, serviceYaml } from "../mesh-yaml.js";
import { type RouteClient, RouteMesh } from "./route-mesh.js";

const ingress = (host: string, path: string, port: object): string =>
  `---\n${JSON.stringify({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "front", namespace: "shop", annotations: { "kubernetes.io/ingress.class": "istio" } },
    spec: {
      rules: [{ host, http: { paths: [{ path, pathType: "Prefix", backend: { service: { name: "a", port } } }] } }],
    },
  })}\n`;

const to = (host: string, subset = "") => ({
  route: [{ destination: { host, ...(subset === "" ? {} : { subset }) } }],
});
const http = { number: 80, name: "http", protocol: "HTTP" };

/** Objects that an edit adds, replaces by a variant, or removes. */
const objects: readonly (readonly string[])[] = [
  [serviceYaml("a", { ip: "10.96.0.1" }), serviceYaml("a", { ip: "10.96.0.9", ports: ["http:80", "any:90"] })],
  [
    serviceYaml("b", { namespace: "payments", ip: "10.96.0.2" }),
    serviceYaml("b", { namespace: "payments", ip: "None" }),
  ],
  [
    serviceYaml("a", { namespace: "payments", ip: "10.96.0.3" }),
    serviceYaml("a", { namespace: "payments", ip: "10.96.0.3", annotations: { "networking.istio.io/exportTo": "." } }),
  ],
  [serviceYaml("alias", { spec: { type: "ExternalName", externalName: "a.shop.svc.cluster.local", clusterIP: "" } })],
  [
    serviceEntry("short", { hosts: ["a"], ports: [http], resolution: "DNS" }, "other"),
    serviceEntry("short", { hosts: ["a.shop"], ports: [http], resolution: "DNS" }, "other"),
  ],
  [
    serviceEntry("same", { hosts: ["api.example.com"], ports: [http], resolution: "DNS" }),
    serviceEntry("same", {
      hosts: ["api.example.com", "b.payments.svc.cluster.local"],
      ports: [http],
      resolution: "DNS",
    }),
  ],
  [
    istioYaml("VirtualService", "a", { hosts: ["a"], http: [to("a", "v1")] }),
    istioYaml("VirtualService", "a", {
      hosts: ["a", "shop.example.com"],
      http: [{ match: [{ sourceLabels: { app: "web" } }], ...to("b.payments.svc.cluster.local") }],
    }),
  ],
  [
    istioYaml(
      "VirtualService",
      "wide",
      { hosts: ["*.svc.cluster.local"], exportTo: ["."], http: [to("api.example.com")] },
      "payments",
    ),
  ],
  [
    istioYaml("VirtualService", "root", {
      hosts: ["b.payments.svc.cluster.local"],
      http: [{ match: [{ uri: { prefix: "/a" } }], delegate: { name: "leaf" } }],
    }),
  ],
  [
    istioYaml("VirtualService", "leaf", { http: [to("a")] }),
    istioYaml("VirtualService", "leaf", { http: [{ match: [{ uri: { prefix: "/b" } }], ...to("a") }] }),
  ],
  [
    istioYaml("VirtualService", "front", {
      hosts: ["x.example.com", "y.example.com"],
      gateways: ["edge/front"],
      http: [to("a")],
    }),
  ],
  [
    istioYaml("Gateway", "front", { selector: { istio: "gateway" }, servers: [{ port: http, hosts: ["*"] }] }, "edge"),
    istioYaml(
      "Gateway",
      "front",
      {
        selector: { istio: "gateway" },
        servers: [{ port: http, hosts: ["x.example.com", "z.example.com"], tls: { httpsRedirect: true } }],
      },
      "edge",
    ),
  ],
  [
    istioYaml("Sidecar", "default", { egress: [{ hosts: ["./*"] }] }),
    istioYaml("Sidecar", "default", {
      workloadSelector: { labels: { app: "web" } },
      egress: [{ hosts: ["*/*", "~payments/a.payments.svc.cluster.local"] }],
      outboundTrafficPolicy: { mode: "REGISTRY_ONLY" },
    }),
  ],
  [istioYaml("Sidecar", "root", { egress: [{ hosts: ["./*", "payments/*"] }] }, "istio-system")],
  [
    destinationRule("a", { trafficPolicy: { loadBalancer: { consistentHash: { httpHeaderName: "x" } } } }),
    destinationRule("a", {
      exportTo: ["."],
      subsets: [{ name: "v1", trafficPolicy: { loadBalancer: { consistentHash: { useSourceIp: true } } } }],
    }),
  ],
  [ingress("x.example.com", "/i", { number: 80 }), ingress("", "/", { name: "any" })],
];

/** The gateway that serves Gateways also serves Ingresses. */
const settings = { ingressSelector: "gateway" };

const edit = fc.record({ object: fc.nat(objects.length - 1), variant: fc.nat(1), removed: fc.boolean() });

function clientsOf(mesh: RouteMesh): readonly RouteClient[] {
  return [
    mesh.sidecar("shop"),
    mesh.sidecar("shop", { LABELS: { app: "web" } }),
    mesh.sidecar("payments"),
    mesh.sidecar("elsewhere"),
    mesh.router(),
  ];
}

function versions(clients: readonly RouteClient[]): readonly (readonly string[])[] {
  return clients.map(({ view }) =>
    [...view.call(routeConfigurations)].map(({ name, version }) => `${name} ${version}`),
  );
}

describe("route configurations after random edits", () => {
  it("equal those of a mesh built from scratch", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(edit, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
        (commits) => {
          const edited = new RouteMesh("", { settings });
          const clients = clientsOf(edited);
          const present = new Map<number, string>();
          for (const edits of commits) {
            for (const { object, variant, removed } of edits) {
              const yaml = objects[object]![Math.min(variant, objects[object]!.length - 1)]!;
              if (removed) {
                edited.remove(yaml);
                present.delete(object);
              } else {
                edited.apply(yaml);
                present.set(object, yaml);
              }
            }
            expect(versions(clients)).toEqual(
              versions(clientsOf(new RouteMesh([...present.values()].join(""), { settings }))),
            );
          }
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);
});
