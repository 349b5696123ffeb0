import type { JsonObject } from "@bufbuild/protobuf";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { expect, it } from "vitest";
import { onRoutes, type Written } from "./patches.js";

const host = (name: string, ...routes: string[]): JsonObject => ({
  name,
  domains: [`${name}.com`],
  routes: routes.map((each) => ({ name: each, route: { cluster: each } })),
});
const routes = { name: "http.8080", virtualHosts: [host("a", "r", "s"), host("b", "r")] };
const written = (applyTo: string, operation: string, value?: object, routeConfiguration?: object): Written => ({
  applyTo,
  operation,
  ...(value && { value }),
  ...(routeConfiguration && { match: { routeConfiguration } }),
});
/** Virtual hosts with their routes, as `host: route route`. */
const outline = (patch: Written, context = Context.GATEWAY): readonly string[] =>
  (((onRoutes(routes, [patch], context).json as JsonObject)["virtualHosts"] ?? []) as JsonObject[]).map(
    ({ name, routes: found = [] }) =>
      `${String(name)}: ${(found as JsonObject[]).map((each) => each["name"]).join(" ")}`,
  );
const none = ["a: r s", "b: r"];

it.each<[string, string, object | undefined, object | undefined, readonly string[]]>([
  ["VIRTUAL_HOST", "ADD", { name: "c", domains: ["c.com"] }, undefined, ["a: r s", "b: r", "c: "]],
  ["VIRTUAL_HOST", "REMOVE", undefined, { vhost: { name: "a" } }, ["b: r"]],
  ["VIRTUAL_HOST", "REMOVE", undefined, { vhost: { domainName: "b.com" } }, ["a: r s"]],
  ["VIRTUAL_HOST", "REPLACE", { name: "c", domains: ["c.com"] }, { vhost: { name: "a" } }, ["c: ", "b: r"]],
  ["HTTP_ROUTE", "ADD", { name: "new" }, { vhost: { name: "a" } }, ["a: r s new", "b: r"]],
  ["HTTP_ROUTE", "INSERT_FIRST", { name: "new" }, { vhost: { route: { name: "s" } } }, ["a: new r s", "b: r"]],
  ["HTTP_ROUTE", "INSERT_BEFORE", { name: "new" }, { vhost: { route: { name: "s" } } }, ["a: r new s", "b: r"]],
  ["HTTP_ROUTE", "INSERT_AFTER", { name: "new" }, { vhost: { route: { name: "r" } } }, ["a: r new s", "b: r new"]],
  ["HTTP_ROUTE", "REMOVE", undefined, { vhost: { route: { name: "r" } } }, ["a: s", "b: "]],
  ["HTTP_ROUTE", "REMOVE", undefined, { vhost: { route: { action: "REDIRECT" } } }, none],
  ["HTTP_ROUTE", "REMOVE", undefined, { vhost: { name: "a", route: { action: "ROUTE" } } }, ["a: ", "b: r"]],
  ["HTTP_ROUTE", "MERGE", { name: "new" }, { vhost: { route: { name: "s" } } }, ["a: r new", "b: r"]],
  ["VIRTUAL_HOST", "REMOVE", undefined, { name: "http.8080" }, []],
  ["VIRTUAL_HOST", "REMOVE", undefined, { name: "http.80" }, none],
  ["VIRTUAL_HOST", "REMOVE", undefined, { portNumber: 80 }, []],
  ["VIRTUAL_HOST", "REMOVE", undefined, { portNumber: 8080 }, none],
  ["VIRTUAL_HOST", "REMOVE", undefined, { gateway: "a/b" }, none],
])("%s %s %j with %j", (applyTo, operation, value, match, hosts) => {
  expect(outline(written(applyTo, operation, value, match))).toEqual(hosts);
});

it("a route configuration is merged", () => {
  const patch = written("ROUTE_CONFIGURATION", "MERGE", { max_direct_response_body_size_bytes: 7 });
  expect(onRoutes(routes, [patch])).toEqual({
    json: { ...routes, maxDirectResponseBodySizeBytes: 7 },
    effects: [{ patch: "0" }],
  });
});

it("the route configuration of a gateway's HTTPS server is matched by its parts", () => {
  const https = { name: "https.443.web.gate.shop", virtualHosts: [] };
  const effects = (match: object): number =>
    onRoutes(https, [written("ROUTE_CONFIGURATION", "MERGE", { name: "x" }, match)], Context.GATEWAY).effects.length;
  expect([{ portName: "web" }, { gateway: "shop/gate" }, { portNumber: 443 }].map(effects)).toEqual([1, 1, 1]);
  expect([{ portName: "x" }, { gateway: "gate/shop" }, { portNumber: 80 }].map(effects)).toEqual([0, 0, 0]);
});

it("virtual hosts are removed by their names, also where another patch added or renamed one", () => {
  const named = (name: string): object => ({ vhost: { name } });
  const patches = [
    written("VIRTUAL_HOST", "MERGE", { name: "a" }, named("b")),
    written("VIRTUAL_HOST", "ADD", host("a", "new")),
    written("VIRTUAL_HOST", "ADD", host("c", "new")),
    written("VIRTUAL_HOST", "REMOVE", undefined, { vhost: { domainName: "a.com" } }),
  ];
  const { json } = onRoutes(routes, patches, Context.GATEWAY);
  expect(((json as JsonObject)["virtualHosts"] as JsonObject[]).map(({ name }) => name)).toEqual(["c"]);
});

it.each<[string, readonly string[]]>([
  ["MERGE", ["a", "b", "c"]],
  ["MERGE_AND_REPLACE_LIST", ["c"]],
])("%s of a route configuration with virtual hosts", (operation, names) => {
  const patches = [
    written("ROUTE_CONFIGURATION", operation, { virtual_hosts: [host("c", "r")] }),
    written("HTTP_ROUTE", "MERGE", { route: { timeout: "2s" } }),
  ];
  const hosts = (onRoutes(routes, patches, Context.GATEWAY).json as JsonObject)["virtualHosts"] as JsonObject[];
  expect(hosts.map(({ name }) => name)).toEqual(names);
  const timeouts = hosts.flatMap(({ routes: own }) =>
    (own as { route: JsonObject }[]).map(({ route }) => route["timeout"]),
  );
  expect(new Set(timeouts)).toEqual(new Set(["2s"]));
});

it("a patch of another context has no effect", () => {
  const patch = { ...written("ROUTE_CONFIGURATION", "MERGE", { name: "x" }), match: { context: "SIDECAR_INBOUND" } };
  expect(onRoutes(routes, [patch]).effects).toEqual([]);
});
