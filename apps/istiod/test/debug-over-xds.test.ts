import { join } from "node:path";
import { create, fromBinary, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ClustersConfigDumpSchema } from "@istiod/envoy-api/envoy/admin/v3/config_dump_shared";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type ClientConfig, ClientConfigSchema, ConfigStatus } from "@istiod/envoy-api/envoy/service/status/v3/csds";
import { debugType } from "@istiod/introspection";
import { clusterType, endpointType, listenerType, type Variant } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { client, folder, serve } from "./serving.js";

const syncz = "istio.io/debug/syncz";
const nodeId = (name: string, namespace: string): string =>
  `sidecar~10.0.0.9~${name}.${namespace}~${namespace}.svc.cluster.local`;
const node = (name: string, namespace: string, metadata: JsonObject = {}) =>
  create(NodeSchema, { id: nodeId(name, namespace), metadata: { NAMESPACE: namespace, ...metadata } });
const service = `{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.1.0.1, ports: [{name: http, port: 80}]}}`;

let istiod: Awaited<ReturnType<typeof serve>>;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  const root = await folder({
    "config/a.yaml": service,
    "tokens/istio-system/istioctl": "token-of-an-operator",
    "tokens/shop/web": "token-of-the-web-proxy",
    "tokens/ops/helper": "token-of-the-helper",
  });
  istiod = await serve(
    {
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    },
    { POD_NAME: "istiod-7", DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES: "ops" },
  );
});
afterEach(() => ends.splice(0).forEach((end) => end()));

/** A caller with a token, as istioctl is. */
function caller(variant: Variant, name: string, namespace: string, token: string): XdsClient {
  const address = {
    host: "127.0.0.1",
    port: istiod.addresses["secureGRPCAddr"]?.port ?? 0,
    tls: { rejectUnauthorized: false },
  };
  const found = new XdsClient(address, {
    variant,
    node: node(name, namespace),
    headers: { authorization: `Bearer ${token}` },
  });
  ends.push(() => found.close());
  return found;
}

const operator = (variant: Variant): XdsClient => caller(variant, "istioctl", "istio-system", "token-of-an-operator");

/** The message by which istioctl recognizes that it should ask another replica. */
const notConnected = "Proxy not connected to this Pilot instance. It may be connected to another instance.\n";

function texts({ resources }: Awaited<ReturnType<XdsClient["next"]>>): readonly string[] {
  return resources.map(({ bytes }) => Buffer.from(bytes).toString());
}

async function states(asking: XdsClient): Promise<readonly ClientConfig[]> {
  asking.subscribe(syncz);
  const { resources } = await asking.next(syncz);
  return resources
    .map(({ bytes }) => fromBinary(ClientConfigSchema, bytes))
    .sort((a, b) => ((a.node?.id ?? "") < (b.node?.id ?? "") ? -1 : 1));
}

describe.each(["delta", "sotw"] as const)("on %s", (variant) => {
  it("returns the status of each type for each proxy, like Envoy's client status discovery service", async () => {
    const began = Math.floor(Date.now() / 1000);
    const web = client(
      istiod,
      "delta",
      node("web", "shop", { CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", PROXY_CONFIG: {} }),
    );
    web.subscribe(clusterType);
    await web.accept(clusterType);
    web.subscribe(listenerType);
    await web.next(listenerType);
    web.subscribe(endpointType, ["outbound|80||cart.shop.svc.cluster.local"]);
    web.nack(await web.next(endpointType), "outbound|80||cart.shop.svc.cluster.local: no");
    const pay = client(istiod, "sotw", node("card", "pay"));
    pay.subscribe(clusterType);
    await pay.accept(clusterType);
    await pay.settled();
    await web.settled();
    const found = await states(operator(variant));
    expect(found.map(({ node: of }) => [of?.id, of?.metadata])).toEqual([
      [nodeId("card", "pay"), { NAMESPACE: "pay" }],
      [nodeId("web", "shop"), { CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", NAMESPACE: "shop" }],
    ]);
    const configs = found[1]?.genericXdsConfigs.filter(({ typeUrl }) => !typeUrl.startsWith("fence/")) ?? [];
    expect(configs.map(({ typeUrl, configStatus }) => [typeUrl, configStatus])).toEqual([
      [clusterType, ConfigStatus.SYNCED],
      [endpointType, ConfigStatus.ERROR],
      [listenerType, ConfigStatus.STALE],
    ]);
    expect(configs[1]?.errorState?.details).toContain("cart.shop.svc.cluster.local: no");
    expect(configs[1]?.errorState?.lastUpdateAttempt).toEqual(configs[1]?.lastUpdated);
    const updated = Number(configs[0]?.lastUpdated?.seconds);
    expect([began <= updated, updated <= Date.now() / 1000]).toEqual([true, true]);
  });

  it("names the control plane, answers every request, and ignores ACKs", async () => {
    const asking = operator(variant);
    expect(await states(asking)).toEqual([]);
    const web = client(istiod, "delta", node("web", "shop"));
    web.subscribe(clusterType);
    await web.accept(clusterType);
    await web.settled();
    asking.send({ typeUrl: syncz });
    const again = await asking.next(syncz);
    expect(again.resources).toHaveLength(1);
    expect(JSON.parse(again.controlPlane)).toMatchObject({
      Component: "istiod",
      ID: "istiod-7",
      Info: { version: "0.1.0" },
    });
    asking.ack(again);
    expect((await asking.settled()).filter(({ typeUrl }) => typeUrl === syncz)).toEqual([]);
  });

  it("returns a proxy's config dump as messages, and the other commands as over HTTP", async () => {
    const web = client(istiod, "delta", node("web", "shop"));
    web.subscribe(clusterType);
    await web.accept(clusterType);
    await web.settled();
    const asking = operator(variant);
    asking.subscribe("istio.io/debug/config_dump", ["web.shop"]);
    const dump = await asking.next("istio.io/debug/config_dump");
    expect(dump.resources.map(({ typeUrl }) => typeUrl)).toContain(
      "type.googleapis.com/envoy.admin.v3.ListenersConfigDump",
    );
    const clusters = dump.resources.find(({ typeUrl }) => typeUrl.endsWith("ClustersConfigDump"));
    expect(
      fromBinary(ClustersConfigDumpSchema, clusters?.bytes ?? new Uint8Array()).dynamicActiveClusters.length,
    ).toBeGreaterThan(2);
    const other = operator(variant);
    other.subscribe("istio.io/debug/config_dump", ["no.body"]);
    expect(texts(await other.next("istio.io/debug/config_dump"))).toEqual([notConnected]);
    for (const [name, expected] of [
      ["syncz", "proxy"],
      ["connections", "totalClients"],
      ["config_dump?proxyID=web.shop", "ClustersConfigDump"],
      ["status?object=Service/shop/cart", "reached"],
      ["list", '"config_dump"'],
    ] as const) {
      const one = operator(variant);
      one.subscribe(debugType, [name]);
      const { resources } = await one.next(debugType);
      expect(resources.map(({ typeUrl }) => typeUrl)).toEqual([debugType]);
      expect(`${name}: ${Buffer.from(resources[0]?.bytes ?? []).toString()}`).toContain(expected);
    }
  });

  it("limits callers in other namespaces to their own proxies, and rejects unauthenticated callers", async () => {
    for (const each of [node("web", "shop"), node("card", "pay")]) {
      const proxy = client(istiod, "delta", each);
      proxy.subscribe(clusterType);
      await proxy.accept(clusterType);
      await proxy.settled();
    }
    const own = caller(variant, "web", "shop", "token-of-the-web-proxy");
    expect((await states(own)).map(({ node: of }) => of?.id)).toEqual([nodeId("web", "shop")]);
    own.subscribe("istio.io/debug/config_dump", ["card.pay"]);
    expect(texts(await own.next("istio.io/debug/config_dump"))).toEqual([notConnected]);
    expect(await states(caller(variant, "helper", "ops", "token-of-the-helper"))).toHaveLength(2);
    own.subscribe(debugType, ["config_dump?proxyID=web.shop"]);
    expect(Buffer.from((await own.next(debugType)).resources[0]?.bytes ?? []).toString()).toContain(
      "ClustersConfigDump",
    );
    own.send({ typeUrl: debugType, names: ["syncz"] });
    expect(await own.ended).toMatchObject({ code: Code.PermissionDenied });
    for (const type of [debugType, syncz]) {
      const unknown = client(istiod, variant, node("web", "shop"));
      unknown.subscribe(type, ["syncz"]);
      expect(await unknown.ended).toMatchObject({ code: Code.Unauthenticated, rawMessage: "authentication required" });
    }
    const greedy = operator(variant);
    greedy.subscribe(debugType, ["syncz", "mesh"]);
    expect(await greedy.ended).toMatchObject({ code: Code.InvalidArgument });
  });
});
