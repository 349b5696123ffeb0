import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  type RouteMatch,
  RouteMatchSchema,
  RouteSchema,
  WeightedCluster_ClusterWeightSchema,
  WeightedClusterSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { FractionalPercent_DenominatorType as DenominatorType } from "@istiod/envoy-api/envoy/type/v3/percent";
import { describe, expect, it } from "vitest";
import { type Call, type Outcome, simulate } from "../src/index.js";
import { any } from "./any.js";

type ChainMatch = NonNullable<
  Exclude<MessageInitShape<typeof ListenerSchema>, { $typeName: string }>["filterChains"]
>[number]["filterChainMatch"];
const separated = create(RouteSchema, {
  name: "separated",
  match: { pathSpecifier: { case: "pathSeparatedPrefix", value: "/a" } },
  action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "one" } } },
});
const exact = create(RouteSchema, {
  name: "exact",
  match: { pathSpecifier: { case: "path", value: "/exact" } },
  action: { case: "redirect", value: {} },
});

const anyPath = create(RouteMatchSchema, { pathSpecifier: { case: "prefix", value: "/" } });

type VirtualHosts = NonNullable<
  Exclude<MessageInitShape<typeof RouteConfigurationSchema>, { $typeName: string }>["virtualHosts"]
>;
type Domains = Readonly<Record<string, readonly string[]>>;

describe("filter chains", () => {
  const chosen = (
    chains: Readonly<Record<string, ChainMatch>>,
    call: Partial<Call> = {},
    filters: readonly string[] = ["tls_inspector", "http_inspector"],
  ): string | undefined => {
    const listener = create(ListenerSchema, {
      name: "virtualOutbound",
      listenerFilters: filters.map((name) => ({ name: `envoy.filters.listener.${name}` })),
      filterChains: Object.entries(chains).map(([name, filterChainMatch]) => ({
        name,
        ...(filterChainMatch && { filterChainMatch }),
      })),
    });
    const { filterChainMatched, error } = simulate(
      { listeners: [listener], routes: new Map() },
      { port: 80, protocol: "tcp", address: "10.0.0.1", ...call },
    );
    return error ?? filterChainMatched;
  };
  const range = (addressPrefix: string, prefixLen: number): ChainMatch => ({
    prefixRanges: [{ addressPrefix, prefixLen }],
  });

  it("are chosen by the longest prefix of the address", () => {
    const chains = { any: undefined, ten: range("10.0.0.0", 8), host: range("10.0.0.1", 32), six: range("::", 0) };
    expect(chosen(chains)).toBe("host");
    expect(chosen(chains, { address: "10.1.0.1" })).toBe("ten");
    expect(chosen(chains, { address: "192.0.2.1" })).toBe("any");
    expect(chosen(chains, { address: "2001:db8::1" })).toBe("six");
  });

  it("that name the port shut out those that do not, even if they fail later", () => {
    expect(chosen({ port: { destinationPort: 80, transportProtocol: "tls" }, any: undefined })).toBe(
      "no filter chains matched",
    );
    expect(chosen({ port: { destinationPort: 81 }, any: undefined })).toBe("any");
  });

  it("are chosen by server name, exact before the longest suffix", () => {
    const chains = {
      a: { serverNames: ["a.b.c"] },
      b: { serverNames: ["*.b.c"] },
      c: { serverNames: ["*.c", "x"] },
      none: undefined,
    };
    const of = (sni: string): string | undefined => chosen(chains, { tls: "tls", sni });
    expect(["a.b.c", "A.B.C", "z.b.c", "b.c", "x", "c", "y"].map(of)).toEqual([
      "a",
      "a",
      "b",
      "c",
      "c",
      "none",
      "none",
    ]);
  });

  it("know TLS and its protocols only by the inspector", () => {
    const chains = { tls: { transportProtocol: "tls" }, raw: { transportProtocol: "raw_buffer" } };
    expect(chosen(chains, { tls: "tls" })).toBe("tls");
    expect(chosen(chains, { tls: "tls" }, [])).toBe("raw");
    const sniffed = { http: { applicationProtocols: ["http/1.1", "h2c"] }, other: undefined };
    expect(chosen(sniffed, { protocol: "http2" })).toBe("http");
    expect(chosen(sniffed, { protocol: "http2" }, ["tls_inspector"])).toBe("other");
  });

  it("that fit equally well are an error", () => {
    expect(chosen({ a: { destinationPort: 80 }, b: { destinationPort: 80 } })).toBe("multiple filter chains matched");
  });
});

describe("virtual hosts and routes", () => {
  const outcome = (domains: Domains, hostHeader: string, path = "/"): Outcome => {
    const virtualHosts = Object.entries(domains).map(([name, of]) => ({ name, domains: [...of] }));
    return outcomeOf(
      virtualHosts.map((host) => ({ ...host, routes: [separated, exact] })),
      { hostHeader, path },
    );
  };
  const outcomeOf = (virtualHosts: VirtualHosts, call: Partial<Call>): Outcome => {
    const routes = create(RouteConfigurationSchema, { name: "80", ignorePortInHostMatching: true, virtualHosts });
    const manager = any(HttpConnectionManagerSchema, {
      routeSpecifier: { case: "rds", value: { routeConfigName: "80" } },
    });
    const listener = create(ListenerSchema, {
      name: "virtualOutbound",
      filterChains: [{ filters: [{ name: "hcm", configType: { case: "typedConfig", value: manager } }] }],
    });
    return simulate(
      { listeners: [listener], routes: new Map([["80", routes]]) },
      { port: 80, protocol: "http", ...call },
    );
  };

  it("are chosen by domain: exact, longest suffix, longest prefix, any", () => {
    const domains = { exact: ["a.b.c"], suffix: ["*.b.c"], short: ["*.c"], prefix: ["a.*"], any: ["*"] };
    expect(
      ["a.b.c", "A.b.c:8080", "x.b.c", "x.c", "a.x", "y"].map((host) => outcome(domains, host).virtualHostMatched),
    ).toEqual(["exact", "exact", "suffix", "short", "prefix", "any"]);
    expect(outcome({ one: ["a"] }, "b").error).toBe("no virtual host matched");
  });

  it("match paths by whole segments, without the query", () => {
    const of = (path: string): string | undefined => outcome({ all: ["*"] }, "a", path).routeMatched;
    expect(["/a", "/a/b", "/a?x", "/ab", "/exact?x=1", "/exact/"].map(of)).toEqual([
      "separated",
      "separated",
      "separated",
      undefined,
      "exact",
      undefined,
    ]);
    expect(outcome({ all: ["*"] }, "a", "/a")).toEqual({
      listenerMatched: "virtualOutbound",
      routeConfigMatched: "80",
      virtualHostMatched: "all",
      routeMatched: "separated",
      clusterMatched: "one",
    });
  });

  it("match a fraction of the requests by their random number", () => {
    const inFraction = (numerator: number, denominator: DenominatorType): RouteMatch =>
      create(RouteMatchSchema, {
        pathSpecifier: anyPath.pathSpecifier,
        runtimeFraction: { defaultValue: { numerator, denominator } },
      });
    const matches = {
      none: inFraction(0, DenominatorType.MILLION),
      percent: inFraction(3, DenominatorType.HUNDRED),
      millionths: inFraction(250_000, DenominatorType.MILLION),
      rest: anyPath,
    };
    const routes = Object.entries(matches).map(([name, match]) => create(RouteSchema, { name, match }));
    const of = (random?: number): string | undefined =>
      outcomeOf([{ name: "all", domains: ["*"], routes }], random === undefined ? {} : { random }).routeMatched;
    expect([undefined, 0, 2, 3, 102, 249_999, 250_000, 1_249_999, 4_000_000_103].map(of)).toEqual([
      "percent",
      "percent",
      "percent",
      "millionths",
      "percent",
      "millionths",
      "percent",
      "millionths",
      "millionths",
    ]);
    expect(of(250_003)).toBe("rest");
  });

  it("lead to one of several clusters by the random number modulo their weights, or to none without it", () => {
    const clusters = Object.entries({ one: 1, zero: 0, two: 2 }).map(([name, weight]) =>
      create(WeightedCluster_ClusterWeightSchema, { name, weight }),
    );
    const route = create(RouteSchema, {
      match: anyPath,
      action: {
        case: "route",
        value: { clusterSpecifier: { case: "weightedClusters", value: create(WeightedClusterSchema, { clusters }) } },
      },
    });
    const of = (call: Partial<Call>): string | undefined =>
      outcomeOf([{ name: "all", domains: ["*"], routes: [route] }], call).clusterMatched;
    expect([0, 1, 2, 3, 5].map((random) => of({ random }))).toEqual(["one", "two", "two", "one", "two"]);
    expect(of({})).toBeUndefined();
  });
});
