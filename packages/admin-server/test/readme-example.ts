import { equal } from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createAdminServer, crossSiteReason, mayChangeState } from "@istiod/admin-server";

let restarts = 0;

const server = createAdminServer((request, response) => {
  const reason = crossSiteReason(request);
  if (reason !== undefined) response.writeHead(403).end(reason);
  else if (request.url === "/restart" && !mayChangeState(request)) response.writeHead(405, { allow: "POST" }).end();
  else response.writeHead(200).end(String(request.url === "/restart" ? ++restarts : restarts));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

equal(await (await fetch(`${url}/restart`, { method: "POST" })).text(), "1");
equal((await fetch(`${url}/restart`, { headers: { origin: "http://example.com" } })).status, 403);
server.close();
server.closeAllConnections();
