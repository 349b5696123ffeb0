import { ipAllocationController, parsePrefix } from "@istiod/controllers";
import { describe, expect, it } from "vitest";
import { eventually, meshSettings, testCluster, type TestCluster } from "./support/cluster.js";

const type = { group: "networking.istio.io", version: "v1", kind: "ServiceEntry", plural: "serviceentries" } as const;
const apiVersion = "networking.istio.io/v1";
const mesh = meshSettings();
const prefixes = [parsePrefix("240.240.0.0/16", 4), parsePrefix("2001:2::/48", 6)];

interface EntryFields {
  readonly hosts?: readonly string[];
  readonly addresses?: readonly string[];
  readonly resolution?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly status?: unknown;
}

const entry = (name: string, { labels = {}, creationTimestamp, status, ...spec }: EntryFields = {}) => ({
  apiVersion,
  kind: "ServiceEntry",
  metadata: { namespace: "shop", name, labels, ...(creationTimestamp && { creationTimestamp }) },
  spec: { hosts: [`${name}.example.com`], resolution: "DNS", ...spec },
  ...(status !== undefined && { status }),
});

const statusOf = ({ server }: TestCluster, name: string): { readonly addresses?: unknown } | undefined =>
  server.objects.get({ apiVersion, kind: "ServiceEntry", namespace: "shop", name })?.["status"] as never;
const addressesOf = (cluster: TestCluster, name: string) => statusOf(cluster, name)?.addresses;
const at = (host: string, ...values: string[]) => values.map((value) => ({ value, host }));

async function start(
  entries: readonly ReturnType<typeof entry>[],
  options: Partial<Parameters<typeof ipAllocationController>[0]> = {},
): Promise<TestCluster> {
  const cluster = await testCluster({ namespaces: ["shop"], types: [{ ...type, namespaced: true }] });
  for (const each of entries) {
    await cluster.server.objects.create(each);
    if (each.status !== undefined) await cluster.server.objects.updateStatus({ ...each, status: each.status });
  }
  cluster.run(ipAllocationController({ prefixes, mesh, ...options }));
  return cluster;
}

describe("addresses of ServiceEntries", () => {
  it("are allocated of both families for every host, in the order of the hosts", async () => {
    const cluster = await start([entry("a", { hosts: ["one.com", "*.two.com", "three.com", "one.com"] })]);
    const expected = [...at("one.com", "240.240.0.1", "2001:2::1"), ...at("three.com", "240.240.0.2", "2001:2::2")];
    await eventually(() => expect(addressesOf(cluster, "a")).toEqual(expected));
    await cluster.server.objects.create(entry("b", { hosts: ["*.four.com"], resolution: "DYNAMIC_DNS" }));
    await eventually(() => expect(addressesOf(cluster, "b")).toEqual(at("*.four.com", "240.240.0.3", "2001:2::3")));
    expect(cluster.writes()).toHaveLength(2);
  });

  it("are not allocated without resolution, with own addresses, or to one that opts out", async () => {
    const cluster = await start([
      entry("none", { resolution: "NONE" }),
      entry("own", { addresses: ["10.0.0.1"] }),
      entry("out", { labels: { "networking.istio.io/enable-autoallocate-ip": "False" } }),
      entry("wildcard", { hosts: ["*.example.com"] }),
      entry("z"),
    ]);
    await eventually(() => expect(addressesOf(cluster, "z")).toBeDefined());
    expect(cluster.writes()).toEqual(["PATCH /apis/networking.istio.io/v1/namespaces/shop/serviceentries/z/status"]);
  });

  it("stay, with the rest of the status, if hosts are added and removed", async () => {
    const conditions = [{ type: "Other", status: "True" }];
    const cluster = await start([entry("a", { hosts: ["one.com"], status: { conditions } })]);
    const one = at("one.com", "240.240.0.1", "2001:2::1");
    const two = at("two.com", "240.240.0.2", "2001:2::2");
    await eventually(() => expect(statusOf(cluster, "a")).toEqual({ conditions, addresses: one }));
    const edit = async (hosts: readonly string[]): Promise<void> =>
      void (await cluster.server.objects.apply(entry("a", { hosts })));
    await edit(["two.com", "one.com"]);
    await eventually(() => expect(statusOf(cluster, "a")).toEqual({ conditions, addresses: [...two, ...one] }));
    await edit(["two.com"]);
    await eventually(() => expect(addressesOf(cluster, "a")).toEqual(two));
    // The address of the removed host is not given to another one at once: clients may still use it.
    await edit(["two.com", "three.com"]);
    await eventually(() =>
      expect(addressesOf(cluster, "a")).toEqual([...two, ...at("three.com", "240.240.0.3", "2001:2::3")]),
    );
  });

  it("are cleared if they are not needed any more", async () => {
    const cluster = await start([entry("a")]);
    await eventually(() => expect(addressesOf(cluster, "a")).toHaveLength(2));
    await cluster.server.objects.apply(entry("a", { addresses: ["10.0.0.1"] }));
    await eventually(() => expect(addressesOf(cluster, "a")).toEqual([]));
  });

  it("of one host are shared by the ServiceEntries of a namespace, also after the oldest is deleted", async () => {
    const host = "one.com";
    const [first, second] = [at(host, "240.240.0.1", "2001:2::1"), at(host, "240.240.0.9", "2001:2::9")];
    const day = (n: number): string => `2024-01-0${n}T00:00:00Z`;
    const cluster = await start([
      entry("a", { hosts: [host], creationTimestamp: day(1), status: { addresses: first } }),
      entry("b", { hosts: [host], creationTimestamp: day(2), status: { addresses: second } }),
      entry("c", { hosts: [host, "two.com"], creationTimestamp: day(3) }),
    ]);
    await eventually(() => {
      expect(addressesOf(cluster, "a")).toEqual(first);
      expect(addressesOf(cluster, "b")).toEqual(first);
      expect(addressesOf(cluster, "c")).toEqual([...first, ...at("two.com", "240.240.0.2", "2001:2::2")]);
    });
    expect(cluster.writes()).toHaveLength(2);
    await cluster.server.objects.delete({ apiVersion, kind: "ServiceEntry", namespace: "shop", name: "a" });
    await cluster.server.objects.create(entry("d", { hosts: [host], creationTimestamp: day(4) }));
    await eventually(() => expect(addressesOf(cluster, "d")).toEqual(first));
    expect(addressesOf(cluster, "b")).toEqual(first);
  });

  it("of a conflict are kept by the oldest ServiceEntry, and by none if a user gives them", async () => {
    const conflict = (name: string, creationTimestamp: string, value: string) =>
      entry(name, { creationTimestamp, status: { addresses: at(`${name}.example.com`, value) } });
    const cluster = await start([
      conflict("young", "2024-01-02T00:00:00Z", "240.240.0.1"),
      conflict("old", "2024-01-01T00:00:00Z", "240.240.0.1"),
      conflict("taken", "2023-01-01T00:00:00Z", "240.240.0.9"),
      conflict("outside", "2024-01-02T00:00:00Z", "10.0.0.1"),
      conflict("outside-too", "2024-01-02T00:00:00Z", "10.0.0.1"),
      entry("user", { addresses: ["240.240.0.9", "240.240.0.2"], resolution: "NONE" }),
    ]);
    await eventually(() => {
      expect(addressesOf(cluster, "taken")).toEqual(at("taken.example.com", "240.240.0.3", "2001:2::1"));
      expect(addressesOf(cluster, "young")).toEqual(at("young.example.com", "240.240.0.4", "2001:2::2"));
    });
    expect(addressesOf(cluster, "old")).toEqual(at("old.example.com", "240.240.0.1"));
    expect(cluster.writes()).toHaveLength(2);
  });

  it("of deleted ServiceEntries are allocated again when all others are in use", async () => {
    const small = [parsePrefix("240.240.0.0/30", 4)];
    const cluster = await start([entry("a"), entry("b")], { prefixes: small });
    const { objects } = cluster.server;
    await eventually(() => expect(addressesOf(cluster, "b")).toEqual(at("b.example.com", "240.240.0.2")));
    await objects.delete({ apiVersion, kind: "ServiceEntry", namespace: "shop", name: "a" });
    await objects.create(entry("c"));
    await eventually(() => expect(addressesOf(cluster, "c")).toEqual(at("c.example.com", "240.240.0.3")));
    await objects.create(entry("d"));
    await eventually(() => expect(addressesOf(cluster, "d")).toEqual(at("d.example.com", "240.240.0.1")));
  });

  it("are distinct for 300 ServiceEntries, with one write each, and stay after a restart", async () => {
    const names = Array.from({ length: 300 }, (_, index) => `entry-${String(index).padStart(3, "0")}`);
    const cluster = await start(names.map((name) => entry(name)));
    const all = () => names.flatMap((name) => (addressesOf(cluster, name) ?? []) as { readonly value: string }[]);
    await eventually(() => expect(all()).toHaveLength(600));
    expect(new Set(all().map(({ value }) => value)).size).toBe(600);
    cluster.run(ipAllocationController({ prefixes, mesh }));
    await cluster.server.objects.create(entry("last"));
    await eventually(() => expect(addressesOf(cluster, "last")).toBeDefined());
    expect(cluster.writes().filter((write) => !write.includes("/last/"))).toHaveLength(300);
  }, 100_000);

  it("come from the given ranges, which must be prefixes", async () => {
    const ranges = [parsePrefix("10.99.0.4/29", 4), parsePrefix("fd00::ff:0/112", 6)];
    const cluster = await start([entry("a")], { prefixes: ranges });
    await eventually(() => expect(addressesOf(cluster, "a")).toEqual(at("a.example.com", "10.99.0.5", "fd00::ff:1")));
    for (const invalid of ["10.0.0.0", "10.0.0.0/33", "2001:2::/48", "10.0.0.0/8/8", ""])
      expect(() => parsePrefix(invalid, 4)).toThrow(`${JSON.stringify(invalid)} is not an IPv4 prefix`);
  });
});
