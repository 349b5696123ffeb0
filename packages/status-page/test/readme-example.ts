import { equal, match } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { respond, type StatusModel } from "@istiod/status-page";

const status = (): StatusModel => ({
  at: Date.now(),
  instance: {
    name: "istiod-0",
    version: "0.1.0",
    revision: "default",
    cluster: "Kubernetes",
    namespace: "istio-system",
    startedAt: Date.now() - 5000,
    configRevision: 7,
    waitingFor: [],
  },
  sources: [{ name: "Cluster Kubernetes", location: "./mesh", state: "current", reasons: [] }],
  proxies: [
    {
      id: "web-1",
      name: "web.shop",
      kind: "sidecar",
      version: "1.27.0",
      connectedAt: Date.now(),
      pushPending: false,
      types: [{ type: "CDS", state: "synced" }],
    },
  ],
  changes: [],
  problems: [
    {
      severity: "error",
      file: "mesh/web.yaml",
      line: 3,
      object: "Service shop/web",
      field: "spec.ports",
      message: "is empty",
    },
  ],
  certificates: [],
  objects: [{ kind: "Service", group: "", count: 1 }],
  pages: [],
  documentation: [],
});
const server = createServer(async (request, response) => {
  const { method = "", headers, url = "/" } = request;
  const answer = await respond(
    { method, query: new URL(url, "http://page").searchParams, accept: headers.accept ?? "" },
    status,
  );
  response.writeHead(answer.status, answer.headers).end(answer.body);
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));

const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
match(await (await fetch(page)).text(), /<h2 id="instance-title">1 thing needs attention<\/h2>/);
const json = (await (await fetch(page, { headers: { accept: "application/json" } })).json()) as {
  readonly state: string;
};
equal(json.state, "error");
server.closeAllConnections();
server.close();
