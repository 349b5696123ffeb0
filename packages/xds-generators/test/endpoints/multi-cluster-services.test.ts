import { fromBinary, toJson } from "@bufbuild/protobuf";
import { readText } from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { NameTableSchema } from "@istiod/istio-api/networking/nds/v1/nds";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clusterType, type Json, TestMesh, type TestProxy } from "../mesh.js";
import { serviceYaml } from "../mesh-yaml.js";
import { endpointType } from "./endpoint-yaml.js";

const clusters = ["Kubernetes", "east", "north"] as const;
type Cluster = (typeof clusters)[number];
const own = "cart.shop.svc.cluster.local";
const shared = "cart.shop.svc.clusterset.local";
const flags = [
  "ENABLE_MCS_SERVICE_DISCOVERY",
  "ENABLE_MCS_HOST",
  "ENABLE_MCS_CLUSTER_LOCAL",
  "ENABLE_MCS_AUTO_EXPORT",
] as const;

const endpointOf = (cluster: Cluster): string => `10.${clusters.indexOf(cluster) + 1}.0.1`;
const addressOf = (cluster: Cluster): string => `240.0.0.${clusters.indexOf(cluster) + 1}`;
const head = (kind: string): string =>
  `---\n{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ${kind}, metadata: {name: cart, namespace: shop}`;
const slice = (address: string): string =>
  `---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, ports: [{name: http, port: 8080}], endpoints: [{addresses: [${address}], conditions: {ready: true}}]}\n`;

/** Objects of the service in one cluster. */
const objects = {
  Service: () => serviceYaml("cart"),
  EndpointSlice: (cluster: Cluster) => slice(endpointOf(cluster)),
  ServiceExport: () => `${head("ServiceExport")}}\n`,
  ServiceImport: (cluster: Cluster) =>
    `${head("ServiceImport")}, spec: {type: ClusterSetIP, ips: [${addressOf(cluster)}]}}\n`,
  /** A second entry for the property test: an import without an address imports nothing. */
  EmptyImport: () => `${head("ServiceImport")}, spec: {type: ClusterSetIP, ips: [none]}}\n`,
} as const;
type Kind = keyof typeof objects;

class ClusterSet {
  readonly mesh: TestMesh;

  constructor(config: object = {}) {
    this.mesh = new TestMesh("", config as never);
  }

  set(...names: readonly string[]): this {
    for (const name of names) this.mesh.set(name, "true");
    return this;
  }

  put(cluster: Cluster, ...kinds: readonly Kind[]): this {
    for (const kind of kinds) commitYaml(this.mesh.db, objects[kind](cluster), { cluster });
    return this;
  }

  take(cluster: Cluster, kind: Kind): this {
    const found = readText(objects[kind](cluster), "test.yaml", { cluster }).flatMap((reading) => reading.objects);
    this.mesh.db.commit((tx) => found.forEach(({ kind: { collection }, key }) => tx.delete(collection, key)));
    return this;
  }

  client(cluster: string): TestProxy {
    return this.mesh.proxy({ metadata: { CLUSTER_ID: cluster, DNS_CAPTURE: "true" } });
  }

  /**
   * Returns the clusters whose endpoints a client in a cluster is sent for a host; undefined if there is no such
   * cluster.
   */
  seen(from: string, host: string): readonly string[] | undefined {
    const client = this.client(from);
    const name = `outbound|80||${host}`;
    if (!client.has(clusterType, name)) return undefined;
    const groups: Json[] = client.json(endpointType, name).endpoints ?? [];
    const addresses = groups.flatMap((group) =>
      group.lbEndpoints.map((each: Json) => each.endpoint.address.socketAddress.address),
    );
    return clusters.filter((cluster) => addresses.includes(endpointOf(cluster)));
  }

  names(from: string, host: string): readonly string[] | undefined {
    const [found] = [...this.client(from).set("istio.networking.nds.v1.NameTable")];
    return (toJson(NameTableSchema, fromBinary(NameTableSchema, found!.bytes)) as Json).table?.[host]?.ips;
  }
}

const [discovery, hosts, local, auto] = flags;

describe("multi-cluster services", () => {
  const everywhere = (set: ClusterSet): ClusterSet =>
    clusters.reduce((to, cluster) => to.put(cluster, "Service", "EndpointSlice"), set);

  test("are disabled by default: endpoints are visible everywhere, and there is no clusterset host", () => {
    const set = everywhere(new ClusterSet()).put("east", "ServiceExport", "ServiceImport").set(hosts, local, auto);
    expect(set.seen("Kubernetes", own)).toEqual(clusters);
    expect(set.seen("Kubernetes", shared)).toBeUndefined();
    expect(set.names("east", shared)).toBeUndefined();
  });

  test("keep endpoints within their cluster unless it exports the service", () => {
    const set = everywhere(new ClusterSet()).set(discovery);
    expect(clusters.map((cluster) => set.seen(cluster, own))).toEqual([["Kubernetes"], ["east"], ["north"]]);
    set.put("east", "ServiceExport");
    expect(clusters.map((cluster) => set.seen(cluster, own))).toEqual([
      ["Kubernetes", "east"],
      ["east"],
      ["east", "north"],
    ]);
    // A client without a cluster counts as local.
    expect(set.seen("", own)).toEqual(clusters);
    set.take("east", "ServiceExport");
    expect(set.seen("north", own)).toEqual(["north"]);
  });

  test("have a clusterset host if a cluster imports them, with the addresses of each client's cluster", () => {
    const set = everywhere(new ClusterSet()).set(discovery, hosts).put("Kubernetes", "ServiceExport");
    expect(set.seen("Kubernetes", shared)).toBeUndefined();
    set.put("Kubernetes", "ServiceImport").put("east", "ServiceImport");
    expect(set.seen("Kubernetes", shared)).toEqual(["Kubernetes"]);
    expect(set.seen("east", shared)).toEqual(["Kubernetes", "east"]);
    expect(set.names("Kubernetes", shared)).toEqual(["240.0.0.1"]);
    expect(set.names("east", shared)).toEqual(["240.0.0.2"]);
    expect(set.names("north", shared)).toEqual(["240.0.0.1"]);
    // The cluster.local name is unaffected, and keeps its short forms.
    expect(set.names("east", own)).toEqual(["10.96.0.1"]);
  });

  test("can keep the cluster.local hosts within their clusters, as the MCS API specifies", () => {
    const set = everywhere(new ClusterSet()).set(discovery, hosts, local);
    for (const cluster of clusters) set.put(cluster, "ServiceExport", "ServiceImport");
    expect(clusters.map((cluster) => set.seen(cluster, own))).toEqual([["Kubernetes"], ["east"], ["north"]]);
    expect(clusters.map((cluster) => set.seen(cluster, shared))).toEqual([clusters, clusters, clusters]);
  });

  test("can export all Services, except those that mesh configuration makes cluster-local", () => {
    const set = everywhere(new ClusterSet()).set(discovery, auto);
    expect(set.seen("north", own)).toEqual(clusters);
    set.mesh.configure({ serviceSettings: [{ settings: { clusterLocal: true }, hosts: [own] }] });
    expect(set.seen("north", own)).toEqual(["north"]);
  });

  test("give workloads the same ports as the cluster.local hosts do", () => {
    const set = everywhere(new ClusterSet());
    const inbound = (): string[] =>
      set.mesh
        .proxy({ labels: { app: "cart" } })
        .names(clusterType)
        .filter((name) => name.startsWith("inbound"));
    const before = inbound();
    set.set(discovery, hosts).put("Kubernetes", "ServiceExport", "ServiceImport");
    expect(inbound()).toEqual(before);
    const [cluster] = before.filter((name) => name.startsWith("inbound|"));
    const { services } = set.mesh.proxy({ labels: { app: "cart" } }).cluster(cluster!).metadata.filterMetadata.istio;
    expect(services.map(({ host }: Json) => host)).toEqual([own, shared]);
  });

  test("send each client the endpoints that the rules specify, after all edits", () => {
    const step = fc.oneof(
      fc.record({
        cluster: fc.constantFrom(...clusters),
        kind: fc.constantFrom(...(Object.keys(objects) as Kind[])),
        gone: fc.boolean(),
      }),
      fc.record({ flag: fc.constantFrom(...flags), on: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), fc.boolean(), (steps, isLocal) => {
        const set = new ClusterSet(
          isLocal ? { serviceSettings: [{ settings: { clusterLocal: true }, hosts: [own] }] } : {},
        );
        const has = new Set<string>();
        const on = new Set<string>();
        for (const one of steps) {
          if ("flag" in one) {
            set.mesh.set(one.flag, String(one.on));
            on[one.on ? "add" : "delete"](one.flag);
          } else {
            if (one.gone) set.take(one.cluster, one.kind);
            else set.put(one.cluster, one.kind);
            const imports = one.kind === "ServiceImport" || one.kind === "EmptyImport";
            for (const kind of imports ? ["ServiceImport", "EmptyImport"] : [one.kind])
              has.delete(`${one.cluster} ${kind}`);
            if (!one.gone) has.add(`${one.cluster} ${one.kind}`);
          }
        }
        const with_ = (kind: Kind): Cluster[] => clusters.filter((cluster) => has.has(`${cluster} ${kind}`));
        const [byExport, byHost] = [on.has(discovery), on.has(discovery) && on.has(hosts)];
        const importing = with_("ServiceImport");
        const exists = with_("Service").length > 0;
        const exports = (cluster: Cluster): boolean =>
          has.has(`${cluster} ServiceExport`) || (on.has(auto) && has.has(`${cluster} Service`) && !isLocal);
        for (const client of clusters) {
          const offered = (cluster: Cluster, under: "Service" | "ServiceImport"): boolean =>
            cluster === client ||
            (has.has(`${cluster} ${under}`) && exports(cluster) && !(under === "Service" && byHost && on.has(local)));
          const near = isLocal ? (cluster: Cluster) => cluster === client : () => true;
          const endpoints = with_("EndpointSlice");
          const ofOwn = endpoints.filter((cluster) => near(cluster) && (!byExport || offered(cluster, "Service")));
          expect(set.seen(client, own)).toEqual(exists ? ofOwn : undefined);
          const isShared = byHost && exists && importing.length > 0;
          expect(set.seen(client, shared)).toEqual(
            isShared ? endpoints.filter((cluster) => offered(cluster, "ServiceImport")) : undefined,
          );
          const home = importing.includes(client) ? client : importing[0];
          expect(set.names(client, shared)).toEqual(isShared && home !== undefined ? [addressOf(home)] : undefined);
        }
      }),
      { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 40) },
    );
  }, 120_000);
});
