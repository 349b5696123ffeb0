import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { statusExits } from "@istiod/replicas";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { afterEach, expect, test, vi } from "vitest";
import { folder, serve } from "./serving.js";
import { runStatus } from "./status-command.js";

const cart = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.1.0.1, ports: [{name: http, port: 80}]}
`;
const virtualService = (name: string, namespace: string, http: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  hosts: [cart.shop.svc.cluster.local]
  exportTo: ["."]
  http: ${http}
`;
const toCart = "[{route: [{destination: {host: cart.shop.svc.cluster.local}}]}]";
const delegating =
  "[{match: [{uri: {prefix: /a}}], delegate: {name: part}}, {route: [{destination: {host: cart.shop.svc.cluster.local}}]}]";
const part = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: part, namespace: shop}
spec: {http: [{route: [{destination: {host: cart.shop.svc.cluster.local}}]}]}
`;

const ends: (() => unknown)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

/** A proxy of the namespace shop. */
async function connect(istiod: Awaited<ReturnType<typeof serve>>): Promise<EnvoyClient> {
  const metadata = { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: "web" } };
  const node = create(NodeSchema, { id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local", metadata });
  const proxy = new EnvoyClient(
    { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 },
    { variant: "delta", node },
  );
  ends.push(() => proxy.close());
  await proxy.initialized();
  await proxy.settled();
  return proxy;
}

/** An istiod that serves these files to one proxy. */
async function serving(files: Readonly<Record<string, string>>, proxies = 1) {
  const root = await folder(files);
  const istiod = await serve({ configDir: root });
  if (proxies > 0) await connect(istiod);
  const status = (...args: readonly string[]): ReturnType<typeof runStatus> => runStatus(istiod, ...args);
  return { root, istiod, status };
}

test.each([
  [
    "ProxyConfig/shop/a",
    "{concurrency: 1}",
    "networking.istio.io/v1beta1",
    "sidecars are injected only by an istiod that is connected to a cluster; set its fields in PROXY_CONFIG of each agent",
  ],
  ["UDPRoute/shop/a", "{rules: []}", "gateway.networking.k8s.io/v1", "Istio does not route UDP"],
])(
  "an accepted object that nothing reads has no effect, with the reason, and is not waited for: %s",
  async (name, spec, apiVersion, reason) => {
    const [kind] = name.split("/");
    const { root, status } = await serving({
      "cart.yaml": cart,
      "a.yaml": `\napiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a, namespace: shop}\nspec: ${spec}\n`,
    });
    const { exit, text } = await status(name, "--wait", "--timeout", "10m");
    expect(exit).toBe(statusExits.ineffective);
    expect(text.split("\n")).toEqual([
      `${name}: has no effect: ${reason}`,
      expect.stringMatching(
        new RegExp(`^  Warning \\[MESH0002\\] \\(${kind} shop/a ${join(root, "a.yaml")}:3\\) .*${reason}`),
      ) as string,
      "",
    ]);
  },
);

test("objects of kinds that only analysis reads, and objects in undiscovered namespaces, have no effect", async () => {
  const deployment =
    "\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: cart, namespace: shop}, spec: {template: {metadata: {labels: {app: cart}}}}}";
  const root = await folder({
    "mesh/cart.yaml": cart + deployment,
    "mesh.yaml": "discoverySelectors: [{matchLabels: {mesh: 'on'}}]",
  });
  const istiod = await serve({ configDir: join(root, "mesh"), meshConfig: join(root, "mesh.yaml") });
  expect(await runStatus(istiod, "Deployment/shop/cart")).toMatchObject({
    exit: statusExits.ineffective,
    text: expect.stringMatching(/^Deployment\/shop\/cart: has no effect: /) as string,
  });
  expect(await runStatus(istiod, "Service/shop/cart", "--wait", "--timeout", "10m")).toEqual({
    exit: statusExits.ineffective,
    text: "Service/shop/cart: has no effect: no discoverySelector of the mesh configuration selects namespace shop of cluster Kubernetes\n",
  });
});

test("an object that affects none of the connected proxies is not live, and not waited for", async () => {
  const { root, status } = await serving({ "cart.yaml": cart, "vs.yaml": virtualService("cart", "lost", toCart) });
  const none = { exit: statusExits.ineffective, text: "VirtualService/lost/cart: reaches none of 1 connected proxy\n" };
  expect(await status("VirtualService/lost/cart", "--wait", "--timeout", "10m")).toEqual(none);
  expect(await status("VirtualService/lost/cart", "Service/shop/cart")).toMatchObject({
    exit: statusExits.ineffective,
  });
  expect(await status("VirtualService/lost/cart", "--for", "gone")).toMatchObject({ exit: statusExits.notLive });
  await rm(join(root, "vs.yaml"));
  await vi.waitFor(
    async () =>
      expect(await status("VirtualService/lost/cart", "--for", "gone")).toMatchObject({ exit: statusExits.live }),
    5000,
  );
});

test("parts of an object that a proxy lacks because of another object are named, with the proxy", async () => {
  const database = `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: 10.1.0.2, ports: [{name: tls, port: 443}]}
`;
  const tls = (name: string, created: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: shop, creationTimestamp: "${created}"}
spec:
  hosts: [db.shop.svc.cluster.local]
  tls: [{match: [{port: 443, sniHosts: [db.shop.svc.cluster.local]}], route: [{destination: {host: db.shop.svc.cluster.local}}]}]
`;
  const { status } = await serving({
    "db.yaml": database,
    "old.yaml": tls("old", "2026-01-01T00:00:00Z"),
    "new.yaml": tls("new", "2026-01-02T00:00:00Z"),
  });
  const { text } = await status("VirtualService/shop/new", "VirtualService/shop/old");
  const lines = text.split("\n").filter((line) => line.includes("overridden by"));
  expect(lines).toEqual([
    expect.stringMatching(
      /^ {2}spec\.tls\[0\].* is overridden by VirtualService shop\/old spec\.tls\[0\].* \(1 proxy, such as sidecar~10\.0\.0\.9~web\.shop~shop\.svc\.cluster\.local\)$/,
    ) as string,
  ]);
  expect(text).toMatch(/^VirtualService\/shop\/new: reaches none of 1 connected proxy\n {2}spec\.tls/);
});

test("without connected proxies an object is not live yet, and the command waits for a proxy", async () => {
  const { istiod, status } = await serving({ "cart.yaml": cart, "vs.yaml": virtualService("cart", "shop", toCart) }, 0);
  const name = "VirtualService/shop/cart";
  expect(await status(name)).toEqual({ exit: statusExits.notLive, text: `${name}: no proxy is connected\n` });
  expect(await status(name, "--wait", "--timeout", "10ms")).toMatchObject({ exit: statusExits.notLive });
  const waited = status(name, "--wait", "--timeout", "20s");
  await connect(istiod);
  expect(await waited).toEqual({ exit: statusExits.live, text: `${name}: live on 1 of 1 proxy\n` });
});

test("an analysis error about an object counts for the exit status, a warning does not; both are printed with file and line", async () => {
  const { root, status } = await serving({
    "cart.yaml": cart,
    "part.yaml": part,
    "vs.yaml": virtualService("cart", "shop", delegating),
  });
  const name = "VirtualService/shop/cart";
  expect(await status(name)).toEqual({ exit: statusExits.live, text: `${name}: live on 1 of 1 proxy\n` });
  await writeFile(join(root, "vs.yaml"), virtualService("cart", "shop", delegating.replace("part", "parts")));
  const led = await vi.waitFor(async () => {
    const found = await status(name, "--wait", "--timeout", "10m");
    expect(found.exit).toBe(statusExits.ineffective);
    return found;
  }, 5000);
  expect(led.text).toMatch(/^VirtualService\/shop\/cart: has errors, though acknowledged by \d of 1 proxy\n/);
  expect(led.text).toContain(`  Error [MESH0006] (${name.replace("/", " ")} ${join(root, "vs.yaml")}:8) `);
  const { text } = await status(name, "-o", "json");
  expect((JSON.parse(text) as { objects: unknown }).objects).toMatchObject([
    { findings: [{ code: "MESH0006", level: "Error", reference: `${join(root, "vs.yaml")}:8` }] },
  ]);

  const unread = `${toCart}\n  tcp: [{match: [{port: 9000, sourceSubnet: 10.0.0.0/8}], route: [{destination: {host: cart.shop.svc.cluster.local, port: {number: 80}}}]}]`;
  await writeFile(join(root, "vs.yaml"), virtualService("cart", "shop", unread));
  const warned = await vi.waitFor(async () => {
    const found = await status(name, "--wait", "--timeout", "10s");
    expect(found.exit).toBe(statusExits.live);
    return found;
  }, 5000);
  expect(warned.text).toContain(`${name}: live on 1 of 1 proxy\n`);
  expect(warned.text).toContain(`  Warning [MESH0003] (${name.replace("/", " ")} ${join(root, "vs.yaml")}:9) `);
});

test("without objects, prints new findings about other objects, and counts errors among them", async () => {
  const { root, status } = await serving({
    "cart.yaml": cart,
    "part.yaml": part,
    "vs.yaml": virtualService("cart", "shop", delegating),
  });
  expect(await status()).toMatchObject({
    exit: statusExits.live,
    text: expect.stringMatching(/^nothing changed since istiod started/) as string,
  });
  await rm(join(root, "part.yaml"));
  const led = await vi.waitFor(async () => {
    const found = await status();
    expect(found.exit).toBe(statusExits.ineffective);
    return found;
  }, 5000);
  expect(led.text).toMatch(/^VirtualService\/shop\/part: deleted, gone from /);
  expect(led.text).toContain(`\nError [MESH0006] (VirtualService shop/cart ${join(root, "vs.yaml")}:8) `);
  await writeFile(join(root, "part.yaml"), part);
  await vi.waitFor(async () => expect((await status("--wait")).text).not.toContain("MESH0006"), 5000);
});

test("without objects, a supporting object that affects no proxy is not a failure; by name it is without effect", async () => {
  const { root, status } = await serving({ "cart.yaml": cart });
  await writeFile(
    join(root, "account.yaml"),
    "{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}",
  );
  const text = "ServiceAccount/shop/web: reaches none of 1 connected proxy\n";
  await vi.waitFor(async () => expect(await status()).toEqual({ exit: statusExits.live, text }), 5000);
  expect(await status("ServiceAccount/shop/web")).toEqual({ exit: statusExits.ineffective, text });
  await writeFile(join(root, "lost.yaml"), virtualService("cart", "lost", toCart));
  await vi.waitFor(
    async () =>
      expect(await status()).toMatchObject({
        exit: statusExits.ineffective,
        text: expect.stringMatching(/VirtualService\/lost\/cart: reaches none/) as string,
      }),
    5000,
  );
});

test("a route to a subset that some of its clients do not have is not live", async () => {
  const pod = (namespace: string): string =>
    `\n---\n{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: ${namespace}}, spec: {containers: [{name: app, image: app}, {name: istio-proxy, image: proxyv2}]}}`;
  const rule = (exportTo: string): string => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec: {host: cart.shop.svc.cluster.local, exportTo: ${exportTo}, subsets: [{name: v1, labels: {app: web}}]}
`;
  const route = virtualService("cart", "shop", toCart.replace("local}", "local, subset: v1}")).replace(
    '["."]',
    '["*"]',
  );
  const { root, status } = await serving({
    "cart.yaml": cart + pod("shop") + pod("bank"),
    "dr.yaml": rule('["."]'),
    "vs.yaml": route,
  });
  const name = "VirtualService/shop/cart";
  const { exit, text } = await status(name, "--wait", "--timeout", "10m");
  expect(exit).toBe(statusExits.ineffective);
  expect(text).toMatch(
    /^VirtualService\/shop\/cart: has errors, though acknowledged by \d of 1 proxy\n {2}Error \[MESH0024\]/,
  );
  expect(text).toContain("sidecars of namespace bank do not have");
  await writeFile(join(root, "dr.yaml"), rule("[]"));
  await vi.waitFor(async () => expect((await status(name)).exit).toBe(statusExits.live), 5000);
});
