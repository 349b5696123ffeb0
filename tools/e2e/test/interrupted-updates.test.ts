import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ClusterSchema, Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { UpstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import {
  certificateFor,
  claimSubnet,
  eventually,
  startEnvoyProcess,
  startXdsRelay,
  whyNoEnvoy,
  type EnvoyProcess,
  type Subnet,
  type XdsRelay,
} from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { resource, type Resource, ResourceSet } from "@istiod/resources";
import {
  clusterType,
  endpointType,
  listenerType,
  routeType,
  secretType,
  serve,
  staticSource,
  type StaticSource,
} from "@istiod/xds-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();
const certificates = await certificateFor("example.org");

describe("an update that is cut off between its parts", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let subnet: Subnet;
  let backend: Server;
  let source: StaticSource;
  let server: Awaited<ReturnType<typeof serve>>;
  let relay: XdsRelay;
  let envoy: EnvoyProcess;
  /** The type whose responses do not come while the connection lasts. */
  let withheld: string | undefined;
  /** The type before whose next response the connection is lost. */
  let cutBefore: string | undefined;

  beforeEach(async () => {
    if (reason) return;
    subnet = await claimSubnet();
    backend = createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => backend.listen(0, subnet.address(2), resolve));
    const at = [subnet.address(2), (backend.address() as AddressInfo).port] as const;
    source = staticSource({
      [clusterType]: [cluster("a", 1), cluster("b", 1)],
      [endpointType]: [endpoints("a", ...at), endpoints("b", ...at)],
      [listenerType]: [listener(subnet.address(1), "r")],
      [routeType]: [routes("r", "a"), routes("s", "b")],
    });
    server = await serve(source, { host: subnet.address(253), port: 0 });
    relay = await startXdsRelay({
      host: subnet.address(252),
      to: server,
      fate: ({ typeUrl }) => {
        if (typeUrl === withheld) return "drop";
        if (typeUrl !== cutBefore) return "pass";
        withheld = cutBefore = undefined;
        return "cut";
      },
    });
  });
  afterEach(async () => {
    await envoy?.kill();
    await relay?.close();
    await server?.close({ graceMs: 0 });
    backend?.close();
    subnet?.release();
    withheld = cutBefore = undefined;
  });

  const start = async (): Promise<void> => {
    envoy = await startEnvoyProcess({ binary: (await findEnvoy())!, address: subnet.address(1), xds: relay });
  };
  const traffic = (): Promise<true> => eventually("traffic flows", async () => (await get()) === 200, 30_000);
  const get = async (): Promise<number> => (await fetch(`http://${subnet.address(1)}:8000/`)).status;
  const stat = async (name: string): Promise<number> =>
    Number(/: (\d+)/.exec(await envoy.admin(`/stats?filter=^${name.replaceAll(".", "\\.")}$`))?.[1] ?? 0);

  /** Loses the connection before the next response of a type, and waits until Envoy is back. */
  async function lose(before: string, change: () => void): Promise<void> {
    const streams = relay.streams.length;
    cutBefore = before;
    change();
    await eventually("the connection is lost", () => cutBefore === undefined);
    await eventually(
      "Envoy is back",
      () => relay.streams.length > streams && (relay.streams.at(-1)?.length ?? 0) > 0,
      60_000,
    );
  }

  it("a changed cluster whose unchanged endpoints did not come is used all the same", async () => {
    await start();
    await traffic();
    await lose(endpointType, () => source.put(clusterType, cluster("a", 2)));
    await eventually("the changed cluster is active", async () =>
      (await envoy.admin("/config_dump?resource=dynamic_active_clusters")).includes('"connect_timeout": "2s"'),
    );
    expect(await stat("cluster_manager.warming_clusters")).toBe(0);
    source.put(clusterType, cluster("b", 3));
    await eventually("later changes come", async () => (await stat("cluster_manager.cluster_modified")) === 2);
    expect(await get()).toBe(200);
  }, 120_000);

  it("a changed cluster beside one that is refused is used all the same", async () => {
    await start();
    await traffic();
    await lose(endpointType, () =>
      source.set({ [clusterType]: ResourceSet.of([cluster("a", 2), cluster("b", 1), unusable("refused")]) }),
    );
    await eventually("the refusal is known", () =>
      server.connections()[0]?.subscriptions.some((s) => s.lastError?.resources.includes("refused")),
    );
    await eventually("the changed cluster is active", async () =>
      (await envoy.admin("/config_dump?resource=dynamic_active_clusters")).includes('"connect_timeout": "2s"'),
    );
    expect(await stat("cluster_manager.warming_clusters")).toBe(0);
    expect(await get()).toBe(200);
  }, 120_000);

  it("a changed listener whose unchanged routes did not come is used all the same", async () => {
    await start();
    await traffic();
    await lose(endpointType, () =>
      source.set({
        [clusterType]: ResourceSet.of([cluster("a", 2), cluster("b", 1)]),
        [listenerType]: ResourceSet.of([listener(subnet.address(1), "r", "again")]),
      }),
    );
    await eventually(
      "the changed listener is active",
      async () =>
        (await stat("listener_manager.listener_modified")) === 1 &&
        (await stat("listener_manager.total_listeners_warming")) === 0,
    );
    expect(await get()).toBe(200);
  }, 120_000);

  it("a listener whose new routes did not come has them after", async () => {
    await start();
    await traffic();
    await lose(routeType, () => source.put(listenerType, listener(subnet.address(1), "s")));
    await eventually(
      "the changed listener is active",
      async () =>
        (await stat("listener_manager.listener_modified")) === 1 &&
        (await stat("listener_manager.total_listeners_warming")) === 0,
    );
    expect(await envoy.admin("/config_dump?resource=dynamic_route_configs")).toContain('"cluster": "b"');
    expect(await get()).toBe(200);
  }, 120_000);

  it("does not keep an Envoy from starting", async () => {
    withheld = secretType;
    source.put(clusterType, cluster("b", 1, "secret"));
    source.set({ [secretType]: ResourceSet.of([secret("secret")]) });
    await start();
    await eventually(
      "Envoy has its endpoints and waits for a secret",
      () => server.connections()[0]?.subscriptions.some((s) => s.typeUrl === endpointType && s.nonceAcked !== ""),
      30_000,
    );
    await lose(endpointType, () => source.put(clusterType, cluster("a", 2)));
    await traffic();
  }, 120_000);
});

const ads = {
  configSourceSpecifier: { case: "ads", value: {} },
  resourceApiVersion: 2,
  initialFetchTimeout: {},
} as const;

function encoded<D extends DescMessage>(name: string, schema: D, init: MessageInitShape<D>): Resource {
  return resource(name, toBinary(schema, create(schema, init)));
}

function cluster(name: string, connectSeconds: number, secretName = ""): Resource {
  const tls = create(UpstreamTlsContextSchema, {
    commonTlsContext: { tlsCertificateSdsSecretConfigs: [{ name: secretName, sdsConfig: ads }] },
  });
  return encoded(name, ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    connectTimeout: { seconds: BigInt(connectSeconds) },
    edsClusterConfig: { edsConfig: ads },
    ...(secretName && {
      transportSocket: {
        name: "tls",
        configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, tls) },
      },
    }),
  });
}

/** A cluster that is well-formed, so that Envoy takes others of the same response and refuses this one alone. */
function unusable(name: string): Resource {
  const tls = create(UpstreamTlsContextSchema, {
    commonTlsContext: {
      tlsCertificates: [
        {
          certificateChain: { specifier: { case: "filename", value: "/nowhere/cert.pem" } },
          privateKey: { specifier: { case: "filename", value: "/nowhere/key.pem" } },
        },
      ],
    },
  });
  return encoded(name, ClusterSchema, {
    name,
    transportSocket: {
      name: "tls",
      configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, tls) },
    },
  });
}

function endpoints(clusterName: string, address: string, portValue: number): Resource {
  const value = { address, portSpecifier: { case: "portValue", value: portValue } } as const;
  const endpoint = { address: { address: { case: "socketAddress", value } } } as const;
  return encoded(clusterName, ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: endpoint } }] }],
  });
}

function listener(address: string, routeConfigName: string, statPrefix = "test"): Resource {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix,
    routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName } },
    httpFilters: [
      { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } },
    ],
  });
  return encoded("l", ListenerSchema, {
    name: "l",
    address: {
      address: { case: "socketAddress", value: { address, portSpecifier: { case: "portValue", value: 8000 } } },
    },
    filterChains: [
      {
        filters: [
          { name: "http", configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } },
        ],
      },
    ],
  });
}

function secret(name: string): Resource {
  const inline = (text: string) => ({ specifier: { case: "inlineString", value: text } }) as const;
  const value = { certificateChain: inline(certificates.server.cert), privateKey: inline(certificates.server.key) };
  return encoded(name, SecretSchema, { name, type: { case: "tlsCertificate", value } });
}

function routes(name: string, to: string): Resource {
  const route = {
    match: { pathSpecifier: { case: "prefix", value: "/" } },
    action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: to } } },
  } as const;
  return encoded(name, RouteConfigurationSchema, {
    name,
    virtualHosts: [{ name: "all", domains: ["*"], routes: [route] }],
  });
}
