import { type ApiClient, createApiClient, Reflector } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { RecordingHandler } from "./support/recording-handler.js";

const until = { timeout: 20_000, interval: 10 };
const path = "/api/v1/namespaces/shop/configmaps";

async function write(client: ApiClient, name: string, value: string): Promise<void> {
  const body = JSON.stringify({ metadata: { name }, data: { value } });
  await client.json({ method: "POST", path, body });
}

async function remove(client: ApiClient, name: string): Promise<void> {
  await client.json({ method: "DELETE", path: `${path}/${name}` });
}

test("the objects equal the server's after resets, expired versions and refused requests", async () => {
  const server = await startApiServer({ bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  const access = {
    cluster: { name: "test", server: server.url, skipTLSVerify: false },
    user: { name: "admin", token: server.tokens.admin },
  };
  const client = createApiClient(access);
  onTestFinished(() => client.close());
  await client.json({
    method: "POST",
    path: "/api/v1/namespaces",
    body: JSON.stringify({ metadata: { name: "shop" } }),
  });
  await write(client, "a", "1");
  await write(client, "b", "1");
  const handler = new RecordingHandler();
  const reflector = new Reflector({
    client,
    resource: { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true },
    namespace: "shop",
    fields: { fields: { data: true } },
    handler,
    random: () => 0,
  });
  onTestFinished(() => reflector.stop());
  reflector.start();
  const valuesAre = (expected: Record<string, string>) =>
    vi.waitFor(() => {
      const values = [...handler.objects].map(([key, { data }]) => [key, (data as { value: string }).value]);
      expect(Object.fromEntries(values)).toEqual(expected);
      expect(reflector.state).toEqual({ phase: "synced" });
    }, until);
  await valuesAre({ "shop/a": "1", "shop/b": "1" });

  await server.faults.dropConnections("reset", { watch: true });
  await write(client, "c", "1");
  await valuesAre({ "shop/a": "1", "shop/b": "1", "shop/c": "1" });

  handler.log.length = 0;
  await server.faults.failRequests({ status: 503, times: 2, pathPrefix: path, method: "GET" });
  await server.faults.expireWatches();
  await remove(client, "a");
  await remove(client, "b");
  await write(client, "b", "2");
  await valuesAre({ "shop/b": "2", "shop/c": "1" });
  const changes = handler.log.filter((line) => /^[+-]/.test(line)).map((line) => line.replace(/@.*/, ""));
  expect(changes.sort()).toEqual(["+shop/b", "-shop/a", "-shop/b"]);
});
