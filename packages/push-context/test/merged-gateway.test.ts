import { create } from "@bufbuild/protobuf";
import { type Server, ServerSchema } from "@istiod/istio-api/networking/v1alpha3/gateway";
import { describe, expect, it } from "vitest";
import { mergedGateway, serversOfRoute } from "../src/index.js";
import type { SelectedGateway } from "../src/gateways/bound-server.js";
import { mergeServers } from "../src/gateways/merge-servers.js";
import { networking } from "./objects.js";
import { TestMesh } from "./mesh.js";

const tls = { credentialName: "cert", mode: 1 };

function server(number: number, protocol: string, hosts: readonly string[], more: Partial<Server> = {}): Server {
  return create(ServerSchema, {
    port: { number, protocol, name: `${protocol.toLowerCase()}-${number}` },
    hosts: [...hosts],
    ...more,
  } as never);
}

function selected(
  name: string,
  servers: readonly Server[],
  targets: Readonly<Record<number, number>> = {},
): SelectedGateway {
  return { namespace: "ns", name, servers, listenOn: (port) => [targets[port] ?? port] };
}

const shape = (gateways: readonly SelectedGateway[]): object[] =>
  mergeServers(gateways).groups.map(({ port, bind, protocol, routeName, servers }) => ({
    at: `${bind}:${port} ${protocol}`,
    routeName,
    from: servers.map(({ gateway, index }) => `${gateway}[${index}]`),
  }));

describe("Gateways of one proxy", () => {
  it("share a port for all plain HTTP protocols", () => {
    expect(shape([selected("a", [server(80, "HTTP", ["a"])]), selected("b", [server(80, "GRPC", ["b"])])])).toEqual([
      { at: ":80 HTTP", routeName: "http.80", from: ["ns/a[0]", "ns/b[0]"] },
    ]);
  });

  it("share a port for TLS, with routes for each server", () => {
    const merged = mergeServers([
      selected("a", [server(443, "HTTPS", ["a"], { tls } as never)]),
      selected("b", [server(443, "HTTPS", ["b"], { tls } as never)]),
    ]);
    expect(merged.groups).toHaveLength(1);
    expect(Object.keys(merged.serversByRouteName)).toEqual(["https.443.https-443.a.ns", "https.443.https-443.b.ns"]);
    expect(merged.portMap).toEqual({ 443: [443] });
  });

  it("cannot share a port for different protocols: the older one keeps it", () => {
    const merged = mergeServers([
      selected("old", [server(80, "TCP", ["*"])]),
      selected("new", [server(80, "HTTP", ["*"]), server(81, "HTTP", ["*"])]),
    ]);
    expect(merged.groups.map(({ port, protocol }) => [port, protocol])).toEqual([
      [80, "TCP"],
      [81, "HTTP"],
    ]);
    expect(merged.rejected).toEqual([
      {
        gateway: "ns/new",
        index: 0,
        reason: "HTTP on port 80 conflicts with TCP",
        conflictsWith: { gateway: "ns/old", index: 0 },
      },
    ]);
  });

  it.each(["HTTP", "GRPC"])(
    "keep their routes if another one binds another address, and shares the port by %s",
    (protocol) => {
      const gateways = [
        selected("old", [server(80, "HTTP", ["a"])]),
        selected("new", [server(80, "HTTP2", ["*"], { bind: "::" }), server(80, protocol, ["b"])]),
        selected("newest", [server(80, "TCP", ["*"])]),
      ];
      expect(shape(gateways)).toEqual([
        { at: ":80 HTTP", routeName: "http.80", from: ["ns/old[0]", "ns/new[1]"] },
        { at: ":::80 HTTP2", routeName: "http.80.::", from: ["ns/new[0]"] },
      ]);
      const { serversByRouteName, rejected } = mergeServers(gateways);
      expect(serversByRouteName["http.80"]?.map(({ gateway }) => gateway)).toEqual(["ns/old", "ns/new"]);
      expect(rejected.map(({ gateway, reason }) => `${gateway}: ${reason}`)).toEqual([
        "ns/newest: TCP on port 80 conflicts with HTTP",
      ]);
    },
  );

  it("may have different protocols where they bind to different addresses", () => {
    expect(
      shape([
        selected("a", [
          server(80, "TCP", ["*"], { bind: "10.0.0.1" }),
          server(80, "HTTP", ["*"], { bind: "10.0.0.2" }),
        ]),
      ]),
    ).toEqual([
      { at: "10.0.0.1:80 TCP", routeName: "", from: ["ns/a[0]"] },
      { at: "10.0.0.2:80 HTTP", routeName: "http.80.10.0.0.2", from: ["ns/a[1]"] },
    ]);
  });

  it("have no routes for TCP, however many share an address", () => {
    const passed = (host: string): Server =>
      server(443, "TLS", [host], { bind: "10.0.0.2", tls: { mode: 0 } } as never);
    const merged = mergeServers([
      selected("a", [server(443, "TCP", ["*"], { bind: "10.0.0.1" }), passed("a"), passed("b")]),
    ]);
    expect(merged.groups.map(({ servers }) => servers.length)).toEqual([1, 2]);
    expect(merged.serversByRouteName).toEqual({});
  });

  it("cannot both claim a TLS host at one port and bind", () => {
    const { rejected, groups } = mergeServers([
      selected("a", [server(443, "TLS", ["x", "y"], { tls: { mode: 0 } } as never)]),
      selected("b", [server(443, "HTTPS", ["y", "z"], { tls } as never)]),
    ]);
    expect(rejected).toEqual([
      {
        gateway: "ns/b",
        index: 0,
        reason: "duplicate host names on port 443: y",
        conflictsWith: { gateway: "ns/a", index: 0 },
      },
    ]);
    expect(groups).toHaveLength(1);
  });

  it("listen on the target ports of their Service, which their route names contain", () => {
    const merged = mergeServers([
      selected("a", [server(80, "HTTP", ["*"]), server(443, "HTTPS", ["*"], { tls } as never)], {
        80: 8080,
        443: 8443,
      }),
    ]);
    expect(merged.groups.map(({ port }) => port)).toEqual([8080, 8443]);
    expect(Object.keys(merged.serversByRouteName)).toEqual(["http.8080", "https.443.https-443.a.ns"]);
    expect(merged.portMap).toEqual({ 443: [443], 8080: [80] });
  });

  it("have explicit namespaces of hosts", () => {
    const [group] = mergeServers([
      selected("a", [server(443, "HTTPS", ["./a.com", "*/b.com", "other/c.com", "d.com"], { tls } as never)]),
    ]).groups;
    expect(group?.servers[0]?.hosts).toEqual(["ns/a.com", "b.com", "other/c.com", "d.com"]);
    expect(group?.servers[0]?.sniHosts).toEqual(["a.com", "b.com", "c.com", "d.com"]);
  });

  it("match every host if one of their hosts is */*", () => {
    const [group] = mergeServers([
      selected("a", [server(80, "HTTP", ["./a.com", "*/*", "*/b.com", "other/c.com"])]),
    ]).groups;
    expect(group?.servers[0]?.hosts).toEqual(["*"]);
  });

  it("list the hosts of AUTO_PASSTHROUGH servers", () => {
    expect(
      mergeServers([selected("a", [server(15443, "TLS", ["*.local"], { tls: { mode: 3 } } as never)])])
        .autoPassthroughHosts,
    ).toEqual(["*.local"]);
  });

  it("count as AUTO_PASSTHROUGH if rejected for the port, but not if rejected for the hosts", () => {
    const auto = server(443, "TLS", ["*.local"], { tls: { mode: 3 } } as never);
    const portTaken = mergeServers([selected("old", [server(443, "HTTP", ["*"])]), selected("new", [auto])]);
    expect([portTaken.rejected.length, portTaken.autoPassthroughHosts]).toEqual([1, []]);
    const hostTaken = mergeServers([
      selected("old", [server(443, "TLS", ["*.local"], { tls: { mode: 0 } } as never)]),
      selected("new", [auto]),
    ]);
    expect([hostTaken.rejected.length, hostTaken.autoPassthroughHosts]).toEqual([1, undefined]);
  });
});

describe("a gateway proxy", () => {
  const gateway = (name: string, selector: string, age: number): string =>
    networking(
      "Gateway",
      "istio-system",
      name,
      `{selector: {istio: ${selector}}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["${name}.com"]}]}`,
      { age },
    );

  it("serves the Gateways that select it, oldest first", () => {
    const mesh = new TestMesh(
      gateway("young", "ingress", 1) + gateway("old", "ingress", 2) + gateway("other", "egress", 3),
    );
    const client = mesh.client({ type: "router", namespace: "istio-system", labels: { istio: "ingress" } });
    expect(client.ask(mergedGateway)?.gatewayNames).toEqual(["istio-system/old", "istio-system/young"]);
    expect(client.ask(serversOfRoute, "http.80")?.map(({ gateway: name }) => name)).toEqual([
      "istio-system/old",
      "istio-system/young",
    ]);
  });

  it("is required: Gateways do not select sidecars", () => {
    const mesh = new TestMesh(gateway("a", "ingress", 1));
    expect(mesh.client({ labels: { istio: "ingress" } }).ask(mergedGateway)).toBeUndefined();
  });
});
