import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { statusExits } from "@istiod/replicas";
import type { ChangeReport, ObjectStatus } from "@istiod/push-report";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/xds-server";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { folder, serve } from "./serving.js";
import { runStatus } from "./status-command.js";

const service = (name: string, ip: string): string => `
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec: {clusterIP: ${ip}, selector: {app: ${name}}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${name}-1, namespace: shop, labels: {kubernetes.io/service-name: ${name}}}
addressType: IPv4
endpoints: [{addresses: [10.0.1.1], conditions: {ready: true}}]
ports: [{name: http, port: 8080}]
`;
const virtualService = (timeout: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart.shop.svc.cluster.local]
  exportTo: ["."]
  http: [{timeout: ${timeout}, route: [{destination: {host: cart.shop.svc.cluster.local}}]}]
`;
const node = (name: string, namespace: string): Node =>
  create(NodeSchema, {
    id: `sidecar~10.0.0.9~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: name } },
  });

let root: string;
let istiod: Awaited<ReturnType<typeof serve>>;
let web: EnvoyClient;
let other: EnvoyClient;
let rejectRoutes: string | undefined;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  rejectRoutes = undefined;
  root = await folder({ "cart.yaml": service("cart", "10.1.0.1"), "vs.yaml": virtualService("1s") });
  istiod = await serve({ configDir: root }, { UNSAFE_ENABLE_ADMIN_ENDPOINTS: "true" });
  const at = { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 };
  web = new EnvoyClient(at, {
    variant: "delta",
    node: node("web", "shop"),
    reject: (response) => (response.typeUrl === routeType ? rejectRoutes : undefined),
  });
  other = new EnvoyClient(at, { variant: "delta", node: node("api", "pay") });
  ends.push(
    () => web.close(),
    () => other.close(),
  );
  await Promise.all([web.initialized(), other.initialized()]);
  await Promise.all([web.settled(), other.settled()]);
});
afterEach(() => ends.splice(0).forEach((end) => end()));

async function debug<T>(path: string): Promise<T> {
  const response = await fetch(`${istiod.http}/debug/${path}`);
  expect(`${path}: ${response.status}`).toBe(`${path}: 200`);
  return (await response.json()) as T;
}

const status = (...args: readonly string[]): ReturnType<typeof runStatus> => runStatus(istiod, ...args);

it("reports the pushes of each change, and on how many proxies each object is live", async () => {
  expect(await status("VirtualService/shop/cart")).toEqual({
    exit: statusExits.live,
    text: "VirtualService/shop/cart: live on 1 of 1 proxy\n",
  });
  expect((await status("Service/shop/cart")).text).toBe("Service/shop/cart: live on 2 of 2 proxies\n");
  await writeFile(join(root, "vs.yaml"), virtualService("7s"));
  expect(await status("VirtualService/shop/cart", "--wait", "--timeout", "20s")).toMatchObject({
    exit: statusExits.live,
  });
  await vi.waitFor(async () => {
    const [last] = await debug<ChangeReport[]>("changes");
    expect(last).toMatchObject({
      objects: [{ kind: "VirtualService", namespace: "shop", name: "cart" }],
      objectCount: 1,
      proxies: 1,
      acks: 1,
      nackCount: 0,
      pending: 0,
    });
    expect(last?.types[routeType]).toMatchObject({ responses: 1, resources: 1 });
    expect(last?.firstAckMs).toBeGreaterThan(0);
  }, 5000);
  await vi.waitFor(
    () =>
      expect(istiod.lines).toContainEqual(
        expect.objectContaining({ msg: "change settled", objects: ["VirtualService/shop/cart"], proxies: 1, acks: 1 }),
      ),
    5000,
  );
});

it("shows a NACK with its reason and cause, and stops waiting", async () => {
  rejectRoutes = "80: no such timeout";
  await writeFile(join(root, "vs.yaml"), virtualService("9s"));
  const { exit, text } = await status("VirtualService/shop/cart", "--wait", "--timeout", "20s");
  expect(exit).toBe(statusExits.rejected);
  expect(text).toContain("VirtualService/shop/cart: live on 0 of 1 proxy, rejected by 1\n");
  expect(text).toContain("RouteConfiguration 80 rejected: no such timeout");
  expect(istiod.lines).toContainEqual(
    expect.objectContaining({
      level: "warn",
      proxy: expect.stringContaining("web.shop"),
      type: "rds",
      resources: ["80"],
      cause: ["VirtualService/shop/cart"],
    }),
  );
});

it("waits for several objects, and until a deleted object is gone from every proxy", async () => {
  expect(await status("VirtualService/shop/cart", "--for", "gone")).toMatchObject({ exit: statusExits.notLive });
  await writeFile(join(root, "vs.yaml"), virtualService("3s"));
  await writeFile(join(root, "till.yaml"), service("till", "10.1.0.3"));
  expect(await status("VirtualService/shop/cart", "Service/shop/till", "--wait", "--timeout", "20s")).toEqual({
    exit: statusExits.live,
    text: "VirtualService/shop/cart: live on 1 of 1 proxy\nService/shop/till: live on 2 of 2 proxies\n",
  });
  await rm(join(root, "vs.yaml"));
  expect(await status("VirtualService/shop/cart", "--for", "gone", "--wait", "--timeout", "20s")).toEqual({
    exit: statusExits.live,
    text: "VirtualService/shop/cart: deleted, gone from 1 of 1 proxy\n",
  });
  expect(await status("VirtualService/shop/cart")).toMatchObject({ exit: statusExits.notLive });
  expect(await status("VirtualService/shop/never", "--for", "gone")).toEqual({
    exit: statusExits.live,
    text: "VirtualService/shop/never: not found\n",
  });
  await expect(status("VirtualService/shop/cart", "--for", "ever")).rejects.toThrow(
    'invalid value "ever" for --for: expected one of live, gone',
  );
});

it("does not wait for a disconnected proxy, whatever it answered before", async () => {
  rejectRoutes = "80: no";
  await writeFile(join(root, "vs.yaml"), virtualService("9s"));
  expect(await status("VirtualService/shop/cart", "--wait", "--timeout", "20s")).toMatchObject({
    exit: statusExits.rejected,
  });
  web.close();
  await vi.waitFor(
    async () =>
      expect(await status("VirtualService/shop/cart")).toEqual({
        exit: statusExits.ineffective,
        text: "VirtualService/shop/cart: reaches none of 1 connected proxy\n",
      }),
    5000,
  );
});

it("shows rejected objects, and reports missing ones as not found", async () => {
  await writeFile(join(root, "vs.yaml"), virtualService("much"));
  const { exit, text } = await vi.waitFor(async () => {
    const found = await status("VirtualService/shop/cart");
    expect(found.exit).toBe(statusExits.rejected);
    return found;
  }, 5000);
  expect(exit).toBe(statusExits.rejected);
  expect(text).toContain("error: ");
  expect(text).toContain("http[0].timeout");
  expect(await status("VirtualService/shop/none")).toEqual({
    exit: statusExits.notLive,
    text: "VirtualService/shop/none: not found\n",
  });
  expect(await status("VirtualService/shop")).toMatchObject({ exit: statusExits.failed });
});

it("without objects, covers all changed objects: rejected, deleted, live, or none", async () => {
  expect(await status()).toEqual({
    exit: statusExits.live,
    text: "nothing changed since istiod started; name objects as KIND/NAMESPACE/NAME\n",
  });
  await writeFile(join(root, "vs.yaml"), virtualService("much"));
  await vi.waitFor(async () => expect((await status()).exit).toBe(statusExits.rejected), 5000);
  expect((await status()).text).toMatch(/^error: .*vs\.yaml:\d+: VirtualService shop\/cart: http\[0\]\.timeout: /m);
  expect(await status("Service/shop/cart")).toMatchObject({ exit: statusExits.live });
  await writeFile(join(root, "vs.yaml"), "kind: [");
  await vi.waitFor(async () => expect((await status()).text).toMatch(/^error: .*vs\.yaml:1: is not YAML: /m), 5000);
  expect((await status()).exit).toBe(statusExits.rejected);
  await writeFile(join(root, "vs.yaml"), virtualService("8s"));
  expect(await status("VirtualService/shop/cart", "--wait", "--timeout", "20s")).toMatchObject({
    exit: statusExits.live,
  });
  await vi.waitFor(
    async () =>
      expect(await status()).toEqual({
        exit: statusExits.live,
        text: "VirtualService/shop/cart: live on 1 of 1 proxy\n",
      }),
    5000,
  );
  await rm(join(root, "vs.yaml"));
  await vi.waitFor(
    async () =>
      expect(await status()).toEqual({
        exit: statusExits.live,
        text: "VirtualService/shop/cart: deleted, gone from 1 of 1 proxy\n",
      }),
    5000,
  );
});

it("gives JSON", async () => {
  const { text } = await status("VirtualService/shop/cart", "-o", "json");
  const { objects } = JSON.parse(text) as { objects: ObjectStatus[] };
  expect(objects).toEqual([
    {
      object: { kind: "VirtualService", namespace: "shop", name: "cart" },
      found: true,
      connected: 2,
      settling: 0,
      reached: 1,
      live: 1,
      rejected: 0,
      missing: [],
      findings: [],
      omitted: [],
      unread: [],
    },
  ]);
});

it("answers every debug command", async () => {
  const commands = await debug<string[]>("list");
  // The list of the reference, except for the injection webhook's templates.
  const reference = [
    "adsz",
    "adsz?push=true",
    "ambientz",
    "authorizationz",
    "cachez",
    "cachez?clear=true",
    "cachez?sizes=true",
    "clusterz",
    "config_dump",
    "configz",
    "connections",
    "ecdsz",
    "edsz",
  ];
  reference.push(
    "endpointShardz",
    "endpointz",
    "force_disconnect",
    "instancesz",
    "krtz",
    "mcsz",
    "mesh",
    "ndsz",
    "networkz",
    "push_status",
    "pushcontext",
    "registryz",
    "resourcesz",
    "sidecarz",
    "syncz",
    "telemetryz",
  );
  expect(commands).toEqual([...new Set([...reference, ...commands])].sort());
  // There is no cluster, and therefore no injection. A question about a policy names a caller and a workload.
  const statuses: Readonly<Record<string, number>> = { ambientz: 501, authz: 400, inject: 404 };
  for (const name of commands) {
    if (name === "force_disconnect") continue;
    const response = await fetch(`${istiod.http}/debug/${name}${name.includes("?") ? "&" : "?"}proxyID=web.shop`);
    await response.text();
    expect(`${name}: ${response.status}`).toBe(`${name}: ${statuses[name] ?? 200}`);
  }
  const { totalClients, clients } = await debug<{
    totalClients: number;
    clients: { metadata: object; watches: Record<string, string[]> }[];
  }>("adsz");
  expect(totalClients).toBe(2);
  expect(clients[0]?.watches[clusterType]).toContain("outbound|80||cart.shop.svc.cluster.local");
  expect(await debug<object[]>("syncz?namespace=shop")).toEqual([
    expect.objectContaining({ proxy: "web.shop", istio_version: "1.27.0", proxy_type: "sidecar" }),
  ]);
  const dump = await debug<{ configs: { "@type": string; dynamicActiveClusters?: { cluster: { name: string } }[] }[] }>(
    "config_dump?proxyID=web.shop",
  );
  expect(dump.configs[1]?.dynamicActiveClusters?.map(({ cluster }) => cluster.name)).toContain(
    "outbound|80||cart.shop.svc.cluster.local",
  );
  const typed = await debug<{ configs: { "@type": string; name: string }[] }>(
    "config_dump?proxyID=web.shop&types=lds,rds",
  );
  expect([...new Set(typed.configs.map((config) => config["@type"]))]).toEqual([listenerType, routeType]);
  expect(typed.configs).toContainEqual(expect.objectContaining({ "@type": routeType, name: "80" }));
  expect((await debug<{ configs: object[] }>("edsz?proxyID=web.shop")).configs).toContainEqual(
    expect.objectContaining({ "@type": endpointType, clusterName: "outbound|80||cart.shop.svc.cluster.local" }),
  );
  expect((await debug<{ totalClients: number }>("adsz?proxyID=web.shop")).totalClients).toBe(1);
  expect(await debug<Record<string, object>>("endpointShardz")).toMatchObject({
    "cart.shop.svc.cluster.local": {
      shop: {
        Shards: { "Kubernetes/Kubernetes": [{ Addresses: ["10.0.1.1"], EndpointPort: 8080 }] },
        ServiceAccounts: {},
      },
    },
  });
  expect(await debug<object[]>("configz")).toMatchObject([
    {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "cart" },
      spec: { hosts: ["cart.shop.svc.cluster.local"] },
    },
  ]);
  expect(await debug<object>("sidecarz?proxyID=web.shop")).toMatchObject({
    services: [{ hostname: "cart.shop.svc.cluster.local" }],
    egress: [{ virtualServices: ["shop/cart"] }],
    outboundTrafficPolicy: { mode: "ALLOW_ANY" },
  });
  expect(await debug<object>("mesh")).toMatchObject({ rootNamespace: "istio-system" });
  const cached = await debug<Record<string, string[]>>("cachez");
  expect(cached[endpointType]).toEqual(["outbound|80||cart.shop.svc.cluster.local"]);
  expect(await debug<object>("cachez?sizes=true")).toMatchObject({
    [endpointType]: expect.stringMatching(/^\d+B$/) as string,
    total: expect.stringMatching(/^[\d.]+kB$/) as string,
  });
  expect(await debug<object>("cachez?stats=true")).toMatchObject({
    revision: 1,
    recomputations: expect.any(Number) as number,
  });
  expect(await debug<object[]>("resourcesz")).toContainEqual({
    group: "networking.istio.io",
    version: "v1",
    kind: "VirtualService",
  });
  expect(await debug<object>("pushcontext")).toMatchObject({ NetworkGateways: [], UnresolvedGateways: [] });
  expect((await debug<{ totalClients: number }>("adsz?proxyID=~web.sh")).totalClients).toBe(1);
});

it("tells at push_status what is wrong with what proxies have, and whose it is", async () => {
  expect(await debug<object>("push_status")).toMatchObject({ pilot_no_ip: expect.any(Object) as object });
  await writeFile(join(root, "empty.yaml"), service("till", "10.1.0.2").split("---")[0] ?? "");
  await vi.waitFor(async () => {
    const found = await debug<Record<string, Record<string, { proxy?: string }>>>("push_status");
    expect(Object.keys(found["pilot_eds_no_instances"] ?? {})).toEqual(["outbound|80||till.shop.svc.cluster.local"]);
    expect(found["pilot_eds_no_instances"]?.["outbound|80||till.shop.svc.cluster.local"]?.proxy).toMatch(/^sidecar~/);
  }, 5000);
});

it("logs each change with its objects and reasons, and each response with what it was and why", async () => {
  await writeFile(join(root, "vs.yaml"), virtualService("4s"));
  await vi.waitFor(() => expect(istiod.lines).toContainEqual(expect.objectContaining({ msg: "change settled" })), 5000);
  expect(istiod.lines).toContainEqual(
    expect.objectContaining({
      level: "info",
      msg: "changed",
      objects: ["VirtualService/shop/cart"],
      reasons: { config: 1 },
    }),
  );
  const pushes = istiod.lines.filter(({ msg }) => msg === "xds push");
  expect(pushes.length).toBeGreaterThan(4);
  expect(pushes).toContainEqual(
    expect.objectContaining({
      level: "debug",
      type: "RDS",
      reason: "change",
      node: node("web", "shop").id,
      resources: 1,
      size: expect.any(Number) as number,
      cause: ["VirtualService/shop/cart"],
    }),
  );
  expect(pushes).toContainEqual(
    expect.objectContaining({ type: "CDS", reason: "request", node: node("api", "pay").id }),
  );
});

it("says what is wrong with a question, pushes and disconnects when told to, and profiles", async () => {
  const answer = async (path: string): Promise<string> => {
    const response = await fetch(`${istiod.http}/debug/${path}`);
    return `${response.status} ${(await response.text()).trim().slice(0, 60)}`;
  };
  expect(await answer("config_dump")).toBe("400 You must provide a proxyID in the query string");
  expect(await answer("edsz?proxyID=none.such")).toMatch(/^404 Proxy not connected to this Pilot instance/);
  expect(await answer("config_dump?proxyID=web.shop&types=xyz")).toBe("400 types: unknown type xyz");
  expect(await answer("adsz?push=true")).toBe("200 Pushed to 2 servers");
  expect(await answer("pprof/profile?seconds=0.1")).toMatch(/^200 \{"nodes":/);
  expect(await answer("pprof/heap?seconds=0.1")).toMatch(/^200 \{"head":/);
  expect(await answer("pprof/trace")).toMatch(/^501 /);
  expect(await answer("force_disconnect?proxyID=api.pay")).toBe("200 OK");
});
