import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { routeConfigurations } from "../../src/routes/index.js";
import { istioYaml, serviceYaml } from "../mesh-yaml.js";
import { cart, RouteMesh } from "./route-mesh.js";

const http = { number: 80, name: "http", protocol: "HTTP" };
const https = { number: 443, name: "https", protocol: "HTTPS" };
const tls = { mode: "SIMPLE", credentialName: "cert" };

function gateway(servers: readonly object[], name = "front", namespace = "edge"): string {
  return istioYaml("Gateway", name, { selector: { istio: "gateway" }, servers }, namespace);
}

function bound(name: string, hosts: readonly string[], spec: JsonObject = {}, namespace = "shop"): string {
  const destination = { host: "cart.shop.svc.cluster.local", port: { number: 80 } };
  return istioYaml(
    "VirtualService",
    name,
    { hosts, gateways: ["edge/front"], http: [{ name, route: [{ destination }] }], ...spec },
    namespace,
  );
}

const names = (mesh: RouteMesh) => [...mesh.router().view.call(routeConfigurations)].map(({ name }) => name);

describe("route configurations of a gateway", () => {
  it("exist for each plaintext port and each HTTPS server", () => {
    const mesh = new RouteMesh(
      cart +
        gateway([
          { port: http, hosts: ["*"] },
          { port: https, hosts: ["a.example.com"], tls },
          { port: { ...https, name: "other" }, hosts: ["b.example.com"], tls },
        ]),
    );
    expect(names(mesh)).toEqual(["http.80", "https.443.https.front.edge", "https.443.other.front.edge"]);
  });

  it("have a virtual host for each host that a server and a VirtualService share, ignoring ports", () => {
    const mesh = new RouteMesh(
      cart + gateway([{ port: http, hosts: ["*.example.com"] }]) + bound("one", ["a.example.com", "other.org"]),
    );
    expect(mesh.router().configuration("http.80")).toMatchObject({
      ignorePortInHostMatching: true,
      validateClusters: false,
      virtualHosts: [
        {
          name: "a.example.com:80",
          domains: ["a.example.com"],
          routes: [{ name: "one", route: { cluster: "outbound|80||cart.shop.svc.cluster.local" } }],
        },
      ],
    });
  });

  it("answer with 404 if nothing is bound, and are empty if the servers are gone", () => {
    const mesh = new RouteMesh(cart + gateway([{ port: http, hosts: ["*"] }]));
    expect(mesh.router().configuration("http.80").virtualHosts).toEqual([{ name: "blackhole:80", domains: ["*"] }]);
    expect(mesh.router().configuration("http.81")).toEqual({ name: "http.81", validateClusters: false });
  });
});

describe("hosts of a gateway", () => {
  it("are the more specific ones of both sides", () => {
    const mesh = new RouteMesh(
      cart + gateway([{ port: http, hosts: ["a.example.com"] }]) + bound("wide", ["*.example.com"]),
    );
    expect(Object.keys(mesh.router().hosts("http.80"))).toEqual(["a.example.com:80"]);
  });

  it("accept VirtualServices only of the namespace that the server names", () => {
    const mesh = new RouteMesh(
      cart +
        gateway([{ port: http, hosts: ["shop/*", "./b.example.com"] }]) +
        bound("a", ["a.example.com"]) +
        bound("b", ["b.example.com"], {}, "other"),
    );
    expect(Object.keys(mesh.router().hosts("http.80"))).toEqual(["a.example.com:80"]);
  });

  it("with the same routes are one virtual host, named after the most specific", () => {
    const mesh = new RouteMesh(
      cart +
        gateway([{ port: http, hosts: ["*"] }]) +
        bound("v", ["b.example.com", "*.example.org", "longer.example.com"]),
    );
    expect(mesh.router().configuration("http.80").virtualHosts).toMatchObject([
      { name: "longer.example.com:80", domains: ["longer.example.com", "b.example.com", "*.example.org"] },
    ]);
  });

  it("of several VirtualServices have the routes of all, oldest first and catch-alls last", () => {
    const destination = { host: "cart.shop.svc.cluster.local", port: { number: 80 } };
    const paths = { http: [{ name: "path", match: [{ uri: { prefix: "/a" } }], route: [{ destination }] }] };
    const mesh = new RouteMesh(
      cart +
        gateway([{ port: http, hosts: ["*"] }]) +
        bound("all", ["a.example.com"]) +
        bound("some", ["a.example.com"], paths),
    );
    expect(mesh.router().hosts("http.80")["a.example.com:80"]?.routes).toMatchObject([
      { name: "path" },
      { name: "all" },
    ]);
  });

  it("have the routes of a VirtualService once per reference to their Gateway", () => {
    const gateways = ["edge/front", "front.edge.svc.cluster.local"];
    const mesh = new RouteMesh(
      cart + gateway([{ port: http, hosts: ["*"] }]) + bound("twice", ["a.example.com"], { gateways }),
    );
    expect(mesh.router().hosts("http.80")["a.example.com:80"]?.routes).toMatchObject([
      { name: "twice" },
      { name: "twice" },
    ]);
  });
});

describe("httpsRedirect", () => {
  it("applies to all hosts of the server, routed or not", () => {
    const mesh = new RouteMesh(
      cart +
        gateway([{ port: http, hosts: ["a.example.com", "b.example.com"], tls: { httpsRedirect: true } }]) +
        bound("a", ["a.example.com"]),
    );
    expect(mesh.router().configuration("http.80").virtualHosts).toMatchObject([
      { name: "a.example.com:80", requireTls: "ALL", routes: [{ name: "a" }] },
      { name: "b.example.com:80", requireTls: "ALL" },
    ]);
  });
});

describe("routes of a gateway", () => {
  it("are those with a match for it, or without gateways", () => {
    const destination = { host: "cart.shop.svc.cluster.local" };
    const spec = {
      gateways: ["mesh", "edge/front"],
      http: [
        { name: "mesh", match: [{ gateways: ["mesh"] }], route: [{ destination }] },
        { name: "front", match: [{ gateways: ["edge/front"] }], route: [{ destination }] },
      ],
    };
    const mesh = new RouteMesh(
      cart + gateway([{ port: http, hosts: ["*"] }]) + bound("v", ["cart.shop.svc.cluster.local"], spec),
    );
    expect(mesh.router().hosts("http.80")["cart.shop.svc.cluster.local:80"]?.routes).toMatchObject([{ name: "front" }]);
    expect(mesh.sidecar().cartRoutes()).toMatchObject([{ name: "mesh" }]);
  });

  it.each([
    ["the service's only port", ["http:8080"], 8080],
    ["else the server's", ["http:8080", "http-b:8081"], 443],
  ])("without a port use %s", (_, ports, expected) => {
    const spec = { http: [{ route: [{ destination: { host: "other" } }] }] };
    const mesh = new RouteMesh(
      serviceYaml("other", { ports }) +
        gateway([{ port: https, hosts: ["*"], tls }]) +
        bound("v", ["a.example.com"], spec),
    );
    expect(mesh.router().hosts("https.443.https.front.edge")["a.example.com:443"]?.routes).toMatchObject([
      { route: { cluster: `outbound|${expected}||other.shop.svc.cluster.local` } },
    ]);
  });

  it("redirect over TLS to the request's port, without the default port", () => {
    const spec = { http: [{ redirect: { uri: "/b", derivePort: "FROM_REQUEST_PORT" } }] };
    const servers = [
      { port: https, hosts: ["*"], tls },
      { port: { number: 8443, name: "alt", protocol: "HTTPS" }, hosts: ["*"], tls },
    ];
    const mesh = new RouteMesh(cart + gateway(servers) + bound("v", ["a.example.com"], spec));
    const redirect = (name: string, port: number) =>
      mesh.router().hosts(name)[`a.example.com:${port}`]?.routes?.[0]?.["redirect"];
    expect(redirect("https.443.https.front.edge", 443)).toEqual({ pathRedirect: "/b" });
    expect(redirect("https.8443.alt.front.edge", 8443)).toEqual({ pathRedirect: "/b", portRedirect: 8443 });
  });

  it.each([
    ["@request.auth.claims.group.id", ["payload", "group", "id"]],
    ["@request.auth.claims[group][example.com/id]", ["payload", "group", "example.com/id"]],
  ])("match claim %s in token metadata", (header, path) => {
    const destination = { host: "cart.shop.svc.cluster.local", port: { number: 80 } };
    const spec = { http: [{ match: [{ headers: { [header]: { exact: "admin" } } }], route: [{ destination }] }] };
    const mesh = new RouteMesh(cart + gateway([{ port: http, hosts: ["*"] }]) + bound("v", ["a.example.com"], spec));
    expect(mesh.router().hosts("http.80")["a.example.com:80"]?.routes?.[0]?.["match"]).toMatchObject({
      dynamicMetadata: [
        {
          filter: "envoy.filters.http.jwt_authn",
          path: path.map((key) => ({ key })),
          value: { orMatch: { valueMatchers: expect.any(Array) } },
        },
      ],
    });
  });

  it("match the presence or absence of a claim", () => {
    const destination = { host: "cart.shop.svc.cluster.local", port: { number: 80 } };
    const spec = {
      http: [
        {
          match: [{ headers: { "@request.auth.claims.a": {} }, withoutHeaders: { "@request.auth.claims.b": {} } }],
          route: [{ destination }],
        },
      ],
    };
    const mesh = new RouteMesh(cart + gateway([{ port: http, hosts: ["*"] }]) + bound("v", ["a.example.com"], spec));
    const there = {
      orMatch: { valueMatchers: [{ listMatch: { oneOf: { presentMatch: true } } }, { presentMatch: true }] },
    };
    const match = mesh.router().hosts("http.80")["a.example.com:80"]?.routes?.[0]?.["match"];
    expect(match).toMatchObject({
      dynamicMetadata: [
        { path: [{ key: "payload" }, { key: "a" }], value: there },
        { path: [{ key: "payload" }, { key: "b" }], value: there, invert: true },
      ],
    });
    expect(match).not.toHaveProperty("headers");
  });
});
