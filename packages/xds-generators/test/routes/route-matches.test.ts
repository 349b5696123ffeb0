import { describe, expect, it } from "vitest";
import { cart, cartVirtualService, routeFor, RouteMesh, routesFor, toCart } from "./route-mesh.js";

const string = (match: object) => ({ stringMatch: match });

describe("a route's match", () => {
  it.each([
    ["an exact path", { uri: { exact: "/a" } }, { path: "/a", caseSensitive: true }],
    ["a prefix", { uri: { prefix: "/a" } }, { prefix: "/a", caseSensitive: true }],
    ["a regex", { uri: { regex: "/a.*" } }, { safeRegex: { regex: "/a.*" }, caseSensitive: true }],
    ["a path in any case", { uri: { prefix: "/a" }, ignoreUriCase: true }, { prefix: "/a", caseSensitive: false }],
    [
      "no path",
      { method: { exact: "GET" } },
      { prefix: "/", caseSensitive: true, headers: [{ name: ":method", ...string({ exact: "GET" }) }] },
    ],
    [
      "scheme, method and authority, after other headers",
      {
        scheme: { exact: "https" },
        authority: { prefix: "a" },
        method: { regex: "G.*" },
        headers: { x: { exact: "1" }, a: { prefix: "p" } },
      },
      {
        prefix: "/",
        caseSensitive: true,
        headers: [
          { name: "a", ...string({ prefix: "p" }) },
          { name: "x", ...string({ exact: "1" }) },
          { name: ":method", ...string({ safeRegex: { regex: "G.*" } }) },
          { name: ":authority", ...string({ prefix: "a" }) },
          { name: ":scheme", ...string({ exact: "https" }) },
        ],
      },
    ],
    [
      "headers that are there, and that are not",
      { headers: { a: {} }, withoutHeaders: { b: {}, c: { exact: "1" } } },
      {
        prefix: "/",
        caseSensitive: true,
        headers: [
          { name: "a", presentMatch: true },
          { name: "b", presentMatch: true, invertMatch: true },
          { name: "c", ...string({ exact: "1" }), invertMatch: true, treatMissingHeaderAsEmpty: true },
        ],
      },
    ],
    [
      "query parameters",
      { queryParams: { q: { exact: "1" }, a: { regex: "x+" } } },
      {
        prefix: "/",
        caseSensitive: true,
        queryParameters: [
          { name: "a", ...string({ safeRegex: { regex: "x+" } }) },
          { name: "q", ...string({ exact: "1" }) },
        ],
      },
    ],
  ])("by %s", (_, match, expected) => {
    expect(routeFor({ match: [match], ...toCart })["match"]).toEqual(expected);
  });

  it("has an entry per condition, and nothing after a catch-all", () => {
    const routes = routesFor([
      { name: "two", match: [{ name: "a", uri: { prefix: "/a" } }, { uri: { prefix: "/b" } }], ...toCart },
      { name: "all", match: [{ uri: { prefix: "/" } }], ...toCart },
      { name: "hidden", ...toCart },
    ]);
    expect(routes.map((route) => route["name"])).toEqual(["two.a", "two", "all"]);
  });
});

describe("the applicability of a route", () => {
  const mesh = new RouteMesh(
    cart +
      cartVirtualService([
        { name: "port", match: [{ port: 81 }], ...toCart },
        { name: "labels", match: [{ sourceLabels: { app: "web" } }], ...toCart },
        { name: "namespace", match: [{ sourceNamespace: "payments" }], ...toCart },
        { name: "gateway", match: [{ gateways: ["front"] }], ...toCart },
        { name: "everyone", ...toCart },
      ]),
  );
  const names = (client: ReturnType<RouteMesh["sidecar"]>) => client.cartRoutes().map((route) => route["name"]);

  it("depends on labels, namespace, port and gateway", () => {
    expect(names(mesh.sidecar("shop"))).toEqual(["everyone"]);
    expect(names(mesh.sidecar("shop", { LABELS: { app: "web" } }))).toEqual(["labels"]);
    expect(names(mesh.sidecar("payments"))).toEqual(["namespace"]);
  });

  it("leaves the service's own route to other clients", () => {
    const some = new RouteMesh(
      cart + cartVirtualService([{ name: "labels", match: [{ sourceLabels: { app: "web" } }], ...toCart }]),
    );
    expect(names(some.sidecar("shop"))).toEqual(["default"]);
    expect(names(some.sidecar("shop", { LABELS: { app: "web" } }))).toEqual(["labels"]);
  });
});
