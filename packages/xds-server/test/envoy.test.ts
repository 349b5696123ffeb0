import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ClusterSchema, Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { findEnvoy } from "@istiod/envoy-binary";
import { resource, type Resource } from "@istiod/resources";
import {
  clusterType,
  createXdsServer,
  endpointType,
  listenerType,
  routeType,
  staticSource,
  type XdsEvent,
  type XdsServer,
} from "@istiod/xds-server";
import { afterEach, describe, expect, it } from "vitest";
import { countingRelay } from "./counting-relay.js";
import { variants, type Variant } from "./harness.js";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

describe.each(variants)("a real Envoy, %s", (variant) => {
  it(
    "warms up, carries traffic, takes changes, refuses nonsense, and survives the server's restart",
    { timeout: 90_000 },
    async ({ skip }) => {
      const binary = await findEnvoy();
      if (binary === undefined) return skip("no Envoy: set ENVOY_PATH, or fetch one as tools/envoy says");
      const backend = await listening(createServer((_request, response) => response.end("hello")));
      const port = await freePort();
      const source = staticSource({
        [clusterType]: [cluster(1)],
        [endpointType]: [endpoints(backend)],
        [listenerType]: [listener(port)],
        [routeType]: [routes("/")],
      });
      const events: XdsEvent[] = [];
      const start = async (at: number): Promise<[XdsServer, number]> => {
        const server = createXdsServer(source, { observe: (event) => events.push(event) });
        const { port } = await server.listen({ port: at });
        return [server, port];
      };
      const [first, xdsPort] = await start(0);
      const envoy = await startEnvoy(binary, variant, xdsPort);
      const get = (path: string) =>
        fetch(`http://127.0.0.1:${port}${path}`).then(
          (response) => response.status,
          () => 0,
        );
      await expect.poll(() => get("/"), { timeout: 30_000 }).toBe(200);
      const acked = (server: XdsServer, typeUrl: string) => {
        const subscription = server.connections()[0]?.subscriptions.find((s) => s.typeUrl === typeUrl);
        return subscription?.nonceSent !== "" && subscription?.nonceAcked === subscription?.nonceSent;
      };
      for (const typeUrl of [clusterType, endpointType, listenerType, routeType])
        await expect.poll(() => acked(first, typeUrl)).toBe(true);

      // The changed cluster waits for endpoints, which did not change.
      source.put(clusterType, cluster(2));
      await expect.poll(() => envoy.stat("cluster_manager.cluster_modified"), { timeout: 10_000 }).toBe(1);
      expect(await envoy.stat("cluster_manager.warming_clusters")).toBe(0);
      source.put(routeType, routes("/only"));
      await expect.poll(() => get("/")).toBe(404);
      expect(await get("/only")).toBe(200);

      source.put(
        clusterType,
        resource("c", toBinary(ClusterSchema, create(ClusterSchema, { name: "c", connectTimeout: { seconds: -1n } }))),
      );
      await expect
        .poll(() => events.find(({ kind }) => kind === "nack"))
        .toMatchObject({ typeUrl: clusterType, error: { resources: ["c"] } });
      expect(await get("/only")).toBe(200);
      source.put(clusterType, cluster(3));
      await expect.poll(() => acked(first, clusterType)).toBe(true);

      await first.close({ graceMs: 0 });
      events.length = 0;
      const [second] = await start(xdsPort);
      cleanUp.push(() => second.close({ graceMs: 0 }));
      await expect.poll(() => second.connections()[0]?.subscriptions.length, { timeout: 40_000 }).toBe(4);
      for (const typeUrl of [clusterType, endpointType, listenerType, routeType])
        await expect.poll(() => acked(second, typeUrl)).toBe(true);
      const sent = events.flatMap((event) => (event.kind === "push" ? [event.resources] : []));
      if (variant === "delta") expect(sent).toEqual([0, 0, 0, 0]);
      expect(events.filter(({ kind }) => kind === "nack")).toEqual([]);
      expect(await get("/only")).toBe(200);
    },
  );
});

describe.each(variants)("a real Envoy that rejects resources, %s", (variant) => {
  const staticCluster = (name: string, more: MessageInitShape<typeof ClusterSchema> = {}): Resource =>
    encoded(name, ClusterSchema, {
      name,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
      ...more,
    });
  /** Is rejected because it has no configuration of its endpoints. */
  const badCluster = (name: string): Resource =>
    staticCluster(name, { clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS } });
  /** Fails validation when it is decoded. */
  const undecodable = (name: string): Resource => staticCluster(name, { connectTimeout: {} });
  const badListener = (name: string, at: number): Resource =>
    encoded(name, ListenerSchema, {
      name,
      address: addressAt(at),
      filterChains: [{ filters: [{ name: "no such filter" }] }],
    });

  it(
    "uses the others on a fresh start and on a change, lists them when it reconnects, and gets a busy port in the end",
    { timeout: 90_000 },
    async ({ skip }) => {
      const binary = await findEnvoy();
      if (binary === undefined) return skip("no Envoy: set ENVOY_PATH, or fetch one as tools/envoy says");
      const busy = createServer();
      const busyPort = await listening(busy);
      const [port, deletedPort] = [await freePort(), await freePort()];
      const good = ["c1", "c2", "c3"].map((name) => staticCluster(name));
      const source = staticSource({
        [clusterType]: [...good, badCluster("bad"), undecodable("undecodable")],
        [listenerType]: [
          listener(port),
          listener(busyPort, "busy"),
          listener(deletedPort, "deleted"),
          badListener("bad", 1),
        ],
        [routeType]: [routes("/")],
      });
      const events: XdsEvent[] = [];
      const server = createXdsServer(source, { observe: (event) => events.push(event) });
      const { port: xdsPort } = await server.listen({ port: 0 });
      const envoy = await startEnvoy(binary, variant, xdsPort);
      const states = (of: XdsServer, typeUrl: string): Record<string, string> => {
        const subscription = of.connections()[0]?.subscriptions.find((each) => each.typeUrl === typeUrl);
        const names = [...(subscription?.sent ?? [])].map(({ name }) => name);
        return Object.fromEntries(names.map((name) => [name, subscription?.stateOf(name)?.state ?? ""]));
      };
      const acknowledged = { c1: "acknowledged", c2: "acknowledged", c3: "acknowledged" };
      await expect
        .poll(() => states(server, clusterType), { timeout: 30_000 })
        .toEqual({ ...acknowledged, bad: "rejected", undecodable: "rejected" });
      await expect
        .poll(() => states(server, listenerType), { timeout: 30_000 })
        .toEqual({ l: "acknowledged", busy: "rejected", deleted: "acknowledged", bad: "rejected" });
      const isOpen = (at: number) =>
        fetch(`http://127.0.0.1:${at}/`).then(
          () => true,
          () => false,
        );
      expect(await isOpen(port)).toBe(true);

      await new Promise((resolve) => (busy.closeAllConnections(), busy.close(resolve)));
      await expect.poll(() => states(server, listenerType)["busy"], { timeout: 15_000 }).toBe("acknowledged");
      expect(await isOpen(busyPort)).toBe(true);

      const addedPort = await freePort();
      source.put(clusterType, staticCluster("c2", { altStatName: "changed" }), badCluster("c3"));
      source.put(listenerType, listener(addedPort, "added"), badListener("bad", 2));
      await expect
        .poll(() => states(server, clusterType))
        .toEqual({ ...acknowledged, c3: "rejected", bad: "rejected", undecodable: "rejected" });
      await expect.poll(() => states(server, listenerType)["added"]).toBe("acknowledged");
      expect(await isOpen(addedPort)).toBe(true);
      expect(await envoy.stat("cluster_manager.active_clusters")).toBe(4);

      // Another server knows nothing of the rejected responses, nor of the versions before them.
      source.put(listenerType, badListener("l", port));
      await expect.poll(() => states(server, listenerType)["l"]).toBe("rejected");
      await server.close({ graceMs: 0 });
      source.remove(listenerType, "added", "deleted");
      const second = createXdsServer(source);
      await second.listen({ port: xdsPort });
      cleanUp.push(() => second.close({ graceMs: 0 }));
      await expect.poll(() => isOpen(addedPort), { timeout: 40_000 }).toBe(false);
      await expect.poll(() => isOpen(deletedPort), { timeout: 10_000 }).toBe(false);
      await expect
        .poll(() => states(second, clusterType), { timeout: 10_000 })
        .toEqual({ c1: "acknowledged", c2: "acknowledged", c3: "rejected", bad: "rejected", undecodable: "rejected" });
      await expect
        .poll(() => states(second, listenerType), { timeout: 10_000 })
        .toEqual({ busy: "acknowledged", l: "rejected", bad: "rejected" });
      expect(await isOpen(port)).toBe(true);
      expect(await envoy.stat("cluster_manager.active_clusters")).toBe(4);

      const lastPort = await freePort();
      source.put(listenerType, listener(lastPort, "last"));
      source.remove(clusterType, "c1");
      await expect.poll(() => isOpen(lastPort), { timeout: 10_000 }).toBe(true);
      await expect.poll(() => envoy.stat("cluster_manager.active_clusters"), { timeout: 10_000 }).toBe(3);
      expect(await isOpen(port)).toBe(true);
      source.put(listenerType, listener(port));
      await expect.poll(() => states(second, listenerType)["l"], { timeout: 10_000 }).toBe("acknowledged");
    },
  );

  it(
    "uses the other routes on a fresh start, on a change and after a restart, of which it applies a part at random",
    { timeout: 90_000 },
    async ({ skip }) => {
      const binary = await findEnvoy();
      if (binary === undefined) return skip("no Envoy: set ENVOY_PATH, or fetch one as tools/envoy says");
      const names = ["r1", "r2", "r3", "r4", "bad"];
      const ports = new Map<string, number>();
      for (const name of names) ports.set(name, await freePort());
      const textOf = (name: string) =>
        fetch(`http://127.0.0.1:${ports.get(name)}/`).then(
          async (response) => (response.status === 200 ? await response.text() : `${response.status}`),
          () => "closed",
        );
      const texts = () => Promise.all(names.map(textOf));
      const source = staticSource({
        [clusterType]: [],
        [listenerType]: names.map((name) => listener(ports.get(name) ?? 0, name, name)),
        [routeType]: names.map((name) => answers(name, "1", name === "bad" ? 2 : 1)),
      });
      const server = createXdsServer(source);
      const { port: xdsPort } = await server.listen({ port: 0 });
      await startEnvoy(binary, variant, xdsPort);
      const stateOf = (of: XdsServer, name: string) =>
        of
          .connections()[0]
          ?.subscriptions.find(({ typeUrl }) => typeUrl === routeType)
          ?.stateOf(name)?.state;
      await expect.poll(() => stateOf(server, "bad"), { timeout: 30_000 }).toBe("rejected");
      await expect.poll(texts, { timeout: 30_000 }).toEqual(["1", "1", "1", "1", expect.stringMatching(/404|closed/)]);

      const changed = names.map((name) => answers(name, "2", name === "bad" || name === "r4" ? 2 : 1));
      source.put(routeType, ...changed);
      await expect.poll(texts, { timeout: 10_000 }).toEqual(["2", "2", "2", "1", expect.stringMatching(/404|closed/)]);
      await expect.poll(() => stateOf(server, "r4"), { timeout: 10_000 }).toBe("rejected");
      await expect
        .poll(() => ["r1", "r2", "r3"].map((name) => stateOf(server, name)), { timeout: 10_000 })
        .toEqual(Array(3).fill("acknowledged"));

      // Another server knows nothing of the rejected response, and of the versions before it.
      await server.close({ graceMs: 0 });
      source.remove(listenerType, "r3", "bad");
      source.remove(routeType, "r3", "bad");
      source.put(routeType, answers("r1", "3"));
      const second = createXdsServer(source);
      await second.listen({ port: xdsPort });
      cleanUp.push(() => second.close({ graceMs: 0 }));
      await expect.poll(texts, { timeout: 40_000 }).toEqual(["3", "2", "closed", "1", "closed"]);
      await expect.poll(() => stateOf(second, "r4"), { timeout: 10_000 }).toBe("rejected");
      source.put(routeType, answers("r4", "4"));
      await expect.poll(texts, { timeout: 10_000 }).toEqual(["3", "2", "closed", "4", "closed"]);
    },
  );
});

it("a real Envoy's Google gRPC client gets compressed responses", { timeout: 60_000 }, async ({ skip }) => {
  const binary = await findEnvoy();
  if (binary === undefined) return skip("no Envoy: set ENVOY_PATH, or fetch one as tools/envoy says");
  const count = 2000;
  const names = Array.from({ length: count }, (_, n) => `cluster-${n}`);
  const source = staticSource({
    [clusterType]: names.map((name) =>
      encoded(name, ClusterSchema, {
        name,
        altStatName: "x".repeat(500),
        clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
      }),
    ),
    [listenerType]: [],
  });
  const events: XdsEvent[] = [];
  const server = createXdsServer(source, { observe: (event) => events.push(event) });
  cleanUp.push(() => server.close({ graceMs: 0 }));
  const { port } = await server.listen({ port: 0 });
  const relay = await countingRelay(port);
  cleanUp.push(() => relay.close());
  const envoy = await startEnvoy(binary, "delta", relay.port, {
    google_grpc: { target_uri: `127.0.0.1:${relay.port}`, stat_prefix: "xds" },
  });
  await expect
    .poll(() => envoy.stat("cluster_manager.cluster_added").catch(() => 0), { timeout: 30_000 })
    .toBeGreaterThanOrEqual(count);
  const sent = events.flatMap((event) => (event.kind === "push" ? [event.bytes] : []));
  expect(Math.max(...sent)).toBeGreaterThan(5 * relay.received);
  expect(events.filter(({ kind }) => kind === "nack")).toEqual([]);
});

const ads = { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: 2 } as const;

function encoded<D extends DescMessage>(name: string, schema: D, init: MessageInitShape<D>): Resource {
  return resource(name, toBinary(schema, create(schema, init)));
}

function cluster(connectSeconds: number): Resource {
  return encoded("c", ClusterSchema, {
    name: "c",
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    connectTimeout: { seconds: BigInt(connectSeconds) },
    edsClusterConfig: { edsConfig: ads, serviceName: "endpoints of c" },
  });
}

function endpoints(portValue: number): Resource {
  const value = { address: "127.0.0.1", portSpecifier: { case: "portValue", value: portValue } } as const;
  const endpoint = { address: { address: { case: "socketAddress", value } } } as const;
  return encoded("endpoints of c", ClusterLoadAssignmentSchema, {
    clusterName: "endpoints of c",
    endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: endpoint } }] }],
  });
}

const addressAt = (portValue: number) =>
  ({
    address: {
      case: "socketAddress",
      value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: portValue } },
    },
  }) as const;

function listener(portValue: number, name = "l", routeConfigName = "r"): Resource {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "test",
    routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName } },
    httpFilters: [
      { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } },
    ],
  });
  return encoded(name, ListenerSchema, {
    name,
    address: addressAt(portValue),
    filterChains: [
      {
        filters: [
          { name: "http", configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } },
        ],
      },
    ],
  });
}

function routes(prefix: string): Resource {
  return encoded("r", RouteConfigurationSchema, {
    name: "r",
    virtualHosts: [
      {
        name: "all",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: prefix } },
            action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "c" } } },
          },
        ],
      },
    ],
  });
}

/** Routes that answer with a text. Envoy accepts a wildcard domain only once. */
function answers(name: string, text: string, wildcards = 1): Resource {
  const body = { specifier: { case: "inlineString", value: text } } as const;
  return encoded(name, RouteConfigurationSchema, {
    name,
    virtualHosts: Array.from({ length: wildcards }, (_, n) => ({
      name: `${n}`,
      domains: ["*"],
      routes: [
        {
          match: { pathSpecifier: { case: "prefix" as const, value: "/" } },
          action: { case: "directResponse" as const, value: { status: 200, body } },
        },
      ],
    })),
  });
}

async function startEnvoy(
  binary: string,
  variant: Variant,
  xdsPort: number,
  service: object = { envoy_grpc: { cluster_name: "xds" } },
): Promise<{ stat(name: string): Promise<number> }> {
  const directory = await mkdtemp(join(tmpdir(), "envoy-"));
  cleanUp.push(() => rm(directory, { recursive: true }));
  const http2 = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
  const address = (port_value: number) => ({ socket_address: { address: "127.0.0.1", port_value } });
  const bootstrap = {
    node: { id: "test", cluster: "test" },
    admin: { address: address(0) },
    dynamic_resources: {
      ads_config: {
        api_type: variant === "delta" ? "DELTA_GRPC" : "GRPC",
        transport_api_version: "V3",
        grpc_services: [service],
      },
      cds_config: { ads: {}, resource_api_version: "V3" },
      lds_config: { ads: {}, resource_api_version: "V3" },
    },
    static_resources: {
      clusters: [
        {
          name: "xds",
          typed_extension_protocol_options: {
            [http2]: { "@type": `type.googleapis.com/${http2}`, explicit_http_config: { http2_protocol_options: {} } },
          },
          load_assignment: {
            cluster_name: "xds",
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address(xdsPort) } }] }],
          },
        },
      ],
    },
  };
  const config = join(directory, "bootstrap.json");
  const admin = join(directory, "admin");
  await writeFile(config, JSON.stringify(bootstrap));
  const envoy: ChildProcess = spawn(
    binary,
    [
      "-c",
      config,
      "--admin-address-path",
      admin,
      "--use-dynamic-base-id",
      "--concurrency",
      "1",
      "--drain-time-s",
      "1",
      "-l",
      "error",
    ],
    { stdio: "ignore" },
  );
  cleanUp.push(() => {
    if (envoy.exitCode !== null) return undefined;
    const gone = new Promise((resolve) => envoy.once("exit", resolve));
    envoy.kill("SIGKILL");
    return gone;
  });
  return {
    async stat(name) {
      const at = await readFile(admin, "utf8");
      const { stats } = (await (await fetch(`http://${at}/stats?format=json&filter=^${name}$`)).json()) as {
        stats: { value: number }[];
      };
      return stats[0]?.value ?? 0;
    },
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp.push(() => (server.closeAllConnections(), server.close()));
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
