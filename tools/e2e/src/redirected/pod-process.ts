import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { createConnection, createServer, isIPv6, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { startApplication } from "../mesh/application.js";
import { call } from "../mesh/call.js";
import { callHttp2 } from "../mesh/call-http2.js";
import type { PodAnswer, PodOrder, PodSettings } from "./pod-orders.js";

/**
 * The application process of a pod. It serves HTTP, TCP and UDP, and sends requests on orders from its parent. It does
 * not run as root.
 */
const settings = JSON.parse(process.argv[2] ?? "{}") as PodSettings;
const { name, version, certificate } = settings;
// Traffic of the proxy's user would not be redirected.
process.setgroups?.([]);
const user = settings.user ?? 65534;
process.setgid?.(user);
process.setuid?.(user);

for (const port of settings.httpPorts) await startApplication({ name, version, address: "0.0.0.0", port });
for (const port of settings.http2Ports)
  await startApplication({ name, version, address: "0.0.0.0", port, http2: true });
const echo = (socket: Socket): void => void socket.on("error", () => undefined).pipe(socket);
for (const port of settings.tcpPorts)
  await new Promise<void>((resolve) => void createServer(echo).listen(port, "0.0.0.0", resolve));
for (const port of settings.tlsPorts)
  await new Promise<void>((resolve) => void createTlsServer({ ...certificate }, echo).listen(port, "0.0.0.0", resolve));
for (const port of settings.numberedPorts ?? []) await serveNumber(port);

process.on("message", (order: PodOrder) => {
  void carryOut(order)
    .catch((error: unknown): PodAnswer => ({ error: (error as NodeJS.ErrnoException).code ?? String(error) }))
    .then((answer) => process.send?.({ id: order.id, answer }));
});
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });

async function carryOut(order: PodOrder): Promise<PodAnswer> {
  if (order.kind === "http2") return callHttp2(order.host, order.url, { headers: order.headers, timeout: 5000 });
  if (order.kind === "http") {
    const { status, headers, text, seen } = await call(order.host, order.url, {
      headers: order.headers,
      timeout: 5000,
    });
    return { status, headers, text, seen };
  }
  if (order.kind === "dns") {
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    resolver.setServers([order.server]);
    return { addresses: await resolver.resolve4(order.name) };
  }
  const { host, port, text } = order;
  if (order.kind === "udp") return { text: await exchangeDatagrams(host, port, text) };
  if (order.kind === "tls") {
    const { roots: ca, serverName: servername } = order;
    return { text: await exchange(connectTls({ host, port, ca, servername, timeout: 5000 }), text) };
  }
  return { text: await exchange(createConnection({ host, port, timeout: 5000 }), text) };
}

/** Sends text, and gives as much as comes back. */
function exchange(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let came = "";
    socket.write(text);
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      came += chunk;
      if (came.length >= text.length) socket.end();
    });
    socket.on("timeout", () => socket.destroy(new Error("timeout")));
    socket.on("error", reject);
    socket.on("close", () => resolve(came));
  });
}

/** Answers with the number of the port, which tells a client whereto its traffic was redirected. */
async function serveNumber(port: number): Promise<void> {
  const answer = String(port);
  await new Promise<void>((resolve) => {
    const server = createServer((socket) => void socket.on("error", () => undefined).end(answer));
    server.listen(port, "::", resolve);
  });
  // Bound as the agent is: a socket of all addresses would answer from another than that of the redirection.
  for (const [family, address] of [
    ["udp4", "127.0.0.1"],
    ["udp6", "::1"],
  ] as const) {
    const datagrams = createSocket(family);
    datagrams.on("message", (_message, from) => datagrams.send(answer, from.port, from.address));
    await new Promise<void>((resolve) => datagrams.bind(port, address, resolve));
  }
}

/** Sends a datagram, and returns the answer. */
function exchangeDatagrams(host: string, port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
    const timer = setTimeout(() => settle(() => reject(new Error("timeout"))), 5000);
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      socket.close();
      then();
    };
    socket.on("error", (error) => settle(() => reject(error)));
    socket.on("message", (message) => settle(() => resolve(message.toString())));
    socket.connect(port, host, () => socket.send(text));
  });
}
