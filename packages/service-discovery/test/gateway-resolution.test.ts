import { environment, meshNetworks, meshNetworksKey, readMeshNetworks } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GatewayResolution, resolvedHosts, type ResolveHostname } from "../src/index.js";

/** A DNS server with an editable zone, and a switch that makes it fail. */
class FakeDns {
  readonly zone = new Map<string, { readonly addresses: readonly string[]; readonly ttl: number }>();
  readonly queries: string[] = [];
  isFailing = false;

  readonly resolve: ResolveHostname = async (name, family) => {
    this.queries.push(`${name}/${family}`);
    if (this.isFailing) throw new Error("SERVFAIL");
    const found = this.zone.get(name);
    return (found?.addresses ?? [])
      .filter((address) => address.includes(":") === (family === 6))
      .map((address) => ({ address, ttl: found?.ttl ?? 0 }));
  };
}

function mesh(dns: FakeDns) {
  const database = new Database<undefined>();
  const warnings: string[] = [];
  const commits: number[] = [];
  const resolution = new GatewayResolution({
    database,
    client: undefined,
    resolve: dns.resolve,
    warn: (message) => warnings.push(message),
  });
  const started = resolution.start();
  database.observe({
    after: ({ changed, revision }) =>
      changed.some(({ collection }) => collection === resolvedHosts) && commits.push(revision),
  });
  const fail = (_: unknown, message: string): never => {
    throw new Error(message);
  };
  return {
    database,
    resolution,
    warnings,
    commits,
    addresses: (name: string) => database.read(resolvedHosts, name),
    async gateways(...addresses: string[]): Promise<void> {
      const value = readMeshNetworks(
        { networks: { far: { gateways: addresses.map((address) => ({ address, port: 15443 })) } } },
        { error: fail, warning: fail },
      );
      await started;
      if (value) database.commit((tx) => tx.set(meshNetworks, meshNetworksKey, value));
      await resolution.idle();
    },
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("resolves a gateway's hostname in both address families, and again after its TTL, but not within 30 s", async () => {
  const dns = new FakeDns();
  dns.zone.set("gw.example.org", { addresses: ["203.0.113.2", "2001:db8::1", "203.0.113.1"], ttl: 60 });
  dns.zone.set("short.example.org", { addresses: ["203.0.113.9"], ttl: 1 });
  const { gateways, addresses, resolution, commits } = mesh(dns);
  await gateways("gw.example.org", "short.example.org", "198.51.100.1");
  expect(addresses("gw.example.org")).toEqual(["2001:db8::1", "203.0.113.1", "203.0.113.2"]);
  expect(dns.queries).toHaveLength(4);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(dns.queries).toHaveLength(4);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(dns.queries.slice(4)).toEqual(["short.example.org/4", "short.example.org/6"]);
  expect(commits).toHaveLength(2);
  dns.zone.set("gw.example.org", { addresses: ["203.0.113.3"], ttl: 60 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(addresses("gw.example.org")).toEqual(["203.0.113.3"]);
  resolution.stop();
});

test("keeps addresses while DNS fails, and removes them when the hostname has none or disappears", async () => {
  const dns = new FakeDns();
  dns.zone.set("gw.example.org", { addresses: ["203.0.113.1"], ttl: 60 });
  const { gateways, addresses, warnings, resolution } = mesh(dns);
  await gateways("gw.example.org");
  dns.isFailing = true;
  await vi.advanceTimersByTimeAsync(61_000);
  expect(addresses("gw.example.org")).toEqual(["203.0.113.1"]);
  expect(warnings).toEqual(["gateway gw.example.org: failed to resolve the hostname, keeping the last addresses"]);
  dns.isFailing = false;
  dns.zone.clear();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(addresses("gw.example.org")).toEqual([]);
  await gateways();
  expect(addresses("gw.example.org")).toBeUndefined();
  const queries = dns.queries.length;
  await vi.advanceTimersByTimeAsync(7_200_000);
  expect(dns.queries).toHaveLength(queries);
  resolution.stop();
});

test("queries nothing with RESOLVE_HOSTNAME_GATEWAYS=false", async () => {
  const dns = new FakeDns();
  const { database, gateways, resolution } = mesh(dns);
  database.commit((tx) => tx.set(environment, "RESOLVE_HOSTNAME_GATEWAYS", "false"));
  await gateways("gw.example.org");
  expect(dns.queries).toEqual([]);
  resolution.stop();
});
