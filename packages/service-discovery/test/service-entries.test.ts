import { describe, expect, test } from "vitest";
import {
  allEndpoints,
  declarationsOf,
  endpoints,
  inlineEndpoints,
  service,
  serviceOrder,
  servicesByHostname,
  serviceTargets,
} from "@istiod/service-discovery";
import { Mesh, podYaml, serviceYaml, sliceYaml } from "./mesh.js";

interface EntryOptions {
  readonly spec: string;
  readonly ns?: string;
  readonly created?: string;
  readonly metadata?: string;
  readonly status?: string;
}

function entryYaml(
  name: string,
  { spec, ns = "shop", created = "2024-01-01T00:00:00Z", metadata = "", status = "" }: EntryOptions,
): string {
  return `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: ${ns}, creationTimestamp: "${created}"${metadata && `, ${metadata}`}}
spec: {${spec}}
${status && `status: {${status}}`}
`;
}

const API = "shop/api.example.org";
const HTTPS = "ports: [{number: 443, name: https, protocol: HTTPS}]";

describe("ServiceEntry services", () => {
  test("exist for each host, with the declared resolution and location", () => {
    const mesh = new Mesh(
      entryYaml("api", {
        spec: `hosts: [api.example.org, "*.example.org"], ${HTTPS}, resolution: NONE, location: MESH_EXTERNAL, exportTo: [".", "pay"]`,
      }),
    );
    expect(mesh.ask(serviceOrder)).toEqual(["shop/*.example.org", API]);
    expect(mesh.ask(service, API)).toMatchObject({
      name: "api.example.org",
      objectName: "api",
      registry: "External",
      resolution: "Passthrough",
      meshExternal: true,
      defaultAddress: "0.0.0.0",
      clusterAddresses: {},
      exportTo: [".", "pay"],
      ports: [{ name: "https", number: 443, protocol: "HTTPS" }],
    });
  });

  test.each([
    ["NONE", "Passthrough"],
    ["STATIC", "ClientSideLB"],
    ["DNS", "DNSLB"],
    ["DNS_ROUND_ROBIN", "DNSRoundRobinLB"],
    ["DYNAMIC_DNS", "DynamicDNS"],
  ])("%s resolution is %s", (declared, resolution) => {
    const host = declared === "DYNAMIC_DNS" ? '"*.example.org"' : "api.example.org";
    const ports = "ports: [{number: 443, name: tls, protocol: TLS}]";
    const mesh = new Mesh(entryYaml("api", { spec: `hosts: [${host}], ${ports}, resolution: ${declared}` }));
    expect(mesh.ask(service, `shop/${host.replaceAll('"', "")}`)?.resolution).toBe(resolution);
  });

  test("have one declaration per address, and a CIDR of one address is that address", () => {
    const mesh = new Mesh(
      entryYaml("api", {
        spec: `hosts: [api.example.org], addresses: [192.0.2.1, 192.0.2.7/32, 198.51.100.0/24], ${HTTPS}, resolution: NONE`,
      }),
    );
    expect(mesh.ask(declarationsOf, API)).toEqual([API, `${API}/api/192.0.2.7`, `${API}/api/198.51.100.0/24`]);
    expect(mesh.ask(serviceOrder).map((id) => mesh.ask(service, id)?.defaultAddress)).toEqual([
      "192.0.2.1",
      "192.0.2.7",
      "198.51.100.0/24",
    ]);
    expect(mesh.ask(service, `${API}/api/198.51.100.0/24`)).toMatchObject({ key: API, hostname: "api.example.org" });
  });

  test("use auto-allocated addresses, unless they opt out", () => {
    const status =
      'addresses: [{value: 240.240.0.5, host: api.example.org}, {value: "2001:2::5", host: api.example.org}, {value: 240.240.0.6, host: other.example.org}]';
    const spec = `hosts: [api.example.org], ${HTTPS}, resolution: DNS`;
    const mesh = new Mesh(entryYaml("api", { spec, status }));
    expect(mesh.ask(service, API)).toMatchObject({
      autoAllocatedIpv4: "240.240.0.5",
      autoAllocatedIpv6: "2001:2::5",
      defaultAddress: "0.0.0.0",
    });
    mesh.apply(
      entryYaml("api", { spec, status, metadata: 'labels: {networking.istio.io/enable-autoallocate-ip: "false"}' }),
    );
    expect(mesh.ask(service, API)?.autoAllocatedIpv4).toBeUndefined();
  });

  test("of one host share its key: a Kubernetes Service owns it, else the oldest", () => {
    const host = "cart.shop.svc.cluster.local";
    const spec = `hosts: [${host}], ${HTTPS}, resolution: STATIC`;
    const mesh = new Mesh(entryYaml("young", { spec, created: "2024-02-01T00:00:00Z" })).apply(
      entryYaml("old", { spec }),
    );
    expect(mesh.ask(service, `shop/${host}`)?.objectName).toBe("old");
    mesh.apply(serviceYaml("cart", { created: "2025-01-01T00:00:00Z" }));
    expect(mesh.ask(service, `shop/${host}`)?.registry).toBe("Kubernetes");
    expect(mesh.ask(declarationsOf, `shop/${host}`)).toEqual([
      `shop/${host}`,
      `shop/${host}/old/0.0.0.0`,
      `shop/${host}/young/0.0.0.0`,
    ]);
    expect(mesh.ask(serviceOrder)).toEqual([`shop/${host}/old/0.0.0.0`, `shop/${host}/young/0.0.0.0`, `shop/${host}`]);
    mesh.apply(entryYaml("elsewhere", { spec, ns: "pay", created: "2020-01-01T00:00:00Z" }));
    expect(mesh.ask(servicesByHostname, host)).toEqual([`shop/${host}`, `pay/${host}`]);
  });

  test("may set passthrough target ports and race connections", () => {
    const mesh = new Mesh(
      entryYaml("api", {
        spec: "hosts: [api.example.org], ports: [{number: 443, name: tls, protocol: TLS, targetPort: 8443}], resolution: NONE",
        metadata: "annotations: {istio.io/connect-strategy: race_first_tcp_connect}",
      }),
    );
    expect(mesh.ask(service, API)).toMatchObject({ passthroughTargetPorts: { 443: 8443 }, raceFirstTcpConnect: true });
  });
});

describe("ServiceEntry endpoints", () => {
  test("are those that it lists; the port is the endpoint's, else the target port, else the service port", () => {
    const mesh = new Mesh(
      entryYaml("api", {
        spec: `hosts: [api.example.org], resolution: STATIC,
  ports: [{number: 80, name: http, protocol: HTTP}, {number: 443, name: https, protocol: HTTPS, targetPort: 8443}],
  endpoints: [{address: 192.0.2.1, ports: {http: 8080}, weight: 5, locality: us/a, network: far, labels: {v: one}},
    {address: 192.0.2.2, serviceAccount: api}]`,
      }),
    ).apply(
      entryYaml("socket", {
        spec: "hosts: [socket.example.org], resolution: STATIC, ports: [{number: 80, name: http, protocol: HTTP}], endpoints: [{address: 'unix:///run/api.sock'}]",
      }),
    );
    expect(
      mesh
        .ask(allEndpoints, { service: API })
        .map(({ addresses, port, portName, weight, tlsMode }) => [addresses[0], port, portName, weight, tlsMode]),
    ).toEqual([
      ["192.0.2.1", 8080, "http", 5, "disabled"],
      ["192.0.2.1", 8443, "https", 5, "disabled"],
      ["192.0.2.2", 80, "http", 0, "istio"],
      ["192.0.2.2", 8443, "https", 0, "istio"],
    ]);
    expect(mesh.ask(allEndpoints, { service: "shop/socket.example.org" })).toMatchObject([
      { addresses: ["/run/api.sock"], port: 0 },
    ]);
    expect(mesh.ask(allEndpoints, { service: API })[0]).toMatchObject({
      locality: "us/a",
      network: "far",
      health: "Unknown",
      workloadName: "api-0",
      labels: { v: "one", "topology.kubernetes.io/zone": "a", "topology.istio.io/network": "far" },
    });
    expect(mesh.ask(allEndpoints, { service: API })[2]?.identity).toBe("spiffe://cluster.local/ns/shop/sa/api");
  });

  test("are the host itself with DNS resolution", () => {
    const mesh = new Mesh(entryYaml("api", { spec: `hosts: [api.example.org], ${HTTPS}, resolution: DNS` }));
    expect(mesh.ask(inlineEndpoints, { service: API, port: { name: "https", number: 443 } })).toEqual([
      expect.objectContaining({ addresses: ["api.example.org"], port: 443, labels: {} }),
    ]);
  });

  test("are found by port number if inlined, and by port name in EDS", () => {
    const spec = (name: string): string =>
      `hosts: [api.example.org], ports: [{number: 443, name: ${name}, protocol: TLS}], resolution: STATIC, endpoints: [{address: 192.0.2.1}]`;
    const mesh = new Mesh(entryYaml("one", { spec: spec("a") })).apply(
      entryYaml("two", { spec: spec("b"), created: "2024-02-01T00:00:00Z" }),
    );
    expect(mesh.ask(inlineEndpoints, { service: API, port: { name: "a", number: 443 } })).toHaveLength(2);
    expect(mesh.ask(endpoints, { service: API, port: "a" })).toHaveLength(1);
  });

  test("with DNS_ROUND_ROBIN are one per port", () => {
    const spec = `hosts: [api.example.org], ${HTTPS}, resolution: DNS_ROUND_ROBIN`;
    const mesh = new Mesh(entryYaml("one", { spec })).apply(
      entryYaml("two", { spec, created: "2024-02-01T00:00:00Z" }),
    );
    expect(mesh.ask(allEndpoints, { service: API })).toHaveLength(1);
  });

  test("are selected from ready pods and WorkloadEntries of the namespace", () => {
    const vm = (labels: string): string => `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop, labels: {${labels}}}
spec: {address: 192.0.2.9, ports: {https: 9443}, serviceAccount: vm}
`;
    const mesh = new Mesh(
      entryYaml("api", {
        spec: `hosts: [api.example.org], ${HTTPS}, resolution: STATIC, workloadSelector: {labels: {app: cart}}`,
      }),
    )
      .apply(podYaml("cart-1", "10.1.0.1"))
      .apply(podYaml("starting", "10.1.0.2", { ready: false }))
      .apply(podYaml("other", "10.1.0.3", { labels: "app: other" }))
      .apply(podYaml("cart-1", "10.2.0.1", { ns: "pay" }))
      .apply(vm("app: cart"));
    const addresses = (): readonly string[] =>
      mesh
        .ask(endpoints, { service: API, port: "https" })
        .map(({ addresses: [address], port }) => `${address}:${port}`);
    expect(addresses()).toEqual(["10.1.0.1:443", "192.0.2.9:9443"]);
    mesh.apply(podYaml("starting", "10.1.0.2")).apply(vm("app: other"));
    expect(addresses()).toEqual(["10.1.0.1:443", "10.1.0.2:443"]);
    mesh.set("PILOT_ENABLE_SERVICEENTRY_SELECT_PODS", "false");
    expect(addresses()).toEqual([]);
  });

  test.each(["{}", "{labels: {}}"])("are none with workloadSelector %s, whatever the resolution", (selector) => {
    const vm = `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop, labels: {app: cart}}
spec: {address: 192.0.2.9}
`;
    for (const resolution of ["STATIC", "DNS", "DNS_ROUND_ROBIN", "NONE"]) {
      const mesh = new Mesh(
        entryYaml("api", {
          spec: `hosts: [api.example.org], ${HTTPS}, resolution: ${resolution}, workloadSelector: ${selector}`,
        }),
      )
        .apply(podYaml("cart-1", "10.1.0.1"))
        .apply(vm);
      expect(mesh.ask(allEndpoints, { service: API })).toEqual([]);
      const cart = { id: "cart-1.shop", namespace: "shop", cluster: "Kubernetes", addresses: ["10.1.0.1"] };
      const rest = { labels: { app: "cart" }, podPorts: [], nodeName: "", isVm: false };
      expect(mesh.ask(serviceTargets, { ...cart, ...rest })).toEqual([]);
    }
  });

  test("are merged with those of a Kubernetes Service of the same host", () => {
    const mesh = new Mesh(serviceYaml("cart"))
      .apply(podYaml("cart-1", "10.1.0.1"))
      .apply(sliceYaml("a", [{ pod: "cart-1", ip: "10.1.0.1" }]))
      .apply(
        entryYaml("more", {
          spec: "hosts: [cart.shop.svc.cluster.local], ports: [{number: 80, name: http, protocol: HTTP}], resolution: STATIC, endpoints: [{address: 192.0.2.1}]",
        }),
      );
    expect(
      mesh
        .ask(endpoints, { service: "shop/cart.shop.svc.cluster.local", port: "http" })
        .map(({ addresses }) => addresses[0]),
    ).toEqual(["192.0.2.1", "10.1.0.1"]);
  });
});

test("workloads that a ServiceEntry selects are endpoints up to the bound", () => {
  const workload = (i: number): string => `---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: w${i}, namespace: shop}
spec: {address: 10.2.0.${i}, labels: {app: api}}
`;
  const mesh = new Mesh(
    entryYaml("api", {
      spec: `hosts: [api.example.org, b.example.org], ${HTTPS}, addresses: [10.9.0.1, 10.9.0.2], resolution: STATIC, workloadSelector: {labels: {app: api}}`,
    }) + [1, 2, 3].map(workload).join(""),
  );
  const addresses = (): readonly string[] =>
    mesh.ask(allEndpoints, { service: API }).flatMap((endpoint) => endpoint.addresses);
  expect(addresses()).toEqual(["10.2.0.1", "10.2.0.2", "10.2.0.3", "10.2.0.1", "10.2.0.2", "10.2.0.3"]);
  mesh.set("ISTIOD_MAX_ENDPOINTS_OF_SERVICE_ENTRY", "11");
  expect(addresses()).toEqual(["10.2.0.1", "10.2.0.2", "10.2.0.1", "10.2.0.2"]);
  mesh.set("ISTIOD_MAX_ENDPOINTS_OF_SERVICE_ENTRY", "12");
  expect(addresses()).toHaveLength(6);
});
