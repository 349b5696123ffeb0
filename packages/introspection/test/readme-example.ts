import { deepEqual, equal } from "node:assert/strict";
import { AnswerQueue, HttpServer } from "@istiod/admin-server";
import { type DebugCommand, DebugAccess, debugAuthorization, debugRoutes, listCommand } from "@istiod/introspection";

const authorization = { rootNamespace: () => "istio-system", isRequired: true, allowedNamespaces: [] };
const authorize = debugAuthorization(authorization);
deepEqual(authorize("http", { kind: "authenticated", namespace: "istio-system" }, "syncz"), {
  allowed: true,
  namespace: undefined,
});
deepEqual(authorize("http", { kind: "authenticated", namespace: "shop" }, "config_dump"), {
  allowed: true,
  namespace: "shop",
});
deepEqual(authorize("http", { kind: "authenticated", namespace: "shop" }, "syncz"), {
  allowed: false,
  reason: "namespace",
});

const revision: DebugCommand = { name: "revision", about: "The revision", answer: () => ({ json: "default" }) };
const access = new DebugAccess({ ...authorization, authenticators: () => [], trustDomain: "cluster.local" });
const commands = [revision, listCommand([revision])];
const server = await HttpServer.listen(
  { host: "127.0.0.1", port: 0 },
  {
    routes: debugRoutes(commands, new AnswerQueue(), (request) => access.namespaceOf(request)),
    guard: (request, path) => access.guard(request, path),
  },
);
const url = `http://127.0.0.1:${server.address.port}/debug/revision`;
equal(await (await fetch(url)).json(), "default");
equal((await fetch(url, { headers: { origin: "http://example.com" } })).status, 403);
await server.close();
