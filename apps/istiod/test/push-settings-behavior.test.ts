import { appendFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import type { ChangeReport } from "@istiod/push-report";
import { clusterType, endpointType, routeType } from "@istiod/xds-server";
import { expect, it, vi } from "vitest";
import { client, decoded, folder, serve } from "./serving.js";
import { scrape } from "@istiod/prometheus/testing";

const cart = "outbound|80||cart.shop.svc.cluster.local";
const service = `{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.1.0.1, ports: [{name: http, port: 80, targetPort: 8080}]}}`;
const slice = (address: string): string =>
  `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, endpoints: [{addresses: [${address}]}], ports: [{name: http, port: 8080}]}`;
const virtualService = (timeout: string): string =>
  `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: cart, namespace: shop}, spec: {hosts: [cart.shop.svc.cluster.local], http: [{timeout: ${timeout}, route: [{destination: {host: cart}}]}]}}`;
const node = (name: string): string => `sidecar~10.0.0.9~${name}.shop~shop.svc.cluster.local`;
const files = { "cart.yaml": service, "slice.yaml": slice("10.0.1.1"), "vs.yaml": virtualService("1s") };

async function connected(istiod: Awaited<ReturnType<typeof serve>>, name: string): Promise<ReturnType<typeof client>> {
  const proxy = client(istiod, "delta", node(name));
  for (const [type, names] of [
    [clusterType, []],
    [endpointType, [cart]],
    [routeType, ["80"]],
  ] as const) {
    proxy.subscribe(type, names);
    await proxy.accept(type);
  }
  await proxy.settled();
  return proxy;
}

const changes = async ({ http }: Awaited<ReturnType<typeof serve>>): Promise<readonly ChangeReport[]> =>
  (await (await fetch(`${http}/debug/changes`)).json()) as ChangeReport[];

it("commits a burst once it is quiet for PILOT_DEBOUNCE_AFTER, and one that goes on after PILOT_DEBOUNCE_MAX", async () => {
  const root = await folder(files);
  const istiod = await serve({ configDir: root }, { PILOT_DEBOUNCE_AFTER: "600ms", PILOT_DEBOUNCE_MAX: "1500ms" });
  const proxy = await connected(istiod, "web");
  for (let i = 2; i <= 5; i++) await writeFile(join(root, "vs.yaml"), virtualService(`${i}s`));
  await proxy.accept(routeType);
  expect(await changes(istiod)).toHaveLength(1);
  let pushed = false;
  void proxy.next(routeType).then(() => (pushed = true));
  let writes = 0;
  // Never quiet for 600 ms. The bound is there to end a test that fails.
  for (; writes < 400 && !pushed; writes++) {
    await writeFile(join(root, "vs.yaml"), virtualService(`${100 + writes}s`));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(pushed).toBe(true);
  expect(writes).toBeGreaterThan(1);
  expect(await changes(istiod)).toHaveLength(2);
});

it("serves nothing while the directory is being filled: no cluster without its endpoints", async () => {
  const root = await folder({});
  const names = Array.from({ length: 40 }, (_, i) => `s${i}`);
  const filled = (async () => {
    for (const name of names)
      await writeFile(join(root, `a-${name}.yaml`), service.replace("name: cart", `name: ${name}`));
    // As who copies a directory does: a big file takes its time, and is there in part before it is whole.
    const slices = names
      .map((name, i) =>
        slice(`10.0.1.${i + 1}`)
          .replace("cart-1", `${name}-1`)
          .replace("service-name: cart", `service-name: ${name}`),
      )
      .join("\n---\n");
    for (let at = 0; at < slices.length; at += 1000) {
      await appendFile(join(root, "slices.yaml"), slices.slice(at, at + 1000));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await vi.waitFor(async () => expect((await readdir(root)).length).toBeGreaterThan(20));
  const istiod = await serve({ configDir: root }, { PILOT_DEBOUNCE_AFTER: "200ms" });
  const proxy = client(istiod, "delta", node("web"));
  const clusters = names.map((name) => cart.replace("cart", name));
  proxy.subscribe(endpointType, clusters);
  const first = decoded(ClusterLoadAssignmentSchema, await proxy.accept(endpointType));
  expect(first.filter(({ endpoints }) => endpoints.length === 0).map(({ clusterName }) => clusterName)).toEqual([]);
  expect(first).toHaveLength(names.length);
  await filled;
});

it("lets endpoints not wait where PILOT_ENABLE_EDS_DEBOUNCE is false, and all else wait", async () => {
  const root = await folder(files);
  const istiod = await serve(
    { configDir: root },
    { PILOT_DEBOUNCE_AFTER: "1h", PILOT_DEBOUNCE_MAX: "2h", PILOT_ENABLE_EDS_DEBOUNCE: "false" },
  );
  const proxy = await connected(istiod, "web");
  await writeFile(join(root, "slice.yaml"), slice("10.0.1.2"));
  expect((await proxy.accept(endpointType)).names).toEqual([cart]);
  await writeFile(join(root, "vs.yaml"), virtualService("7s"));
  await vi.waitFor(
    async () =>
      expect((await scrape(istiod)).value("pilot_worker_queue_depth", { queueID: "sources" }) ?? 0).toBeGreaterThan(0),
    10_000,
  );
  expect((await proxy.settled()).filter(({ typeUrl }) => typeUrl === routeType)).toEqual([]);
  expect((await changes(istiod)).map(({ objects }) => objects.map(({ kind }) => kind))).toEqual([["EndpointSlice"]]);
});

it("admits PILOT_MAX_REQUESTS_PER_SECOND streams per second, and rejects those that would wait longer than a second", async () => {
  const istiod = await serve({ configDir: await folder(files) }, { PILOT_MAX_REQUESTS_PER_SECOND: "2" });
  const proxies = Array.from({ length: 8 }, (_, i) => client(istiod, "delta", node(`web-${i}`)));
  const outcomes = await Promise.all(
    proxies.map((proxy) => {
      proxy.subscribe(clusterType);
      return Promise.race([
        proxy.next(clusterType).then(
          () => "served",
          () => undefined as never,
        ),
        proxy.ended.then((error) => Code[error?.code ?? Code.Unknown]),
      ]);
    }),
  );
  const served = outcomes.filter((outcome) => outcome === "served").length;
  expect(served).toBeGreaterThanOrEqual(2);
  expect(served).toBeLessThan(8);
  expect(
    outcomes
      .filter((outcome) => outcome !== undefined && outcome !== "served")
      .every((outcome) => outcome === "ResourceExhausted"),
  ).toBe(true);
});

it(
  "has a connection end at its age (--keepaliveMaxServerConnectionAge), with a status that says so",
  { timeout: 20_000 },
  async () => {
    const istiod = await serve({ configDir: await folder(files), keepaliveMaxServerConnectionAge: 100 });
    const proxy = await connected(istiod, "web");
    expect(await proxy.ended).toMatchObject({
      code: Code.Unavailable,
      rawMessage: "max connection age reached, closing stream",
    });
  },
);

it("rejects a request that is larger than ISTIO_GPRC_MAXRECVMSGSIZE", async () => {
  const istiod = await serve({ configDir: await folder(files) }, { ISTIO_GPRC_MAXRECVMSGSIZE: "1000" });
  const proxy = client(istiod, "delta", node("web"));
  proxy.subscribe(
    endpointType,
    Array.from({ length: 100 }, (_, i) => `a name that is not short ${i}`),
  );
  expect((await proxy.ended)?.code).toBe(Code.ResourceExhausted);
});

it("closes streams one after the other on shutdown, and rejects new ones", async () => {
  const istiod = await serve({ configDir: await folder(files), shutdownDuration: 2000 });
  const proxies = await Promise.all(Array.from({ length: 6 }, (_, i) => connected(istiod, `web-${i}`)));
  let open = proxies.length;
  const ends = proxies.map(async ({ ended }) => {
    const error = await ended;
    open--;
    return error?.code;
  });
  const openAtFirstEnd = Promise.race(ends).then(() => open);
  const closing = istiod.close();
  const late = client(istiod, "delta", node("late"));
  late.subscribe(clusterType);
  expect((await late.ended)?.code).toBe(Code.Unavailable);
  await closing;
  expect(await Promise.all(ends)).toEqual(proxies.map(() => Code.Unavailable));
  expect(await openAtFirstEnd).toBeGreaterThan(0);
});

it("pushes a change to all proxies although one does not read, with one concurrent push (PILOT_PUSH_THROTTLE)", async () => {
  const bulk = Array.from({ length: 3000 }, (_, i) =>
    service.replace("name: cart", `name: s${i}`).replace("10.1.0.1", `10.2.${i >> 8}.${i & 255}`),
  ).join("\n---\n");
  const root = await folder({ ...files, "bulk.yaml": bulk });
  const istiod = await serve({ configDir: root }, { PILOT_PUSH_THROTTLE: "1" });
  const stuck = client(istiod, "delta", node("stuck"));
  stuck.pause(true);
  stuck.subscribe(clusterType);
  await vi.waitFor(
    async () =>
      expect(
        ((await (await fetch(`${istiod.http}/debug/connections`)).json()) as { totalClients: number }).totalClients,
      ).toBe(1),
    10_000,
  );
  const quick = await connected(istiod, "quick");
  for (const timeout of ["8s", "9s"]) {
    await writeFile(join(root, "vs.yaml"), virtualService(timeout));
    expect((await quick.accept(routeType)).names).toEqual(["80"]);
  }
  stuck.pause(false);
  expect((await stuck.next(clusterType)).names.length).toBeGreaterThan(3000);
});
