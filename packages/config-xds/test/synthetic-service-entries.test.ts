import { create, fromBinary, toJson } from "@bufbuild/protobuf";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Ingestion } from "@istiod/config-ingestion";
import {
  defaultMeshConfig,
  formatProblem,
  meshConfig,
  meshConfigKey,
  serviceEntries,
  services,
} from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { configMessageTypeOf, servedConfig, XdsConfigSource } from "@istiod/config-xds";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Database } from "@istiod/incremental";
import { ResourceSchema } from "@istiod/istio-api/mcp/v1alpha1/resource";
import { ServiceEntrySchema } from "@istiod/istio-api/networking/v1alpha3/service_entry";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";
import { createXdsServer, type ResourceSource } from "@istiod/xds-server";
import { afterEach, describe, expect, test, vi } from "vitest";

const typeUrl = "networking.istio.io/v1/ServiceEntry";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function controlPlane(cluster = ""): Proxy {
  return proxyFromNode({
    id: "sidecar~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local",
    cluster: "",
    metadata: { NAMESPACE: "istio-system", ...(cluster && { CLUSTER_ID: cluster }) },
    extensions: [],
  });
}

/** A mesh with the default configuration. */
function meshDatabase(): Database<Proxy> {
  const database = new Database<Proxy>();
  database.commit((tx) => tx.set(meshConfig, meshConfigKey, defaultMeshConfig()));
  return database;
}

function served(yaml: string, cluster?: string): ResourceSet {
  const database = meshDatabase();
  commitYaml(database, yaml);
  return database.view(controlPlane(cluster)).call(servedConfig, typeUrl);
}

/** Returns the specs by name, as JSON without defaults. */
function specs(set: ResourceSet): Record<string, unknown> {
  return Object.fromEntries(
    set.toArray().map(({ name, bytes }) => {
      const { body, metadata } = fromBinary(ResourceSchema, bytes);
      expect(metadata?.name).toBe(name);
      return [name, toJson(ServiceEntrySchema, fromBinary(ServiceEntrySchema, body?.value ?? new Uint8Array()))];
    }),
  );
}

const service = (name: string, spec: string, annotations = "{}"): string => `
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop, annotations: ${annotations}, creationTimestamp: "2024-05-01T10:00:00Z"}
spec: ${spec}
---`;

/** The rule of `ServiceToServiceEntry`, by kinds of Services. */
describe("the synthetic ServiceEntry of a Service", () => {
  test.each([
    [
      "with a cluster IP and a selector",
      service(
        "a",
        "{clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], selector: {app: a}, ports: [{name: http-web, port: 80}]}",
      ),
      {
        addresses: ["10.0.0.1"],
        ports: [{ number: 80, name: "http-web", protocol: "HTTP" }],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
        workloadSelector: { labels: { app: "a" } },
      },
    ],
    [
      "without a selector, of ports whose protocol is detected",
      service("a", "{clusterIP: 10.0.0.1, ports: [{name: x, port: 80}, {name: dns, port: 53, protocol: UDP}]}"),
      {
        addresses: ["10.0.0.1"],
        ports: [
          { number: 80, name: "x", protocol: "UnsupportedProtocol" },
          { number: 53, name: "dns", protocol: "UDP" },
        ],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
      },
    ],
    [
      "that is headless",
      service("a", "{clusterIP: None, ports: [{name: tcp, port: 80}]}"),
      {
        addresses: ["0.0.0.0"],
        ports: [{ number: 80, name: "tcp", protocol: "TCP" }],
        location: "MESH_INTERNAL",
      },
    ],
    [
      "of type ExternalName",
      service("a", "{type: ExternalName, externalName: a.example, ports: [{name: https, port: 443}]}"),
      { addresses: ["0.0.0.0"], ports: [{ number: 443, name: "https", protocol: "HTTPS" }] },
    ],
    [
      "with annotations for visibility and identities",
      service(
        "a",
        "{clusterIP: 10.0.0.1, ports: [{name: grpc, port: 80}]}",
        '{networking.istio.io/exportTo: "., other,*", alpha.istio.io/canonical-serviceaccounts: "one,two", alpha.istio.io/kubernetes-serviceaccounts: web}',
      ),
      {
        addresses: ["10.0.0.1"],
        ports: [{ number: 80, name: "grpc", protocol: "GRPC" }],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
        exportTo: [".", "other", "*"],
        subjectAltNames: ["one", "two", "spiffe://cluster.local/ns/shop/sa/web"],
      },
    ],
    [
      "with addresses of both families, for a reader without a cluster",
      service("a", '{clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, "fd00::1"], ports: [{name: http, port: 80}]}'),
      {
        addresses: ["10.0.0.1", "fd00::1"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
      },
    ],
  ])("%s", (_, yaml, expected) => {
    expect(specs(served(yaml))).toEqual({
      "shop/synthetic-a": { hosts: ["a.shop.svc.cluster.local"], ...expected },
    });
  });

  test("has the time of the Service, and for a reader in a cluster the addresses of its family there", () => {
    const yaml = service("a", '{clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, "fd00::1"], ports: [{port: 80}]}');
    const set = served(yaml, "Kubernetes");
    expect(specs(set)["shop/synthetic-a"]).toMatchObject({ addresses: ["10.0.0.1"] });
    const { metadata } = fromBinary(ResourceSchema, set.toArray()[0]?.bytes ?? new Uint8Array());
    expect(metadata?.createTime?.seconds).toBe(BigInt(Date.parse("2024-05-01T10:00:00Z") / 1000));
    expect(metadata?.annotations).toEqual({});
  });
});

test("only Kubernetes Services that the reader may see have one, beside the ServiceEntries", () => {
  const own = "{clusterIP: 10.0.0.1, ports: [{port: 80}]}";
  const entry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec: {hosts: [api.example], ports: [{number: 443, name: tls, protocol: TLS}], resolution: DNS}
---`;
  const yaml = service("a", own) + service("hidden", own, '{networking.istio.io/exportTo: "."}') + entry;
  expect(Object.keys(specs(served(yaml))).sort()).toEqual(["shop/api", "shop/synthetic-a"]);
  const named = entry.replace("name: api", "name: synthetic-a");
  expect(specs(served(yaml + named))["shop/synthetic-a"]).toMatchObject({ hosts: ["api.example"] });
});

test("an edit of a Service replaces its ServiceEntry and no other", () => {
  const database = meshDatabase();
  const view = database.view(controlPlane());
  const own = (port: number): string => `{clusterIP: 10.0.0.1, ports: [{port: ${port}}]}`;
  commitYaml(database, service("a", own(80)) + service("b", own(80)));
  const before = view.call(servedConfig, typeUrl);
  commitYaml(database, service("b", own(81)));
  const after = view.call(servedConfig, typeUrl);
  expect(after.get("shop/synthetic-a")).toBe(before.get("shop/synthetic-a"));
  expect(after.get("shop/synthetic-b")?.version).not.toBe(before.get("shop/synthetic-b")?.version);
});

/** A control plane: a mesh that is served, and read from another control plane. */
class ControlPlane {
  readonly database = meshDatabase();
  ingestion: Ingestion<Proxy> | undefined;
  port = 0;

  async listen(): Promise<void> {
    const view = this.database.view(controlPlane());
    const source: ResourceSource = {
      ready: () => true,
      open: () => ({}),
      resources: (_, type) => view.call(servedConfig, type),
      messageType: configMessageTypeOf,
      watch: (listener) => this.database.observe({ after: () => listener({}) }),
    };
    const server = createXdsServer(source);
    ends.push(() => server.close({ graceMs: 0 }));
    this.port = (await server.listen({ host: "127.0.0.1", port: 0 })).port;
  }

  async read({ port }: ControlPlane): Promise<void> {
    const source = new XdsConfigSource({
      url: `xds://127.0.0.1:${port}`,
      transport: createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }),
      node: create(NodeSchema, { id: "sidecar~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }),
    });
    this.ingestion = new Ingestion(this.database, [source], { debounceAfter: 1 });
    const { ingestion } = this;
    ends.push(() => ingestion.stop());
    await ingestion.ready;
  }

  get entries(): string[] {
    return [...this.database.keys(serviceEntries)].sort();
  }
}

test("control planes that read from each other send no synthetic ServiceEntry back", async () => {
  const [a, b] = [new ControlPlane(), new ControlPlane()];
  commitYaml(
    a.database,
    service(
      "a",
      "{clusterIP: 10.0.0.1, selector: {app: a}, ports: [{name: x, port: 53}, {name: z, port: 53, protocol: UDP}]}",
    ) +
      service("plain", "{clusterIP: 10.0.0.2, ports: [{name: x, port: 80}]}") +
      service("headless", "{clusterIP: None, ports: [{name: x, port: 80}]}"),
  );
  commitYaml(b.database, service("b", "{clusterIP: 10.0.0.3, ports: [{port: 80}]}"));
  for (const each of [a, b]) await each.listen();
  await a.read(b);
  await b.read(a);
  const ofA = ["shop/synthetic-a", "shop/synthetic-headless", "shop/synthetic-plain"];
  expect(b.entries).toEqual(ofA);
  expect(a.entries).toEqual(["shop/synthetic-b"]);
  expect([a, b].flatMap(({ ingestion }) => ingestion?.problems().map(formatProblem))).toEqual([]);
  const until = { timeout: 20_000, interval: 10 };
  a.database.commit((tx) => tx.delete(services, "Kubernetes/shop/a"));
  await vi.waitFor(() => expect(b.entries).toEqual(ofA.slice(1)), until);
  // A further round trip brings nothing back.
  commitYaml(b.database, service("c", "{clusterIP: 10.0.0.4, ports: [{port: 80}]}"));
  await vi.waitFor(() => expect(a.entries).toEqual(["shop/synthetic-b", "shop/synthetic-c"]), until);
  expect(b.entries).toEqual(ofA.slice(1));
});
