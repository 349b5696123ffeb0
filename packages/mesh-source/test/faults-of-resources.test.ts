import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import { configMaps, destinationRules, endpointSlices, virtualServices } from "@istiod/config-schema";
import { istio, service, YamlMesh } from "@istiod/config-schema/testing";
import type { Collection } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { clusterType, endpointType, type Resource, routeType } from "@istiod/resources";
import { secretType } from "@istiod/xds-server";
import { mint } from "@istiod/ca/testing";
import { pino } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { type MeshClient, MeshSource } from "@istiod/mesh-source";
import { node } from "@istiod/mesh-source/testing";

const descend = (n: number): number => descend(n + 1) + 1;

/** Faults that a generator could have, as functions that throw. */
const faults: Readonly<Record<string, { readonly fail: () => never; readonly message: string }>> = {
  "an error": {
    fail: () => {
      throw new Error("broken");
    },
    message: "broken",
  },
  "a value that is no error": {
    fail: () => {
      throw "text" as never;
    },
    message: "text",
  },
  "a text that is too long": { fail: () => "a".repeat(2 ** 30) as never, message: "Invalid string length" },
  "an array that is too long": { fail: () => new Array(2 ** 32) as never, message: "Invalid array length" },
  "a stack overflow": { fail: () => descend(0) as never, message: "Maximum call stack size exceeded" },
  "an argument list that is too long": {
    fail: () => Math.max(...new Array<number>(500_000).fill(0)) as never,
    message: "Maximum call stack size exceeded",
  },
};

/** An object of which every field that is read fails. */
const failing = (fail: () => never): never => new Proxy({}, { get: fail, ownKeys: fail, has: fail }) as never;

const root = await mint({ ca: true });
const other = await mint({ ca: true });
const roots = (name: string, pem: string): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "shop" }, data: { cacert: pem } });
const slice = (name: string, ip: string): string =>
  JSON.stringify({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "shop", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [ip] }],
    ports: [{ name: "http", port: 80 }],
  });
const names = ["cart", "pay"] as const;
const rule = (name: string, seconds: number): string =>
  istio(
    "DestinationRule",
    name,
    "shop",
    `host: ${name}\ntrafficPolicy: {connectionPool: {tcp: {connectTimeout: ${seconds}s}}}`,
  );
const routes = (name: string, seconds: number): string =>
  istio(
    "VirtualService",
    name,
    "shop",
    `hosts: [${name}]\nhttp: [{timeout: ${seconds}s, route: [{destination: {host: ${name}}}]}]`,
  );
const cluster = (name: string): string => `outbound|80||${name}.shop.svc.cluster.local`;

/** A place where resources are generated: what is broken there, and how a neighbor changes. */
interface Place {
  readonly of: Collection<never>;
  readonly key: string;
  readonly broken: (object: never, failing: never) => object;
  /** Returns a neighbor's object in another version. */
  readonly changed: () => string;
  /** Returns the version of what is generated for a service. */
  readonly read: (source: MeshSource, client: MeshClient, name: string) => string | undefined;
}

/** Returns a virtual host of a route configuration as text. */
function virtualHost(routesOf: Resource | undefined, name: string): string | undefined {
  if (routesOf === undefined) return undefined;
  const { virtualHosts } = fromBinary(RouteConfigurationSchema, routesOf.bytes);
  const found = virtualHosts.find((host) => host.name.startsWith(`${name}.`));
  return found && Buffer.from(toBinary(VirtualHostSchema, found)).toString("base64");
}

const places: Readonly<Record<string, Place>> = {
  "a generated type": {
    of: destinationRules as never,
    key: "shop/cart",
    broken: ({ spec, ...rest }: { spec: object }, part) => ({ ...rest, spec: { ...spec, trafficPolicy: part } }),
    changed: () => rule("pay", 9),
    read: (source, client, name) => source.resources(client, clusterType)?.get(cluster(name))?.version,
  },
  "endpoints that are looked up": {
    of: endpointSlices as never,
    key: "Kubernetes/shop/cart",
    broken: ({ spec, ...rest }: { spec: object }, part) => ({ ...rest, spec: { ...spec, endpoints: [part] } }),
    changed: () => slice("pay", "10.2.0.9"),
    read: (source, client, name) => source.lookup(client, endpointType, cluster(name))?.version,
  },
  "routes that are looked up": {
    of: virtualServices as never,
    key: "shop/cart",
    broken: ({ spec, ...rest }: { spec: object }, part) => ({ ...rest, spec: { ...spec, http: [part] } }),
    changed: () => routes("pay", 9),
    read: (source, client, name) => virtualHost(source.lookup(client, routeType, "80"), name),
  },
  "secrets that are looked up": {
    of: configMaps as never,
    key: "Kubernetes/shop/cart",
    broken: ({ spec, ...rest }: { spec: object }, part) => ({ ...rest, spec: { ...spec, data: part } }),
    changed: () => roots("pay", other.pem),
    read: (source, client, name) => source.lookup(client, secretType, `configmap://shop/${name}-cacert`)?.version,
  },
};

describe.each(Object.entries(places))("of %s", (_, { of, key, broken, changed, read }) => {
  let mesh: YamlMesh<Proxy>;
  let source: MeshSource;
  let client: MeshClient;
  beforeEach(async () => {
    mesh = new YamlMesh<Proxy>(
      names
        .flatMap((name, n) => [
          service(`${name}.shop`, `10.1.0.${n}`),
          slice(name, `10.2.0.${n}`),
          rule(name, 3),
          routes(name, 3),
          roots(name, root.pem),
        ])
        .join("\n---\n"),
    );
    source = new MeshSource({
      database: mesh.db,
      log: pino({ level: "silent" }),
      authorize: () => ({ trustDomain: "cluster.local", namespace: "shop", serviceAccount: "web" }),
    });
    client = await source.open(node("web.shop", "10.0.9.9"), { address: "127.0.0.1" } as never);
  });

  it.each(Object.entries(faults))(
    "a resource with %s keeps its last good version and is reported, and its neighbor changes",
    (_, { fail, message }) => {
      const before = names.map((name) => read(source, client, name));
      expect(before.every((version) => version !== undefined)).toBe(true);
      const good = mesh.db.read(of, key)!;
      mesh.db.commit((tx) => tx.set(of, key, broken(good, failing(fail)) as never));
      expect(names.map((name) => read(source, client, name))).toEqual(before);
      const reports = [...source.failed().values()];
      expect(reports.map((report) => report.message)).toContain(message);

      mesh.apply(changed());
      const [cart, pay] = names.map((name) => read(source, client, name));
      expect(pay).toBeDefined();
      expect(pay).not.toBe(before[1]);
      expect(cart).toBe(before[0]);

      mesh.db.commit((tx) => tx.set(of, key, good));
      names.forEach((name) => read(source, client, name));
      expect([...source.failed()]).toEqual([]);
    },
  );
});
