import { difference, partsOf, type Resource } from "@istiod/resources";
import { expect, it } from "vitest";
import { destinationRule, istioYaml, serviceYaml } from "../mesh-yaml.js";
import { TestMesh } from "../mesh.js";
import { envoyFilter } from "./envoy-filter-yaml.js";

const cds = "envoy.config.cluster.v3.Cluster";
const lds = "envoy.config.listener.v3.Listener";
const rds = "envoy.config.route.v3.RouteConfiguration";
const manager = "envoy.filters.network.http_connection_manager";
const hostOf = (i: number): string => `svc-${i}.shop.svc.cluster.local`;
const routes = (i: number, weight: number): string => {
  const to = (subset: string, share: number): object => ({ destination: { host: hostOf(i), subset }, weight: share });
  return istioYaml("VirtualService", `svc-${i}`, {
    hosts: [hostOf(i)],
    http: [{ route: [to("v1", weight), to("v2", 100 - weight)] }],
  });
};
const service = (i: number): string =>
  serviceYaml(`svc-${i}`, { ip: `10.96.0.${i + 1}` }) +
  destinationRule(hostOf(i), { subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })) }) +
  routes(i, 90);
const merge = (applyTo: string, match: object, value: object): object => ({
  applyTo,
  match: { context: "SIDECAR_OUTBOUND", ...match },
  patch: { operation: "MERGE", value },
});
const forAll = envoyFilter("all", [
  merge("CLUSTER", {}, { connect_timeout: "3s" }),
  merge("LISTENER", {}, { per_connection_buffer_limit_bytes: 1024 }),
  merge("ROUTE_CONFIGURATION", {}, { request_headers_to_remove: ["x"] }),
  merge("VIRTUAL_HOST", {}, { include_attempt_count_in_response: true }),
  merge("HTTP_ROUTE", {}, { route: { timeout: "2s" } }),
  merge("HTTP_ROUTE", { routeConfiguration: { vhost: { name: `${hostOf(3)}:80` } } }, { name: "third" }),
]);
const services = Array.from({ length: 60 }, (_, i) => service(i)).join("");

/** The encoded virtual hosts of a route configuration, and its own fields. */
function pieces(configuration: Resource): readonly Uint8Array[] {
  return (partsOf(configuration) ?? []).flatMap((part) => part.pieces);
}

it("a weight change patches the virtual host that it affects, and nothing else", () => {
  const mesh = new TestMesh(services + forAll);
  const proxy = mesh.proxy();
  const before = [cds, lds, rds].map((type) => proxy.set(type));
  const [own, other] = [proxy.resource(rds, "80"), pieces(proxy.resource(rds, "80"))];
  mesh.apply(routes(7, 50));
  const after = [cds, lds, rds].map((type) => proxy.set(type));
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  expect(difference(before[2]!, after[2]!).changed.map(({ name }) => name)).toEqual(["80"]);
  expect(other.length).toBeGreaterThan(60);
  // Of the fields of the configuration itself, and of each virtual host, one piece.
  const changed = pieces(proxy.resource(rds, "80")).filter((piece) => !other.includes(piece));
  expect(changed.map((piece) => Buffer.from(piece).includes(`${hostOf(7)}:80`))).toEqual([false, true]);
  // Two parts for the fields of the configuration, as it has none in one of them, and the chunk of the virtual host.
  const parts = (partsOf(proxy.resource(rds, "80")) ?? []).filter((part) => !partsOf(own)?.includes(part));
  expect(parts).toHaveLength(3);
  expect(after).toEqual(
    [cds, lds, rds].map((type) => new TestMesh(services + routes(7, 50) + forAll).proxy().set(type)),
  );
});

it("patches of routes reach each route configuration and virtual host", () => {
  const found = new TestMesh(services + forAll).proxy().json(rds, "80");
  expect(found.requestHeadersToRemove).toEqual(["x"]);
  for (const { name, includeAttemptCountInResponse, routes: own } of found.virtualHosts) {
    expect([name, includeAttemptCountInResponse]).toEqual([name, true]);
    for (const route of own) expect(route.route.timeout).toBe("2s");
    if (name === `${hostOf(3)}:80`) expect(own.map((route: { name: string }) => route.name)).toEqual(["third"]);
  }
});

it("virtual hosts that patches name are removed, and others stay as they were", () => {
  const remove = envoyFilter("remove", [
    {
      applyTo: "VIRTUAL_HOST",
      match: { context: "SIDECAR_OUTBOUND", routeConfiguration: { vhost: { name: `${hostOf(3)}:80` } } },
      patch: { operation: "REMOVE" },
    },
  ]);
  const mesh = new TestMesh(services);
  const proxy = mesh.proxy();
  const before = pieces(proxy.resource(rds, "80"));
  mesh.apply(remove);
  const after = pieces(proxy.resource(rds, "80"));
  expect(after).toEqual(before.filter((piece) => !Buffer.from(piece).includes(`${hostOf(3)}:80`)));
  expect(after.every((piece) => before.includes(piece))).toBe(true);
});

it("a patch that fails at one filter of a listener is applied at others", () => {
  const patch = {
    applyTo: "NETWORK_FILTER",
    match: { context: "SIDECAR_OUTBOUND", listener: { name: "0.0.0.0_80" } },
    patch: {
      operation: "MERGE",
      value: {
        name: manager,
        typed_config: {
          "@type":
            "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
          server_name: "s",
        },
      },
    },
  };
  const { filterChains, defaultFilterChain } = new TestMesh(services + envoyFilter("a", [patch]))
    .proxy()
    .json(lds, "0.0.0.0_80");
  expect(filterChains[0].filters.at(-1).typedConfig.serverName).toBe("s");
  expect(defaultFilterChain.filters.at(-1).typedConfig.serverName).toBeUndefined();
});
