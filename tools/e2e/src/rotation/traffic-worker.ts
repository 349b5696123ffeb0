import { Agent, createServer, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import {
  freshHeader,
  freshValue,
  type TrafficAnswer,
  type TrafficFigures,
  type TrafficOrder,
  type TrafficSettings,
} from "./traffic-messages.js";

/** The application behind the server's proxy, and the client that sends requests through its own. */
const { requestsPerSecond, client, application, host, freshEvery } = workerData as TrafficSettings;
const tickMs = 20;
const timeoutMs = 30_000;
/**
 * Most requests without an answer, and most that are owed after a time in which none could be sent. Others are skipped:
 * on a loaded machine, the rate falls if answers take longer than two seconds.
 */
const maxInFlight = Math.ceil(2 * requestsPerSecond);
const keptFailures = 20;

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
let peers: readonly string[] = [];
let isSending = false;
let sent = 0;
let inFlight = 0;
let answered = 0;
let latencies: number[] = [];
const none = { succeeded: 0, fresh: 0, failed: 0, skipped: 0 };
let counts = { ...none };
let failures: string[] = [];

/** Serves the application, which answers with the identity of its client, as the proxy in front of it verified it. */
function serve(): Promise<void> {
  const server = createServer((incoming, response) => {
    incoming.resume();
    const header = incoming.headers["x-forwarded-client-cert"];
    const found = /URI=([^;,]+)[^,]*$/.exec(typeof header === "string" ? header : "");
    response.end(found?.[1] ?? "");
  });
  // A connection that the application closes when it is idle may be in use by then.
  server.keepAliveTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(application.port, application.host, () => resolve());
  });
}

function send(): void {
  const start = performance.now();
  const isFresh = sent++ % freshEvery === 0;
  inFlight++;
  let isOver = false;
  const finish = (failure?: string): void => {
    if (isOver) return;
    isOver = true;
    inFlight--;
    latencies.push(performance.now() - start);
    if (failure === undefined) {
      answered++;
      counts.succeeded++;
      if (isFresh) counts.fresh++;
      return;
    }
    counts.failed++;
    if (failures.length < keptFailures)
      failures.push(`${new Date().toISOString()}${isFresh ? ", new connection" : ""}: ${failure}`);
  };
  const headers = { host, ...(isFresh && { [freshHeader]: freshValue }) };
  const outgoing = request({ ...client, agent, headers, timeout: timeoutMs }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.on("error", (error) => finish(error.message));
    response.on("end", () => {
      if (response.statusCode !== 200) return finish(`status ${response.statusCode}: ${text}`);
      finish(peers.includes(text) ? undefined : `the server knows the client as ${JSON.stringify(text)}`);
    });
  });
  outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
  outgoing.on("error", (error) => finish(error.message));
  outgoing.end();
}

let owed = 0;
let last = performance.now();
setInterval(() => {
  const now = performance.now();
  owed += ((now - last) * requestsPerSecond) / 1000;
  last = now;
  if (!isSending) return void (owed = 0);
  for (; owed >= 1 && inFlight < maxInFlight; owed--) send();
  const skipped = Math.max(0, Math.floor(owed - maxInFlight));
  owed -= skipped;
  counts.skipped += skipped;
}, tickMs);

function take(): TrafficFigures {
  const sorted = latencies.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  const figures = { ...counts, failures, p99, longest: sorted.at(-1) ?? 0 };
  [latencies, failures, counts] = [[], [], { ...none }];
  return figures;
}

async function carryOut(order: TrafficOrder): Promise<Omit<TrafficAnswer, "id">> {
  switch (order.kind) {
    case "start":
      await serve();
      isSending = true;
      return {};
    case "peers":
      peers = order.peers;
      return {};
    case "take":
      return { figures: take() };
    case "count":
      return { count: answered };
    case "finish":
      isSending = false;
      while (inFlight > 0) await wait(10);
      return {};
  }
}

parentPort?.on("message", ({ id, order }: { id: number; order: TrafficOrder }) => {
  void carryOut(order).then((answer) => parentPort?.postMessage({ id, ...answer }));
});
