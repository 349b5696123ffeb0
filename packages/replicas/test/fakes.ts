import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ConnectedProxy, Gathered, Replica, ReplicaInstance, StatusAnswer } from "@istiod/replicas";
import { onTestFinished } from "vitest";

/** A replica of this name, which started at a time. */
export function instance(name: string, startedAt = 1000, version = "0.1.0"): ReplicaInstance {
  return { id: `id-of-${name}`, name, version, revision: "default", startedAt };
}

/** A replica that gives the same answer to every command. */
export function replica(of: ReplicaInstance, answer: unknown): Replica {
  return { name: of.name, ask: async () => ({ instance: of, answer }) };
}

/** A proxy of the namespace shop. */
export function proxy(name: string, connectedAt: number, connection = `${name}-${connectedAt}`): ConnectedProxy {
  return {
    id: connection,
    node: `sidecar~10.0.0.1~${name}.shop~shop.svc.cluster.local`,
    cluster: "Kubernetes",
    name: `${name}.shop`,
    kind: "sidecar",
    version: "1.30.0",
    connectedAt,
  };
}

export function gathered<T>(...answers: readonly (readonly [ReplicaInstance, T])[]): Gathered<T> {
  return { answers: answers.map(([of, answer]) => ({ instance: of, answer })), failures: [], silent: [] };
}

const route = { kind: "VirtualService", namespace: "shop", name: "cart" };

/** The status of a route on proxies of one replica. */
export function statusOf(
  counts: Partial<StatusAnswer["objects"][number]>,
  more: Partial<StatusAnswer> = {},
): StatusAnswer {
  const { reached = 0 } = counts;
  const none = { missing: [], findings: [], omitted: [], unread: [] };
  const status = { object: route, found: true, connected: reached, settling: 0, reached, live: reached, rejected: 0 };
  return {
    revision: 7,
    gathering: false,
    objects: [{ ...status, ...none, ...counts }],
    problems: [],
    newFindings: [],
    moreFindings: 0,
    ...more,
  };
}

export type Respond = (form: URLSearchParams, response: ServerResponse, request: IncomingMessage) => unknown;

/** An HTTP server that answers forms, by path. Returns its URL. */
export async function httpServer(routes: Readonly<Record<string, Respond>>): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const respond = routes[new URL(request.url ?? "/", "http://host").pathname];
      if (respond === undefined) return response.writeHead(404).end("404 page not found\n");
      return respond(new URLSearchParams(body), response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export const json =
  (value: unknown): Respond =>
  (_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
