import { maxPendingConnections, pendingConnections } from "@istiod/runtime/testing";
import { expect, it } from "vitest";
import { HttpServer } from "@istiod/admin-server";

it("a thousand clients connect to an HTTP port while the event loop is busy", async (context) => {
  if (maxPendingConnections() < 1024) context.skip("net.core.somaxconn is below 1024");
  const site = { routes: new Map(), guard: () => undefined };
  const server = await HttpServer.listen({ host: "127.0.0.1", port: 0 }, site);
  expect(await pendingConnections(server.address, 1000)).toBe(1000);
  await server.close();
});
