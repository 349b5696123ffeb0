import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { Traffic } from "../src/data-plane/traffic.js";

const timeout = 60_000;
const peer = "spiffe://cluster.local/ns/shop/sa/client";

test("requests without an answer do not open more and more connections, and are seen before they fail", async () => {
  const answers: (() => void)[] = [];
  let connections = 0;
  const server = createServer((_, response) => void answers.push(() => response.end(peer)));
  server.on("connection", () => connections++).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const traffic = new Traffic({ requestsPerSecond: 1000, host: "cart", port, peer });
  onTestFinished(async () => {
    await traffic.close();
    server.closeAllConnections();
    server.close();
  });
  await traffic.use(["127.0.0.1"]);
  // A thousand a second: by then, more requests wait than connections are allowed.
  await vi.waitFor(async () => expect((await traffic.take()).longest).toBeGreaterThan(500), { timeout });
  await vi.waitFor(() => expect(answers).toHaveLength(64), { timeout });
  expect(connections).toBe(64);
  for (const answer of answers.splice(0)) answer();
  await vi.waitFor(async () => expect((await traffic.take()).succeeded).toBeGreaterThan(0), { timeout });
});
