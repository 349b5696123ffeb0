import { describe, expect, it } from "vitest";
import { proxyFromNode } from "../src/proxy/from-node.js";
import { addressesForIpMode, firstGlobalUnicast, ipModeOf } from "../src/proxy/ip-mode.js";
import { compareIstioVersions, parseIstioVersion } from "../src/proxy/istio-version.js";
import { ProxyNodeError } from "../src/proxy/proxy-node-error.js";

const id = "sidecar~10.20.1.11~web-1.shop~shop.svc.cluster.local";

describe("a proxy's node", () => {
  it("determines type, name, domain, address and namespace by its ID alone", () => {
    expect(proxyFromNode({ id })).toMatchObject({
      type: "sidecar",
      id: "web-1.shop",
      dnsDomain: "shop.svc.cluster.local",
      ipAddresses: ["10.20.1.11"],
      ipMode: "IPv4",
      namespace: "shop",
    });
  });

  it("prefers addresses and namespace of its metadata", () => {
    const proxy = proxyFromNode({ id, metadata: { NAMESPACE: "other", INSTANCE_IPS: "10.0.0.1,fd00::1" } });
    expect(proxy.ipAddresses).toEqual(["10.0.0.1", "fd00::1"]);
    expect(proxy.ipMode).toBe("Dual");
    expect(proxy.namespace).toBe("other");
  });

  it("uses the ID's address if one of INSTANCE_IPS is invalid", () => {
    expect(proxyFromNode({ id, metadata: { INSTANCE_IPS: "10.0.0.1,nowhere" } }).ipAddresses).toEqual(["10.20.1.11"]);
  });

  it("parses each metadata key in the agent's format", () => {
    const { metadata } = proxyFromNode({
      id,
      metadata: {
        DNS_CAPTURE: "true",
        ENVOY_STATUS_PORT: 15021,
        POD_PORTS: '[{"name":"http","containerPort":8080,"protocol":"TCP"}]',
        UNHEARD_OF: 1,
      },
    });
    expect(metadata).toEqual({
      DNS_CAPTURE: true,
      ENVOY_STATUS_PORT: 15021,
      POD_PORTS: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
    });
  });

  it("may use Go's syntax for durations of its ProxyConfig", () => {
    const config = (duration: string) =>
      proxyFromNode({ id, metadata: { PROXY_CONFIG: { drainDuration: duration, unheardOf: 1 } } }).metadata
        .PROXY_CONFIG;
    expect(config("1m30s")).toEqual({ drainDuration: "90s" });
    expect(config("90s")).toMatchObject({ drainDuration: "90s" });
  });

  it.each([
    ["an id of three parts", { id: "sidecar~10.0.0.1~web" }, "invalid_id"],
    ["an unknown type", { id: "car~10.0.0.1~web.shop~x" }, "invalid_type"],
    ["no address", { id: "sidecar~~web.shop~x" }, "no_address"],
    ["a flag that is no string", { id, metadata: { DNS_CAPTURE: true } }, "invalid_metadata"],
    ["a port that is no number", { id, metadata: { ENVOY_STATUS_PORT: "15021" } }, "invalid_metadata"],
    [
      "a configuration that is not well formed",
      { id, metadata: { PROXY_CONFIG: { drainDuration: "soon" } } },
      "invalid_metadata",
    ],
    [
      "a configuration with a duration that has more after it",
      { id, metadata: { PROXY_CONFIG: { drainDuration: "1.5sx" } } },
      "invalid_metadata",
    ],
    ["pod ports that are no JSON", { id, metadata: { POD_PORTS: "x" } }, "invalid_metadata"],
  ] as const)("is rejected with %s", (_, node, code) => {
    expect(() => proxyFromNode(node)).toThrow(expect.objectContaining({ name: "ProxyNodeError", code }));
    expect(() => proxyFromNode(node)).toThrow(ProxyNodeError);
  });

  it("has unknown extensions if it lists none", () => {
    expect(proxyFromNode({ id, extensions: [] })).not.toHaveProperty("extensions");
  });
});

describe("versions", () => {
  it.each([
    ["1.29.0", "1.28", 1],
    ["release-1.27-abc", "1.27.3", 1],
    ["1.27.2", "1.27.3", -1],
    ["unknown", "1.99", 1],
  ])("%s compared with %s", (a, b, sign) => {
    expect(Math.sign(compareIstioVersions(parseIstioVersion(a), parseIstioVersion(b)))).toBe(sign);
  });

  it("are compared up to a negative part", () => {
    expect(compareIstioVersions(parseIstioVersion("1.27.2"), { major: 1, minor: 27, patch: -1 })).toBe(0);
    expect(compareIstioVersions(parseIstioVersion("1.27.2"), { major: 1, minor: -1, patch: -1 })).toBe(0);
  });
});

describe("address families", () => {
  it.each([
    [["10.0.0.1"], "IPv4"],
    [["fd00::1", "fd00::2"], "IPv6"],
    [["fd00::1", "10.0.0.1"], "Dual"],
  ] as const)("%j is %s", (addresses, mode) => {
    expect(ipModeOf(addresses)).toBe(mode);
  });

  it("select the addresses of a proxy's family, or all if there are none", () => {
    expect(addressesForIpMode(["10.0.0.1", "fd00::1", "10.0.0.0/8"], "IPv4")).toEqual(["10.0.0.1", "10.0.0.0/8"]);
    expect(addressesForIpMode(["fd00::1", "10.0.0.1"], "Dual")).toEqual(["fd00::1"]);
    expect(addressesForIpMode(["fd00::1"], "IPv4")).toEqual([]);
  });

  it("determine the first global unicast address", () => {
    expect(firstGlobalUnicast(["127.0.0.1", "fe80::1", "169.254.1.1", "fd00::5", "10.0.0.1"])).toBe("fd00::5");
    expect(firstGlobalUnicast(["::1"])).toBeUndefined();
  });
});
