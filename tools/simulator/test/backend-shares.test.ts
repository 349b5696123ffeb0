import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { generate, type ScenarioProxy } from "@istiod/parity";
import { expect, it } from "vitest";
import { simulate } from "../src/index.js";

const object = (apiVersion: string, kind: string, name: string, spec: object): string =>
  JSON.stringify({ apiVersion, kind, metadata: { namespace: "shop", name }, spec });
const service = (name: string, clusterIP: string): string =>
  object("v1", "Service", name, { clusterIP, ports: [{ name: "http", port: 80, targetPort: 8080 }] });

const backend = (name: string, weight: number, replaceFullPath?: string): object => ({
  name,
  port: 80,
  weight,
  ...(replaceFullPath !== undefined && {
    filters: [{ type: "URLRewrite", urlRewrite: { path: { type: "ReplaceFullPath", replaceFullPath } } }],
  }),
});
const route = (...backendRefs: readonly object[]): string =>
  object("gateway.networking.k8s.io/v1", "HTTPRoute", "cart", {
    parentRefs: [{ group: "", kind: "Service", name: "cart" }],
    rules: [{ backendRefs }],
  });
const proxy: ScenarioProxy = {
  key: "web",
  origin: "web",
  node: { id: "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local", metadata: { NAMESPACE: "shop" } },
};

const step = 125;

/** Returns how many of a million requests of a sidecar to the Service `cart` reach each Service. */
function sharesOf(httpRoute: string): Readonly<Record<string, number>> {
  const base = mkdtempSync(join(tmpdir(), "backend-shares-"));
  try {
    const names = ["cart", "one", "two", "three"];
    const services = names.map((name, at) => service(name, `10.96.0.${at + 1}`));
    writeFileSync(join(base, "objects.yaml"), [...services, httpRoute].join("\n---\n"));
    const found = generate({ name: "shares", base, folder: undefined, config: {}, proxies: [proxy] }, ["lds", "rds"]);
    const of = (type: string): readonly (readonly [string, Uint8Array])[] => [...(found.get(`web ${type}`) ?? [])];
    const state = {
      listeners: of("lds").map(([, bytes]) => fromBinary(ListenerSchema, bytes)),
      routes: new Map(of("rds").map(([name, bytes]) => [name, fromBinary(RouteConfigurationSchema, bytes)])),
    };
    const counts: Record<string, number> = {};
    // All shares here are multiples of the step, which has no factor in common with the sums of weights below.
    for (let random = 0; random < 1_000_000; random += step) {
      const call = { address: "10.96.0.1", port: 80, protocol: "http", hostHeader: "cart", random } as const;
      const { clusterMatched = "none" } = simulate(state, call);
      const name = /\|\|([^.]*)/.exec(clusterMatched)?.[1] ?? clusterMatched;
      counts[name] = (counts[name] ?? 0) + step;
    }
    return counts;
  } finally {
    rmSync(base, { recursive: true });
  }
}

it.each([
  ["without filters", [backend("one", 1), backend("two", 3), backend("three", 4)]],
  ["with one path", [backend("one", 1, "/a"), backend("two", 3, "/a"), backend("three", 4, "/a")]],
  ["with different paths", [backend("one", 1, "/a"), backend("two", 3, "/b"), backend("three", 4)]],
])("backends of a rule %s have the shares of their weights", (_, backends) => {
  expect(sharesOf(route(...backends))).toEqual({ one: 125_000, two: 375_000, three: 500_000 });
});

it("a backend without a weight that stands first has no requests", () => {
  const backends = [backend("one", 0, "/a"), backend("two", 1, "/b"), backend("three", 7, "/c")];
  expect(sharesOf(route(...backends))).toEqual({ two: 125_000, three: 875_000 });
});
