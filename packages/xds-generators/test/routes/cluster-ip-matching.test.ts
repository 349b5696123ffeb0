import { describe, expect, it } from "vitest";
import { serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";

const routes = "envoy.config.route.v3.RouteConfiguration";
const listeners = "envoy.config.listener.v3.Listener";

const services =
  serviceYaml("cart", { ports: ["http:80"], ip: "10.96.0.1" }) +
  serviceYaml("web", { ports: ["http:80"], ip: "10.96.0.2" }) +
  serviceYaml("db", { ports: ["tcp:80"], ip: "10.96.0.3" });

const enabled = (): TestMesh => new TestMesh(services).set("PILOT_GATEWAY_API_MATCH_CLUSTER_IP", "true");

describe("Routes of requests to the address of a Service", () => {
  it("are selected by the host by default", () => {
    const proxy = new TestMesh(services).proxy();
    expect(proxy.names(routes)).toEqual(["80"]);
  });

  it("are selected by the address, for all HTTP services of a port, if the setting says so", () => {
    const proxy = enabled().proxy();
    const { filterChains } = proxy.json(listeners, "0.0.0.0_80");
    const chain = filterChains.find((each: Json) => each.filterChainMatch?.prefixRanges !== undefined);
    expect(chain.filterChainMatch.prefixRanges).toEqual([
      { addressPrefix: "10.96.0.1", prefixLen: 32 },
      { addressPrefix: "10.96.0.2", prefixLen: 32 },
    ]);
    const manager = chain.filters.at(-1).typedConfig;
    expect(manager.rds.routeConfigName).toBe("80~cluster-ip");
    expect(manager.earlyHeaderMutationExtensions[0].typedConfig.mutations).toEqual([
      {
        append: {
          header: { key: "x-istio-destination-address", value: "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%" },
          appendAction: "OVERWRITE_IF_EXISTS_OR_ADD",
        },
      },
    ]);
    const byAddress = proxy.json(routes, "80~cluster-ip");
    expect(byAddress).toMatchObject({
      vhostHeader: "x-istio-destination-address",
      requestHeadersToRemove: ["x-istio-destination-address"],
    });
    expect(byAddress.virtualHosts).toEqual(proxy.json(routes, "80").virtualHosts);
    expect(byAddress.virtualHosts.flatMap(({ domains }: Json) => domains)).toContain("10.96.0.1");
  });
});
