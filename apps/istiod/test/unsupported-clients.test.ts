import { create } from "@bufbuild/protobuf";
import { proxyStatusCommand, statusCommand, type StatusOutput } from "@istiod/commands";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { listenerType } from "@istiod/xds-server";
import { expect, test, vi } from "vitest";
import { client, folder, serve } from "./serving.js";
import { offlineMeshes } from "../src/offline-mesh.js";

const until = { timeout: 30_000, interval: 20 };
const mesh = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n";

const clients = {
  ztunnel: {
    node: create(NodeSchema, { id: "ztunnel~10.0.0.2~ztunnel-1.istio-system~istio-system.svc.cluster.local" }),
    words: "ztunnels of ambient mode are not supported yet: they get no workloads and policies",
  },
  waypoint: {
    node: create(NodeSchema, { id: "waypoint~10.0.0.3~waypoint-1.shop~shop.svc.cluster.local" }),
    words: "waypoints of ambient mode are not supported yet: no traffic of a service is sent through them",
  },
} as const;

/** Runs a command on a running istiod. */
async function run(
  command: (output: StatusOutput) => ReturnType<typeof statusCommand>,
  ...args: readonly string[]
): Promise<{ readonly out: string; readonly warned: string; readonly status: number }> {
  const result = { out: "", warned: "", status: 0 };
  await command({
    print: (text) => (result.out += text),
    warn: (text) => (result.warned += text),
    exit: (status) => (result.status = status),
  }).parseAsync([...args], { from: "user" });
  return result;
}

test.for(Object.entries(clients))(
  "a %s client is said in the log, on the status page, on its own page and by the metric and commands",
  { timeout: 60_000 },
  async ([kind, { node, words }]) => {
    const directory = await folder({ "mesh/mesh.yaml": mesh });
    const istiod = await serve({ configDir: `${directory}/mesh` });
    const connected = client(istiod, "sotw", node);
    connected.subscribe(listenerType);
    client(istiod, "delta", "sidecar~10.0.0.9~good-1.shop~shop.svc.cluster.local").subscribe(listenerType);
    const logged = () => istiod.lines.filter(({ level, msg }) => level === "warn" && msg === words);
    await vi.waitFor(() => expect(logged()).toHaveLength(1), until);
    const get = async (path: string): Promise<string> => (await fetch(`${istiod.http}${path}`)).text();
    const page = async () =>
      JSON.parse(await get("/?format=json")) as {
        attention: { text: string }[];
        proxies: { name: string; state: string; unsupported?: string; href: string }[];
      };
    await vi.waitFor(async () => expect((await page()).proxies).toHaveLength(2), until);
    const { attention, proxies } = await page();
    expect(attention.map(({ text }) => text)).toContain("1 client is not supported, and gets no configuration");
    const [name = ""] = node.id.split("~").slice(2);
    const found = proxies.find((proxy) => proxy.name === name);
    expect(found).toMatchObject({ state: "unsupported", unsupported: words });
    expect(proxies.find((proxy) => proxy.name === "good-1.shop")).not.toHaveProperty("unsupported");
    expect(await get(`/${found?.href}`)).toContain(words);
    const metrics = await get("/metrics");
    expect(metrics).toContain(`istiod_unsupported_clients{kind="${kind}"} 1\n`);
    expect(metrics.match(/^istiod_unsupported_clients\{.*\} 0$/gm)).toHaveLength(2);
    const said = `${node.id} is not served: ${words}\n`;
    const table = await run(proxyStatusCommand, "--istiod", istiod.http);
    expect(table.out).toContain("good-1.shop");
    expect([table.warned, table.status]).toEqual([said, 0]);
    const other = await run(proxyStatusCommand, "--istiod", istiod.http, "-n", "other");
    expect(other.warned).toBe("");
    const status = await run(
      (output) => statusCommand(offlineMeshes({}), output),
      "Service/shop/cart",
      "--istiod",
      istiod.http,
    );
    expect(status.out).toContain(`\n${said}`);
    expect(status.out).not.toContain("good-1.shop~shop.svc.cluster.local is not served");
  },
);
