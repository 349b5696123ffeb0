import { Agent, createServer, request, type Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { TrafficAnswer, TrafficFigures, TrafficOrder, TrafficSettings } from "./traffic-messages.js";

/** The applications of all pods, and the clients that send requests through the proxies of theirs. */
const { requestsPerSecond, host, port, peer } = workerData as TrafficSettings;
const tickMs = 20;
const timeoutMs = 15_000;
/** Requests without an answer, above which no further ones are sent. */
const maxInFlight = 5_000;
/** Connections of a client, so that a proxy that lacks CPU does not spend it on handshakes for further ones. */
const maxConnections = 64;
const keptFailures = 20;

const servers = new Map<string, Server>();
/** Requests without an answer: by address of the client, their times. */
const inFlight = new Map<string, Set<{ readonly start: number }>>();
const agent = new Agent({ keepAlive: true, maxSockets: maxConnections });
let clients: readonly string[] = [];
let next = 0;
let latencies: number[] = [];
let counts = { succeeded: 0, failed: 0, held: 0 };
let failures: string[] = [];

/** Serves an application that answers with the identity of its client, as the proxy in front of it has verified it. */
function open(address: string, listenPort: number): Promise<void> {
  const server = createServer((incoming, response) => {
    incoming.resume();
    const header = incoming.headers["x-forwarded-client-cert"];
    const found = /URI=([^;,]+)[^,]*$/.exec(typeof header === "string" ? header : "");
    response.end(found?.[1] ?? "");
  });
  // A connection that the application closes when it is idle may be in use by then.
  server.keepAliveTimeout = 0;
  servers.set(address, server);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(listenPort, address, () => resolve());
  });
}

function close(address: string): Promise<void> {
  const server = servers.get(address);
  servers.delete(address);
  return new Promise((resolve) => {
    if (server === undefined) return resolve();
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Sends the next requests through these addresses, and waits for the answers to those through others. */
async function use(addresses: readonly string[]): Promise<void> {
  const old = clients.filter((address) => !addresses.includes(address));
  clients = addresses;
  while (old.some((address) => (inFlight.get(address)?.size ?? 0) > 0)) await wait(10);
}

function send(address: string): void {
  const sent = { start: performance.now() };
  const waiting = inFlight.get(address) ?? new Set();
  inFlight.set(address, waiting.add(sent));
  const finish = (failure?: string): void => {
    if (!waiting.delete(sent)) return;
    clearTimeout(late);
    latencies.push(performance.now() - sent.start);
    if (failure === undefined) return void counts.succeeded++;
    counts.failed++;
    if (failures.length < keptFailures) failures.push(`${new Date().toISOString()} by ${address}: ${failure}`);
  };
  const options = { host: address, port, agent, headers: { host: `${host}:${port}` } };
  const outgoing = request(options, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.on("error", (error) => finish(error.message));
    response.on("end", () => {
      if (response.statusCode !== 200) return finish(`status ${response.statusCode}: ${text}`);
      finish(text === peer ? undefined : `the server knows the client as ${JSON.stringify(text)}`);
    });
  });
  const late = setTimeout(() => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  outgoing.on("error", (error) => finish(error.message));
  outgoing.end();
}

let owed = 0;
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  owed += ((now - last) * requestsPerSecond) / 1000;
  last = now;
  if (clients.length === 0) return void (owed = 0);
  for (; owed >= 1; owed--) {
    const address = clients[next++ % clients.length] ?? "";
    const waiting = [...inFlight.values()].reduce((sum, { size }) => sum + size, 0);
    if (waiting < maxInFlight) send(address);
    else counts.held++;
  }
}, tickMs);

function take(): TrafficFigures {
  const now = performance.now();
  const sorted = latencies.toSorted((a, b) => a - b);
  const starts = [...inFlight.values()].flatMap((sent) => [...sent].map(({ start }) => start));
  const figures = {
    ...counts,
    failures,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    longest: Math.max(sorted.at(-1) ?? 0, ...starts.map((start) => now - start)),
  };
  [latencies, failures, counts] = [[], [], { succeeded: 0, failed: 0, held: 0 }];
  return figures;
}

async function carryOut(order: TrafficOrder): Promise<TrafficAnswer> {
  const { id } = order;
  if (order.kind === "take") return { id, figures: take() };
  if (order.kind === "clients") await use(order.addresses);
  else await (order.kind === "open" ? open(order.address, order.port) : close(order.address));
  return { id };
}

parentPort?.on("message", (order: TrafficOrder) => {
  void carryOut(order).then((answer) => parentPort?.postMessage(answer));
});
