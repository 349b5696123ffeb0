import { environment, meshNetworks, meshNetworksKey, readMeshNetworks } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { resolvedHosts } from "@istiod/service-discovery";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GatewayNames, type ResolveName } from "../src/gateway-names.js";

/** A name server whose zone can be changed, and that can fail. */
class FakeDns {
  readonly zone = new Map<string, { readonly addresses: readonly string[]; readonly ttl: number }>();
  readonly asked: string[] = [];
  failing = false;

  readonly resolve: ResolveName = async (name, family) => {
    this.asked.push(`${name}/${family}`);
    if (this.failing) throw new Error("SERVFAIL");
    const found = this.zone.get(name);
    return (found?.addresses ?? [])
      .filter((address) => address.includes(":") === (family === 6))
      .map((address) => ({ address, ttl: found?.ttl ?? 0 }));
  };
}

function mesh(dns: FakeDns) {
  const database = new Database<Proxy>();
  const warnings: string[] = [];
  const commits: number[] = [];
  const names = new GatewayNames({ database, resolve: dns.resolve, warn: (message) => warnings.push(message) });
  const started = names.start();
  database.observe({
    after: ({ changed, revision }) =>
      changed.some(({ collection }) => collection === resolvedHosts) && commits.push(revision),
  });
  const fail = (_: unknown, message: string): never => {
    throw new Error(message);
  };
  return {
    database,
    names,
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
      await names.idle();
    },
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a gateway's name is resolved in both families, and again after its TTL, but not within 30 s", async () => {
  const dns = new FakeDns();
  dns.zone.set("gw.example.org", { addresses: ["203.0.113.2", "2001:db8::1", "203.0.113.1"], ttl: 60 });
  dns.zone.set("short.example.org", { addresses: ["203.0.113.9"], ttl: 1 });
  const { gateways, addresses, names, commits } = mesh(dns);
  await gateways("gw.example.org", "short.example.org", "198.51.100.1");
  expect(addresses("gw.example.org")).toEqual(["2001:db8::1", "203.0.113.1", "203.0.113.2"]);
  expect(dns.asked).toHaveLength(4);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(dns.asked).toHaveLength(4);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(dns.asked.slice(4)).toEqual(["short.example.org/4", "short.example.org/6"]);
  expect(commits).toHaveLength(2);
  dns.zone.set("gw.example.org", { addresses: ["203.0.113.3"], ttl: 60 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(addresses("gw.example.org")).toEqual(["203.0.113.3"]);
  names.stop();
});

test("addresses stay while DNS fails, and go with the name or when it has none", async () => {
  const dns = new FakeDns();
  dns.zone.set("gw.example.org", { addresses: ["203.0.113.1"], ttl: 60 });
  const { gateways, addresses, warnings, names } = mesh(dns);
  await gateways("gw.example.org");
  dns.failing = true;
  await vi.advanceTimersByTimeAsync(61_000);
  expect(addresses("gw.example.org")).toEqual(["203.0.113.1"]);
  expect(warnings).toEqual(["gateway gw.example.org: DNS fails; addresses that were found before stay"]);
  dns.failing = false;
  dns.zone.clear();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(addresses("gw.example.org")).toEqual([]);
  await gateways();
  expect(addresses("gw.example.org")).toBeUndefined();
  const asked = dns.asked.length;
  await vi.advanceTimersByTimeAsync(7_200_000);
  expect(dns.asked).toHaveLength(asked);
  names.stop();
});

test("nothing is asked with RESOLVE_HOSTNAME_GATEWAYS=false", async () => {
  const dns = new FakeDns();
  const { database, gateways, names } = mesh(dns);
  database.commit((tx) => tx.set(environment, "RESOLVE_HOSTNAME_GATEWAYS", "false"));
  await gateways("gw.example.org");
  expect(dns.asked).toEqual([]);
  names.stop();
});
